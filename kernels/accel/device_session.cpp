// Select, ask, wake, ask again, work, fall back. See device_session.h.
#include "accel/device_session.h"

#include <algorithm>

namespace batmap {

namespace {

std::string names_of(std::span<const DeviceTraits> devices) {
  std::string names;
  for (const DeviceTraits& device : devices) {
    if (!names.empty()) names += ", ";
    names += "cuda:" + std::to_string(device.index) + " " + device.name;
  }
  return names;
}

}  // namespace

void DeviceSession::refuse_files() const {
  if (is_required())
    throw Error(ErrorCode::kNoDevice, "the rows are too many for memory, and no GPU counts rows in files",
                "Raise batmap.work_mem.");
}

bool DeviceSession::attempt(const std::function<void()>& work) {
  if (use_.offload->attempt(use_.mode, notice_, work)) return true;
  has_failed_ = true;
  devices_.clear();
  return false;
}

bool DeviceSession::offer(double cpu_ms, const Ask& ask, const Work& work) {
  devices_.clear();
  if (!is_possible()) return false;
  if (use_.mode == DeviceMode::kAuto && !has_loaded() && cpu_ms < kWorthLoadingMs &&
      (cpu_ms < kWorthFindingMs || !use_.offload->find()))
    return false;
  const bool done = attempt([&] {
    std::vector<DeviceTraits> devices = use_.offload->usable_devices(use_.only);
    devices.resize(std::min(devices.size(), max_devices_));
    DeviceVerdict verdict = ask(devices);
    if (verdict.is_chosen && std::ranges::any_of(devices, [](const DeviceTraits& device) { return device.ready == 0; })) {
      use_.offload->prepare(devices);  // now the rates are measured, and the contexts exist
      verdict = ask(devices);
    }
    reason_ += "; " + verdict.reason;
    if (!verdict.is_chosen) {
      if (is_required()) throw DeviceFailure{AcceleratorStatus::kOutOfMemory, "the job does not fit: " + verdict.reason};
      return;
    }
    if (!work(devices)) return;
    device_ = names_of(devices);
    devices_ = std::move(devices);
  });
  return done && !devices_.empty();
}

bool DeviceSession::go_on(const std::function<void()>& work) {
  if (attempt(work)) return true;
  device_ = "cpu";
  return false;
}

}  // namespace batmap
