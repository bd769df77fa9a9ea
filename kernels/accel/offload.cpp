// Loads the module once and uses it until a device fails. See offload.h.
#include "accel/offload.h"

#include <pthread.h>
#include <utility>

#include <algorithm>
#include <csignal>

namespace batmap {

namespace {

/// Blocks all signals while it lives. Threads that a driver starts inherit the mask, so the host's signal
/// handlers run in the host's own thread only.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

void expect_done(AcceleratorStatus status, const AcceleratorMessage& why) {
  if (status != AcceleratorStatus::kOk) throw DeviceFailure{status, why.text};
}

const AcceleratorApi* Offload::load_with_lock() {
  tried_ = true;
  const SignalsBlocked blocked;
  why_not_.clear();
  return api_ = load_(why_not_);
}

const AcceleratorApi* Offload::api() {
  const std::lock_guard lock(mutex_);
  return tried_ ? api_ : load_with_lock();
}

bool Offload::find() {
  const std::lock_guard lock(mutex_);
  if (tried_ || !shared_) return tried_;
  const SignalsBlocked blocked;
  std::string why;
  api_ = shared_->find(why);
  return tried_ = api_ != nullptr;
}

const AcceleratorApi& Offload::trusted() {
  if (const AcceleratorApi* const found = api(); found != nullptr) return *found;
  throw DeviceFailure{AcceleratorStatus::kDeclined, why_not()};
}

std::vector<DeviceTraits> Offload::devices(std::span<const int32_t> only) {
  std::vector<DeviceTraits> found;
  const AcceleratorApi* api = this->api();
  if (api == nullptr && shared_ && shared_->may_recover()) {
    const std::lock_guard lock(mutex_);
    api = load_with_lock();
  }
  if (api == nullptr) return found;
  DeviceTraits traits[kMaxDevices];
  uint32_t count = 0;
  AcceleratorMessage why{};
  const SignalsBlocked blocked;
  if (api->devices(traits, &count, &why) != AcceleratorStatus::kOk) {
    trust_no_more(why.text);
    return found;
  }
  for (uint32_t i = 0; i < count; ++i)
    if (only.empty() || std::ranges::find(only, traits[i].index) != only.end()) found.push_back(traits[i]);
  return found;
}

std::vector<DeviceTraits> Offload::usable_devices(std::span<const int32_t> only) {
  std::vector<DeviceTraits> found = devices(only);
  if (!found.empty()) return found;
  const std::string why = why_not();
  throw DeviceFailure{AcceleratorStatus::kDeclined, why.empty() ? "none of the GPUs that it may use is there" : why};
}

void Offload::prepare(std::span<DeviceTraits> devices) {
  const AcceleratorApi& api = trusted();
  const SignalsBlocked blocked;
  for (DeviceTraits& device : devices) {
    if (device.ready != 0) continue;
    AcceleratorMessage why{};
    expect_done(api.prepare(device.index, &device, &why), why);
  }
}

bool Offload::attempt(DeviceMode mode, std::string& notice, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const DeviceFailure& failure) {
    if (failure.status == AcceleratorStatus::kCancelled) throw Error(ErrorCode::kCancelled, "run cancelled");
    if (failure.status == AcceleratorStatus::kFailed || failure.status == AcceleratorStatus::kNoDevice)
      trust_no_more("not used any more after an error: " + failure.text);
    if (mode == DeviceMode::kRequire) throw Error(ErrorCode::kNoDevice, "the GPU could not count\n" + failure.text);
    if (failure.status == AcceleratorStatus::kFailed) notice = "the GPU failed, and the CPU goes on: " + failure.text;
    return false;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kMemoryLimit || mode == DeviceMode::kRequire) throw;
    return false;
  }
}

void Offload::trust_no_more(std::string why) {
  const std::lock_guard lock(mutex_);
  api_ = nullptr;
  why_not_ = std::move(why);
}

}  // namespace batmap
