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

/// Makes a device the current one of this thread, and leaves it so: to switch back would wake the other device, too.
inline void use_device(int device) { check(cudaSetDevice(device), "choosing a device"); }

/// Of the current device.
inline uint32_t multiprocessor_count() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "asking for multiprocessors");
  return static_cast<uint32_t>(count);
}

/// Lets a kernel have as much dynamic shared memory as a block of the current device can. All jobs of the process share this bound,
/// so a job must not set it to what it needs: another one may be about to launch the kernel with more. @return the bytes
template <auto kKernel>
size_t allow_shared_memory() {
  static std::atomic<int> allowed[kMaxDevices];  // 0: not set yet
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  std::atomic<int>& bytes = allowed[device % static_cast<int>(kMaxDevices)];
  if (bytes == 0) {
    int all = 0;
    cudaFuncAttributes own{};
    check(cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "asking for shared memory");
    check(cudaFuncGetAttributes(&own, kKernel), "asking for the shared memory of a kernel");
    const int dynamic = all - static_cast<int>(own.sharedSizeBytes);
    check(cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic),
          "raising the shared memory of a kernel");
    bytes = dynamic;
  }
  return static_cast<size_t>(bytes);
}

/// What all jobs of the process have on each device, and may have.
struct ProcessMemory {
  std::atomic<uint64_t> limit{UINT64_MAX};
  std::atomic<uint64_t> used[kMaxDevices] = {};
};
inline ProcessMemory process_memory;

/// Makes the pool of a device keep some of what jobs free. @return whether the device has a pool
bool has_pool(int device);

/// Device memory of one job on one device that one stream uses, against the limit of the job and that of the process.
/// It comes from the device's pool and goes back there in the order of the stream: nobody waits for the work of other
/// streams, which may be that of other jobs. Where a device has no pool, it comes from the driver, and freeing it
/// waits for all streams. Thread-safe.
class DeviceBudget {
 public:
  /// @param stream  of the current device
  DeviceBudget(uint64_t limit_bytes, cudaStream_t stream)
      : limit_(limit_bytes == 0 ? UINT64_MAX : limit_bytes), stream_(stream) {
    int device = 0;
    check(cudaGetDevice(&device), "asking for the device");
    has_pool_ = has_pool(device);
    process_used_ = &process_memory.used[device % static_cast<int>(kMaxDevices)];
  }
  /// Another stream of the same job on the same device; its memory counts as that of the job.
  DeviceBudget(DeviceBudget& of_job, cudaStream_t stream) : of_job_(&of_job), stream_(stream), has_pool_(of_job.has_pool_) {}
  DeviceBudget(const DeviceBudget&) = delete;
  DeviceBudget& operator=(const DeviceBudget&) = delete;
  /// When the stream is waited for, the pool gives back what it is not to keep.
  ~DeviceBudget() { cudaStreamSynchronize(stream_); }

  /// Memory on the device of the stream; uninitialised. What is queued there from now on may use it.
  void* allocate(uint64_t bytes) {
    charge(bytes);
    void* data = nullptr;
    const cudaError_t error = has_pool_ ? cudaMallocAsync(&data, bytes, stream_) : cudaMalloc(&data, bytes);
    if (error != cudaSuccess) give_back(bytes);
    check(error, "allocating device memory");
    return data;
  }
  /// What was queued in the stream before may still use it.
  void free(void* data, uint64_t bytes) noexcept {
    if (has_pool_)
      cudaFreeAsync(data, stream_);
    else
      cudaFree(data);
    give_back(bytes);
  }
  uint64_t left() const {
    if (of_job_ != nullptr) return of_job_->left();
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
    if (of_job_ != nullptr) return of_job_->charge(bytes);
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
    if (of_job_ != nullptr) return of_job_->give_back(bytes);
    used_ -= bytes;
    *process_used_ -= bytes;
  }

  DeviceBudget* of_job_ = nullptr;
  uint64_t limit_ = UINT64_MAX;
  cudaStream_t stream_;
  bool has_pool_;
  std::atomic<uint64_t>* process_used_ = nullptr;
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

/// Host memory that devices copy from and to at full speed. Freeing it waits for all streams of a device.
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

/// A stream of the current device: one that was kept, or a new one. Nothing may be queued there at the end of its
/// life; it is then kept for later jobs. None waits for the default stream, which nobody uses.
class Stream {
 public:
  Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  operator cudaStream_t() const { return stream_; }

 private:
  int device_ = 0;
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
