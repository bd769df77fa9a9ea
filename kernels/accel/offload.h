// The devices of one process: what is loaded, which of them are still trusted, and the one place where work that a device
// did not do falls back to the CPU. The module is loaded when the first job asks, once; why that failed is remembered and
// never tried again. After an error of a device none is used any more. Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/device_policy.h"
#include "core/options.h"

namespace batmap {

/// What a device answered other than "done". Leaves the engine only through Offload::attempt.
struct DeviceFailure {
  AcceleratorStatus status;
  std::string text;
};

class Offload {
 public:
  /// Gives the module's functions, or nullptr and the reason.
  using Load = std::function<const AcceleratorApi*(std::string& why)>;

  explicit Offload(Load load) : load_(std::move(load)) {}
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  /// Loads what is to be loaded. @return nullptr: there is nothing to use, and why_not() says why
  const AcceleratorApi* api();
  /// The same for a run that has chosen a device. @throws DeviceFailure{kDeclined}: since then devices have failed another
  /// run
  const AcceleratorApi& trusted();
  std::string why_not() const {
    const std::lock_guard lock(mutex_);
    return why_not_;
  }
  /// Has somebody asked before?
  bool has_loaded() const {
    const std::lock_guard lock(mutex_);
    return tried_;
  }

  /// Those that may be used. @param only  indices; empty: all
  std::vector<DeviceTraits> devices(std::span<const int32_t> only = {});
  /// The same, one at least. @throws DeviceFailure{kDeclined} with the reason where there is none
  std::vector<DeviceTraits> usable_devices(std::span<const int32_t> only);
  /// Wakes them, so that their rates are measured ones. @throws DeviceFailure
  void prepare(std::span<DeviceTraits> devices);

  /// Runs work on a device. Out of memory, the host's for what a device is to get or give included, and declined are
  /// answers; an error of the device is told in `notice`, and is the last.
  /// @return whether it was done; no: the CPU is to do it
  /// @throws Error{kCancelled}; Error{kNoDevice} where mode is kRequire; whatever else `work` throws
  bool attempt(DeviceMode mode, std::string& notice, const std::function<void()>& work);

 private:
  void trust_no_more(std::string why);

  Load load_;
  mutable std::mutex mutex_;  // of all below
  bool tried_ = false;
  const AcceleratorApi* api_ = nullptr;
  std::string why_not_;
};

/// @throws DeviceFailure unless the status is kOk
void expect_done(AcceleratorStatus status, const AcceleratorMessage& why);

/// How one run may use devices.
struct DeviceUse {
  Offload* offload = nullptr;  // not owned; none: there are no devices
  DeviceMode mode = DeviceMode::kAuto;
  std::vector<int32_t> only;  // indices of devices; empty: all
  uint64_t memory_limit = 0;  // bytes on each device; 0: what there is
};

}  // namespace batmap
