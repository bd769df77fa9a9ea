// The devices of one process: which module is loaded, which devices are still trusted, and the one place where a
// job that a device did not do falls back to the CPU. A run uses it through a session (device_session.h). The first
// job that asks loads the module, once; a failure is remembered and loading is never tried again. After an error of
// a device no device is used any more. Where the devices belong to another process, that process may recover.
// Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "accel/accelerator.h"
#include "accel/device_policy.h"
#include "core/options.h"

namespace batmap {

/// An answer of a device other than "done". Only Offload::attempt catches it.
struct DeviceFailure {
  AcceleratorStatus status;
  std::string text;
};

class Offload {
 public:
  /// Returns the module's functions, or nullptr and the reason.
  using Load = std::function<const AcceleratorApi*(std::string& why)>;
  /// Where the devices belong to another process.
  struct Shared {
    Load find;                          // as Load, but only where devices are awake: it costs next to nothing, or fails
    std::function<bool()> may_recover;  // after a failure: may devices() try `load` again?
  };

  explicit Offload(Load load) : load_(std::move(load)) {}
  Offload(Load load, Shared shared) : load_(std::move(load)), shared_(std::move(shared)) {}
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  /// Loads the module if nobody has yet. @return nullptr: nothing can be used, and why_not() says why
  const AcceleratorApi* api();
  /// The same for a run that has chosen a device. @throws DeviceFailure{kDeclined} if devices have
  /// failed another run since
  const AcceleratorApi& trusted();
  std::string why_not() const {
    const std::lock_guard lock(mutex_);
    return why_not_;
  }
  /// Uses devices that are awake in another process, if there are any. @return whether the module is loaded now
  bool find();
  /// Whether the module has been asked for.
  bool has_loaded() const {
    const std::lock_guard lock(mutex_);
    return tried_;
  }

  /// The usable devices. @param only  indices; empty: all
  std::vector<DeviceTraits> devices(std::span<const int32_t> only = {});
  /// The same, one at least. @throws DeviceFailure{kDeclined} with the reason where there is none
  std::vector<DeviceTraits> usable_devices(std::span<const int32_t> only);
  /// Wakes the devices, so that their rates are measured ones. @throws DeviceFailure
  void prepare(std::span<DeviceTraits> devices);

  /// Runs `work` on a device and turns its failures into an answer. Declined, and out of memory on the device
  /// or in the host's buffers for it, mean that the CPU does the work. After an error of a device, `notice`
  /// says so and no device is used again.
  /// @return whether the work was done; false: the CPU has to do it
  /// @throws Error{kCancelled}; Error{kNoDevice} if the mode is kRequire; whatever else `work` throws
  bool attempt(DeviceMode mode, std::string& notice, const std::function<void()>& work);

 private:
  void trust_no_more(std::string why);

  const AcceleratorApi* load_with_lock();

  Load load_;
  std::optional<Shared> shared_;
  mutable std::mutex mutex_;  // guards all below
  bool tried_ = false;
  const AcceleratorApi* api_ = nullptr;
  std::string why_not_;
};

/// @throws DeviceFailure unless the status is kOk
void expect_done(AcceleratorStatus status, const AcceleratorMessage& why);

/// How one run may use devices.
struct DeviceUse {
  Offload* offload = nullptr;  // not owned; nullptr: there are no devices
  DeviceMode mode = DeviceMode::kAuto;
  std::vector<int32_t> only;  // indices of devices; empty: all
  uint64_t memory_limit = 0;  // bytes on each device; 0: all it has
};

}  // namespace batmap
