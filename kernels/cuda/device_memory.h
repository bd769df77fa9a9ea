// Owners of what a job holds on a device: arrays, pinned host memory, streams, events. They can be moved, not copied.
// Errors of the runtime become DeviceError, which never leaves the module (accelerator_module.cu). Arrays on the device
// are charged to the job's limit.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "accel/accelerator.h"

namespace batmap::cuda {

struct DeviceError {
  AcceleratorStatus status;
  std::string text;
};

/// @throws DeviceError: kOutOfMemory if the runtime says so, else kFailed
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that it is not reported again
  throw DeviceError{error == cudaErrorMemoryAllocation ? AcceleratorStatus::kOutOfMemory : AcceleratorStatus::kFailed,
                    std::string(what) + ": " + cudaGetErrorString(error)};
}

/// After a kernel launch.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

/// Clears and copies without a stream are queued on the default stream, for which our streams do not wait.
inline void wait_for_default_stream() { check(cudaStreamSynchronize(nullptr), "waiting for a copy"); }

/// Makes a device the current one of this thread, and leaves it so: to switch back would wake the other device, too.
inline void use_device(int device) { check(cudaSetDevice(device), "choosing a device"); }

/// What all jobs of the process have on each device, and may have.
struct ProcessMemory {
  std::atomic<uint64_t> limit{UINT64_MAX};
  std::atomic<uint64_t> used[kMaxDevices] = {};
};
inline ProcessMemory process_memory;

/// Device memory of one job on one device, against its limit and that of the process. Thread-safe. It belongs to the device
/// that was current when it was made.
class DeviceBudget {
 public:
  /// @param stream  the only stream that uses the memory. Memory then comes from the device's pool and goes back there
  /// in the order of the stream, without waiting. Null: it comes from the driver, and freeing it waits for all streams
  explicit DeviceBudget(uint64_t limit_bytes, cudaStream_t stream = nullptr)
      : limit_(limit_bytes == 0 ? UINT64_MAX : limit_bytes), stream_(stream) {
    int device = 0;
    check(cudaGetDevice(&device), "asking for the device");
    process_used_ = &process_memory.used[device % static_cast<int>(kMaxDevices)];
  }
  DeviceBudget(const DeviceBudget&) = delete;
  DeviceBudget& operator=(const DeviceBudget&) = delete;
  /// When the stream is waited for, the pool gives back what it is not to keep.
  ~DeviceBudget() {
    if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  }

  /// Memory on the current device; uninitialised.
  void* allocate(uint64_t bytes) {
    charge(bytes);
    void* data = nullptr;
    const cudaError_t error = stream_ != nullptr ? cudaMallocAsync(&data, bytes, stream_) : cudaMalloc(&data, bytes);
    if (error != cudaSuccess) give_back(bytes);
    check(error, "allocating device memory");
    return data;
  }
  void free(void* data, uint64_t bytes) noexcept {
    if (stream_ != nullptr)
      cudaFreeAsync(data, stream_);
    else
      cudaFree(data);
    give_back(bytes);
  }
  uint64_t left() const {
    const uint64_t of_process = process_memory.limit;
    const uint64_t used = *process_used_;
    return std::min(limit_ - used_, of_process > used ? of_process - used : 0);
  }

 private:
  static bool add(std::atomic<uint64_t>& to, uint64_t bytes, uint64_t limit) {
    uint64_t used = to;
    while (used <= limit && bytes <= limit - used)
      if (to.compare_exchange_weak(used, used + bytes)) return true;
    return false;
  }
  void charge(uint64_t bytes) {
    if (!add(used_, bytes, limit_))
      throw DeviceError{AcceleratorStatus::kOutOfMemory,
                        "the job needs more than its limit of " + std::to_string(limit_ >> 20) + " MB of device memory"};
    const uint64_t limit = process_memory.limit;
    if (add(*process_used_, bytes, limit)) return;
    used_ -= bytes;
    throw DeviceError{AcceleratorStatus::kOutOfMemory, "all jobs together need more than the limit of " +
                                                           std::to_string(limit >> 20) + " MB of device memory"};
  }
  void give_back(uint64_t bytes) {
    used_ -= bytes;
    *process_used_ -= bytes;
  }

  uint64_t limit_;
  cudaStream_t stream_;
  std::atomic<uint64_t>* process_used_;
  std::atomic<uint64_t> used_{0};
};

template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  /// On the current device; uninitialised.
  DeviceArray(DeviceBudget& budget, size_t size) : budget_(&budget), size_(size) {
    if (size > 0) data_ = static_cast<T*>(budget.allocate(bytes()));
  }
  DeviceArray(DeviceArray&& other) noexcept
      : budget_(other.budget_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    if (this != &other) {
      reset();
      budget_ = other.budget_;
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~DeviceArray() { reset(); }
  void reset() noexcept {
    if (data_ == nullptr) return;
    budget_->free(data_, bytes());
    data_ = nullptr;
    size_ = 0;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  DeviceBudget* budget_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// Host memory that devices copy from and to at full speed.
template <typename T>
class PinnedArray {
 public:
  PinnedArray() = default;
  explicit PinnedArray(size_t size) : size_(size) {
    check(cudaHostAlloc(&data_, size * sizeof(T), cudaHostAllocPortable), "allocating pinned memory");
  }
  PinnedArray(PinnedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedArray& operator=(PinnedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PinnedArray() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }

  T* data() { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }
  bool has_happened() const {
    const cudaError_t state = cudaEventQuery(event_);
    if (state != cudaErrorNotReady) check(state, "asking for an event");
    return state == cudaSuccess;
  }
  void wait() const { check(cudaEventSynchronize(event_), "waiting for an event"); }
  /// Milliseconds from `start`; both must have happened.
  double since(const Event& start) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.event_, event_), "reading an event");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// How a job is asked to stop, and a wait that looks at it.
struct StopToken {
  bool (*stop)(void*);
  void* arg;

  void throw_if_requested() const {
    if (stop != nullptr && stop(arg)) throw DeviceError{AcceleratorStatus::kCancelled, "run cancelled"};
  }
  /// Waits until the stream is done. A request to stop does not shorten the wait: callers queue some ten
  /// milliseconds of work at once. @throws DeviceError
  void wait(cudaStream_t stream) const;
};

}  // namespace batmap::cuda
