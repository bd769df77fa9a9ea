// The module's C functions (accel/accelerator.h): devices, calibration, and jobs, behind the wall of guarded.h.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "accel/device_episodes.h"
#include "cuda/bit_tiles.h"
#include "cuda/device_job.h"
#include "cuda/episode_job.h"
#include "cuda/guarded.h"
#include "cuda/itemset_levels.h"
#include "cuda/pinned_block.h"

namespace batmap {

using namespace cuda;

namespace {

std::mutex prepared_mutex;
DeviceTraits prepared[kMaxDevices];  // ready: measured

/// Rates of a device that has not been measured: those of an H100, scaled by multiprocessors where these count.
DeviceRates typical_rates(const DeviceTraits& device) {
  const double share = device.multiprocessors / 132.0;
  return {.context_ms = 250,
          .upload_bytes = 20,
          .download_bytes = 10,
          .and_bits = (device.major >= 8 ? 3e6 : 2e5) * share,
          .increments = 100 * share,
          .grouped_rows = 2 * share,
          .launch_ms = 1};
}

DeviceTraits traits_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "asking for a device's properties");
  DeviceTraits traits{};
  traits.index = device;
  traits.major = properties.major;
  traits.minor = properties.minor;
  traits.multiprocessors = properties.multiProcessorCount;
  traits.memory_bytes = properties.totalGlobalMem;
  std::snprintf(traits.name, sizeof traits.name, "%s", properties.name);
  std::snprintf(traits.bit_kernel, sizeof traits.bit_kernel, "%s", bit_tile_kernel(properties.major, properties.minor).name);
  traits.rates = typical_rates(traits);
  return traits;
}

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Below the supports of the trial's items, so that all pairs are counted; above their counts, so that none is found.
constexpr uint32_t kTrialThreshold = 256;

/// Milliseconds of one trial.
struct Trial {
  double build_ms;
  double count_ms;
  double whole_ms;
};
/// Runs one job over random rows twice, so that the second run finds everything loaded. @return times of the second run
Trial try_job(int device, DeviceMethod method, uint32_t items, uint32_t tids, const std::vector<uint32_t>& row_tids,
              const std::vector<uint32_t>& row_items) {
  DevicePairJob job{};
  job.items = job.leading = items;
  job.tid_slots = tids;
  job.rows = row_tids.size();
  job.method = method;
  job.device_count = 1;
  job.devices[0] = device;
  Trial trial{};
  std::vector<uint32_t> supports(items);
  const DevicePairSink nowhere{[](void*, size_t) -> DevicePair* { return nullptr; }, nullptr};
  for (int run = 0; run < 2; ++run) {
    const auto start = std::chrono::steady_clock::now();
    DevicePairs pairs(job);
    pairs.add_rows(row_tids.data(), row_items.data(), row_tids.size());
    pairs.build(supports.data());
    pairs.count_rows(0, items, kTrialThreshold, nowhere);
    trial = {pairs.build_ms(), pairs.count_ms(), ms_since(start)};
  }
  return trial;
}

double copy_rate(cudaMemcpyKind kind) {
  constexpr size_t kBytes = size_t{8} << 20;
  Stream stream;
  DeviceBudget budget(0, stream);
  DeviceArray<char> device(budget, kBytes);
  PinnedArray<char> host(kBytes);
  Event start;
  Event end;
  const bool up = kind == cudaMemcpyHostToDevice;
  for (int run = 0; run < 2; ++run) {
    start.record(stream);
    check(cudaMemcpyAsync(up ? device.data() : host.data(), up ? host.data() : device.data(), kBytes, kind, stream),
          "copying");
    end.record(stream);
    check(cudaStreamSynchronize(stream), "copying");
  }
  return static_cast<double>(kBytes) / (end.since(start) * 1e6);
}

/// Takes less than a tenth of a second: loads kernels, and sends two million rows four times.
void calibrate(DeviceTraits& device) {
  const auto start = std::chrono::steady_clock::now();
  use_device(device.index);
  check(cudaFree(nullptr), "creating a context");
  DeviceRates& rates = device.rates;
  rates.context_ms = ms_since(start);
  rates.upload_bytes = copy_rate(cudaMemcpyHostToDevice);
  rates.download_bytes = copy_rate(cudaMemcpyDeviceToHost);

  constexpr uint32_t kItems = 4096;
  constexpr uint32_t kTids = 65536;
  constexpr size_t kRows = size_t{1} << 21;
  std::vector<uint32_t> tids(kRows);
  std::vector<uint32_t> items(kRows);
  uint64_t random = 1;
  for (size_t i = 0; i < kRows; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    tids[i] = static_cast<uint32_t>(random >> 33) % kTids;
    items[i] = static_cast<uint32_t>(random >> 52) % kItems;
  }
  const Trial bits = try_job(device.index, DeviceMethod::kBitmap, kItems, kTids, tids, items);
  const Trial horizontal = try_job(device.index, DeviceMethod::kHorizontal, kItems, kTids, tids, items);
  const Trial nothing = try_job(device.index, DeviceMethod::kBitmap, 128, 1024, {}, {});
  constexpr double kPerTransaction = static_cast<double>(kRows) / kTids;
  rates.and_bits = double{kItems} * kItems / 2 * kTids / (bits.count_ms * 1e6);
  rates.increments = kTids * kPerTransaction * kPerTransaction / 2 / (horizontal.count_ms * 1e6);
  rates.launch_ms = nothing.whole_ms;
  rates.grouped_rows = kRows / (std::max(horizontal.build_ms - nothing.build_ms, 0.01) * 1e6);
  device.ready = 1;
}

