// Lists to a device, counts back. See device_tracker.h.
#include "episodes/device_tracker.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/thread_team.h"

namespace batmap {

namespace {

constexpr int kSendingThreads = 6;  // sent about 24 GB/s to an H100; other numbers were not tried

}  // namespace

static_assert(sizeof(DeviceGap) == sizeof(Gap) && offsetof(DeviceGap, high) == offsetof(Gap, high));

DeviceTracker::DeviceTracker(const AcceleratorApi& api, int32_t device, uint64_t memory_limit, bool has_order,
                             const EventStreams& streams, const ExecutionOptions& options)
    : api_(*api.episodes) {
  std::vector<DeviceEventAxis> axes;
  for (const EventStream& axis : streams.axes()) {
    const EventStreamView view = axis.view();
    axes.push_back(
        {view.events, view.symbol_count, view.begin, view.events == 0 ? 0 : view.times[view.events - 1], view.reach});
  }
  DeviceEpisodeJob job{};
  job.axes = axes.data();
  job.axis_count = axes.size();
  job.has_order = has_order;
  job.device = device;
  job.memory_limit = memory_limit;
  job.stop = [](void* token) { return static_cast<const CancelToken*>(token)->requested(); };
  job.stop_arg = const_cast<CancelToken*>(&options.cancel);
  AcceleratorMessage why{};
  expect_done(api_.open(&job, &episodes_, &why), why);
  try {
    send(streams, has_order, options);
  } catch (...) {
    api_.close(episodes_);
    throw;
  }
}

/// By all threads: one alone copies more slowly than the device takes.
void DeviceTracker::send(const EventStreams& streams, bool has_order, const ExecutionOptions& options) {
  struct Part {
    uint64_t axis;
    DeviceEventArray array;
    const std::byte* values;
    uint64_t first;
    uint64_t size;
  };
  constexpr uint64_t kPart = uint64_t{1} << 18;
  std::vector<Part> parts;
  const auto cut = [&](uint64_t axis, DeviceEventArray array, const auto* values, uint64_t events) {
    for (uint64_t first = 0; first < events; first += kPart)
      parts.push_back(
          {axis, array, reinterpret_cast<const std::byte*>(values + first), first, std::min(kPart, events - first)});
  };
  for (uint64_t k = 0; k < streams.axes().size(); ++k) {
    const EventStreamView view = streams.axes()[k].view();
    cut(k, DeviceEventArray::kListTimes, view.list_times, view.events);
    if (!has_order) continue;
    cut(k, DeviceEventArray::kTimes, view.times, view.events);
    cut(k, DeviceEventArray::kSymbols, view.symbols, view.events);
  }
  ExecutionOptions few = options;
  few.threads = std::min(options.threads, kSendingThreads);
  parallel_for(few, parts.size(), [&](size_t k, int) {
    const Part& part = parts[k];
    AcceleratorMessage why{};
    expect_done(api_.send(episodes_, part.axis, part.array, part.first, part.values, part.size, &why), why);
  });
}

void DeviceTracker::count(DeviceCompaction compaction, const EpisodeBatch& batch, std::span<uint64_t> counts) {
  const DeviceEpisodeBatch job{batch.symbols, reinterpret_cast<const DeviceGap*>(batch.gaps), batch.length, batch.size,
                               compaction};
  AcceleratorMessage why{};
  expect_done(api_.count(episodes_, &job, counts.data(), &why), why);
}

std::optional<DeviceCompaction> device_compaction(std::optional<EpisodeMethod> method) {
  switch (method.value_or(EpisodeMethod::kTracking)) {
    case EpisodeMethod::kTracking:
    case EpisodeMethod::kCountScanWrite: return DeviceCompaction::kCountScanWrite;
    case EpisodeMethod::kAtomic: return DeviceCompaction::kAtomic;
    case EpisodeMethod::kAutomaton:
    case EpisodeMethod::kMapConcat: break;
  }
  return std::nullopt;
}

EpisodeDevice::EpisodeDevice(DeviceUse use, std::optional<EpisodeMethod> method, const EventStreams& streams,
                             const ExecutionOptions& options)
    : use_(std::move(use)),
      compaction_(device_compaction(method)),
      streams_(streams),
      options_(options),
      possible_(use_.offload != nullptr && use_.mode != DeviceMode::kCpu && compaction_.has_value()) {
  if (use_.offload != nullptr && use_.mode == DeviceMode::kRequire && !compaction_)
    throw Error(ErrorCode::kInvalidParameter,
                std::string("algorithm \"") + kEpisodeMethodNames[static_cast<size_t>(*method)] + "\" does not run on a GPU",
                "Algorithms that do: tracking, count_scan_write, atomic.");
}

int EpisodeDevice::threads_apart(int threads) {
  // 16 of them did the work of 6: bench/episode_devices.cpp.
  return std::max(1, static_cast<int>(std::pow(threads, 0.65)));
}

bool EpisodeDevice::attempt(EpisodeSizes sizes, double cpu_ms, const std::string& what,
                            const std::function<void(DeviceTracker&, DeviceCompaction)>& work) {
  if (!possible_) return false;
  if (use_.mode == DeviceMode::kAuto && !use_.offload->has_loaded() && cpu_ms < kWorthLoadingMs) return false;
  bool is_chosen = false;
  const bool done = use_.offload->attempt(use_.mode, notice_, [&] {
    std::vector<DeviceTraits> devices = use_.offload->devices(use_.only);
    if (devices.empty()) {
      const std::string why = use_.offload->why_not();
      throw DeviceFailure{AcceleratorStatus::kDeclined, why.empty() ? "batmap.gpu_devices names none that is there" : why};
    }
    devices.resize(1);
    const AcceleratorApi& api = use_.offload->trusted();
    if (api.episodes == nullptr) throw DeviceFailure{AcceleratorStatus::kDeclined, "the module counts no episodes"};
    sizes.memory_limit = use_.memory_limit;
    sizes.is_sent = tracker_.has_value();
    EpisodeDeviceChoice choice = choose_episode_device(use_.mode, sizes, devices[0], cpu_ms);
    if (choice.is_chosen && devices[0].ready == 0) {
      use_.offload->prepare(devices);
      choice = choose_episode_device(use_.mode, sizes, devices[0], cpu_ms);
    }
    reason_ += "; " + what + choice.reason;
    is_chosen = choice.is_chosen;
    if (!is_chosen) {
      if (use_.mode == DeviceMode::kRequire)
        throw DeviceFailure{AcceleratorStatus::kOutOfMemory, "the job does not fit:" + choice.reason};
      return;
    }
    if (!tracker_) tracker_.emplace(api, devices[0].index, use_.memory_limit, sizes.walked_entries > 0, streams_, options_);
    work(*tracker_, *compaction_);
    device_ = "cuda:" + std::to_string(devices[0].index) + " " + devices[0].name;
  });
  if (done) return is_chosen;
  possible_ = false;
  tracker_.reset();
  return false;
}

}  // namespace batmap
