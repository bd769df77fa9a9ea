// Pools, kept streams, and waiting. See device_memory.h.
#include "cuda/device_memory.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace batmap::cuda {

namespace {

// Bytes that the pool of a device keeps for the next job. The driver takes them back where memory runs short.
constexpr uint64_t kKeptBytes = uint64_t{256} << 20;
constexpr size_t kKeptStreams = 64;  // of each device

// Never freed: when the process ends, the driver may already be gone.
std::mutex kept_mutex;
bool is_asked[kMaxDevices];
bool has_pools[kMaxDevices];
std::vector<cudaStream_t>* kept_streams[kMaxDevices];

}  // namespace

bool has_pool(int device) {
  const std::lock_guard lock(kept_mutex);
  const size_t at = static_cast<size_t>(device) % kMaxDevices;
  if (is_asked[at]) return has_pools[at];
  int found = 0;
  check(cudaDeviceGetAttribute(&found, cudaDevAttrMemoryPoolsSupported, device), "asking for memory pools");
  if (found != 0) {
    cudaMemPool_t pool{};
    check(cudaDeviceGetDefaultMemPool(&pool, device), "asking for a memory pool");
    uint64_t kept = kKeptBytes;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "setting up a memory pool");
    int waits = 0;  // of a stream for another one, to get the memory that was freed there
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &waits), "setting up a memory pool");
  }
  is_asked[at] = true;
  return has_pools[at] = found != 0;
}

Stream::Stream() {
  check(cudaGetDevice(&device_), "asking for the device");
  {
    const std::lock_guard lock(kept_mutex);
    std::vector<cudaStream_t>*& kept = kept_streams[static_cast<size_t>(device_) % kMaxDevices];
    if (kept == nullptr) {
      kept = new std::vector<cudaStream_t>;
      kept->reserve(kKeptStreams);  // keeping cannot fail
    }
    if (!kept->empty()) {
      stream_ = kept->back();
      kept->pop_back();
      return;
    }
  }
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
}

Stream::~Stream() {
  const std::lock_guard lock(kept_mutex);
  std::vector<cudaStream_t>& kept = *kept_streams[static_cast<size_t>(device_) % kMaxDevices];
  if (kept.size() < kKeptStreams)
    kept.push_back(stream_);
  else
    cudaStreamDestroy(stream_);
}

void StopToken::wait(cudaStream_t stream) const {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess) break;
    if (state != cudaErrorNotReady) check(state, "running a kernel");
    // Most waits are short. Only a longer one may sleep.
    if (steady_clock::now() - start > std::chrono::microseconds(200))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else
      std::this_thread::yield();
  }
  throw_if_requested();
}

}  // namespace batmap::cuda