AcceleratorStatus devices(DeviceTraits* traits, uint32_t* count, AcceleratorMessage* why) {
  *count = 0;
  return guarded(why, [&] {
    int found = 0;
    const cudaError_t error = cudaGetDeviceCount(&found);
    if (error != cudaSuccess) {
      cudaGetLastError();
      throw DeviceError{AcceleratorStatus::kNoDevice, cudaGetErrorString(error)};
    }
    if (found == 0) throw DeviceError{AcceleratorStatus::kNoDevice, "no CUDA device is there"};
    const std::lock_guard lock(prepared_mutex);
    for (int device = 0; device < std::min<int>(found, kMaxDevices); ++device)
      traits[(*count)++] = prepared[device].ready != 0 ? prepared[device] : traits_of(device);
  });
}

AcceleratorStatus prepare(int32_t device, DeviceTraits* traits, AcceleratorMessage* why) {
  return guarded(why, [&] {
    const std::lock_guard lock(prepared_mutex);
    if (device < 0 || device >= static_cast<int32_t>(kMaxDevices))
      throw DeviceError{AcceleratorStatus::kNoDevice, "no such device"};
    if (prepared[device].ready == 0) {
      DeviceTraits fresh = traits_of(device);
      calibrate(fresh);
      prepared[device] = fresh;
    }
    *traits = prepared[device];
  });
}

AcceleratorStatus open_pairs(const DevicePairJob* job, DevicePairs** pairs, AcceleratorMessage* why) {
  return guarded(why, [&] { *pairs = new DevicePairs(*job); });
}
AcceleratorStatus add_rows(DevicePairs* pairs, const uint32_t* tids, const uint32_t* items, size_t rows,
                           AcceleratorMessage* why) {
  return guarded(why, [&] { pairs->add_rows(tids, items, rows); });
}
AcceleratorStatus add_sets(DevicePairs* pairs, const DeviceSets* sets, AcceleratorMessage* why) {
  return guarded(why, [&] { pairs->add_sets(*sets); });
}
AcceleratorStatus add_planes(DevicePairs* pairs, uint64_t offset, const PlanePiece* pieces, size_t count,
                             AcceleratorMessage* why) {
  return guarded(why, [&] { pairs->add_planes(offset, pieces, count); });
}
AcceleratorStatus build(DevicePairs* pairs, uint32_t* supports, AcceleratorMessage* why) {
  return guarded(why, [&] { pairs->build(supports); });
}
AcceleratorStatus count_rows(DevicePairs* pairs, uint32_t first, uint32_t last, uint32_t threshold,
                             const DevicePairSink* sink, AcceleratorMessage* why) {
  return guarded(why, [&] { pairs->count_rows(first, last, threshold, *sink); });
}
AcceleratorStatus count_list(DevicePairs* pairs, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                             AcceleratorMessage* why) {
  return guarded(why, [&] { pairs->count_list(a, b, size, counts); });
}
void times(const DevicePairs* pairs, double* build_ms, double* count_ms) {
  *build_ms = pairs->build_ms();
  *count_ms = pairs->count_ms();
}
void close_pairs(DevicePairs* pairs) { delete pairs; }

AcceleratorStatus open_episodes(const DeviceEpisodeJob* job, DeviceEpisodes** episodes, AcceleratorMessage* why) {
  return guarded(why, [&] { *episodes = new DeviceEpisodes(*job); });
}
AcceleratorStatus send_events(DeviceEpisodes* episodes, uint64_t axis, DeviceEventArray array, uint64_t first,
                              const void* values, uint64_t size, AcceleratorMessage* why) {
  return guarded(why, [&] { episodes->send(axis, array, first, values, size); });
}
AcceleratorStatus count_episodes(DeviceEpisodes* episodes, const DeviceEpisodeBatch* batch, uint64_t* counts,
                                 AcceleratorMessage* why) {
  return guarded(why, [&] { episodes->count(*batch, counts); });
}
double episode_kernel_ms(const DeviceEpisodes* episodes) { return episodes->kernel_ms(); }
void close_episodes(DeviceEpisodes* episodes) { delete episodes; }

constexpr DeviceEpisodeApi kEpisodeApi = {sizeof(DeviceEpisodeApi), open_episodes,     send_events,
                                          count_episodes,           episode_kernel_ms, close_episodes};

void limit_memory(uint64_t bytes) { process_memory.limit = bytes == 0 ? UINT64_MAX : bytes; }
uint64_t memory_used(int32_t device) {
  return device >= 0 && device < static_cast<int32_t>(kMaxDevices) ? process_memory.used[device].load() : 0;
}

AcceleratorStatus pin_memory(int32_t device, void* memory, size_t bytes, AcceleratorMessage* why) {
  return guarded(why, [&] { pin(device, memory, bytes); });
}
void unpin_memory(void* memory) { unpin(memory); }

constexpr AcceleratorApi kApi = {kAcceleratorAbi, sizeof(AcceleratorApi),
                                 devices,         prepare,
                                 open_pairs,      add_rows,
                                 add_sets,        add_planes,
                                 build,           count_rows,
                                 count_list,      times,
                                 close_pairs,     &kEpisodeApi,
                                 &kItemsetApi,    limit_memory,
                                 memory_used,     pin_memory,
                                 unpin_memory};

}  // namespace

}  // namespace batmap

extern "C" __attribute__((visibility("default"))) const batmap::AcceleratorApi* batmap_accelerator() {
  return &batmap::kApi;
}
