// How one run uses devices. A session selects the devices, asks the run's policy, wakes them, asks again with their
// measured rates, and lets them work. If they decline or fail, it says so, and the CPU does the job. Pairs,
// itemsets and episodes use it alike; what is loaded and still trusted in the process is in offload.h. Calls come
// from one thread at a time. Source: ours.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accel/device_policy.h"
#include "accel/offload.h"

namespace batmap {

class DeviceSession {
 public:
  /// What the policy says about these devices. Called again after they were woken. May throw DeviceFailure.
  using Ask = std::function<DeviceVerdict(std::span<const DeviceTraits> devices)>;
  /// Does the job, or begins it. May throw DeviceFailure.
  /// @return false: the job does not need the devices after all
  using Work = std::function<bool(std::span<const DeviceTraits> devices)>;

  /// @param max_devices  how many devices the run can use, at least 1
  explicit DeviceSession(DeviceUse use, size_t max_devices = kMaxDevices)
      : use_(std::move(use)), max_devices_(max_devices) {}
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  const DeviceUse& use() const { return use_; }
  /// Can a device be chosen at all? No more after a failure.
  bool is_possible() const { return use_.offload != nullptr && use_.mode != DeviceMode::kCpu && !has_failed_; }
  /// Is it an error if the CPU has to do the job?
  bool is_required() const { return use_.offload != nullptr && use_.mode == DeviceMode::kRequire; }
  /// @throws Error{kNoDevice} if a device has to do a job whose rows are in files
  void refuse_files() const;
  /// Only if is_possible(): has the process asked for the module?
  bool has_loaded() const { return use_.offload->has_loaded(); }
  /// The functions of the module. @throws DeviceFailure{kDeclined} if devices have failed another run since
  const AcceleratorApi& api() const { return use_.offload->trusted(); }

  /// Lets devices do a job, or begin it, if the policy chooses them. The module is not loaded for a job that the
  /// CPU does sooner, unless the mode asks for devices.
  /// @param cpu_ms  expected time of the CPU
  /// @return whether devices have done the job, or begun it; if not, the CPU has to do it
  /// @throws Error, also where no device can do a job that requires one; what `ask` and `work` throw
  bool offer(double cpu_ms, const Ask& ask, const Work& work);
  /// Goes on with the job that the last offer() began.
  /// @return false: the devices have failed, and the CPU has to do the whole job
  /// @throws as offer()
  bool go_on(const std::function<void()>& work);

  /// The devices that do the job of the last offer(); none: the CPU does it.
  std::span<const DeviceTraits> devices() const { return devices_; }
  /// For the record of the run: the devices that have worked, "cuda:0 NAME, ...", or "cpu".
  const std::string& device() const { return device_; }
  /// A message for the user: a device failed.
  const std::string& notice() const { return notice_; }
  /// What the policy said about each job, behind "; ".
  const std::string& reason() const { return reason_; }

 private:
  bool attempt(const std::function<void()>& work);

  DeviceUse use_;
  size_t max_devices_;
  bool has_failed_ = false;
  std::vector<DeviceTraits> devices_;
  std::string device_ = "cpu";
  std::string notice_;
  std::string reason_;
};

}  // namespace batmap
