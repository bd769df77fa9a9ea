// Sends lists to a device and takes counts back. See device_tracker.h.
#include "episodes/device_tracker.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/thread_team.h"

namespace batmap {

namespace {

constexpr uint64_t kPart = uint64_t{1} << 18;    // values of one call; also how many make one more thread worth it
constexpr uint64_t kNearby = uint64_t{1} << 14;  // up to so many values between two lists are sent with them, to save a call

}  // namespace

static_assert(sizeof(DeviceGap) == sizeof(Gap) && offsetof(DeviceGap, high) == offsetof(Gap, high));

DeviceTracker::DeviceTracker(const AcceleratorApi& api, int32_t device, uint64_t memory_limit, bool has_order,
                             const EventStreams& streams, const ExecutionOptions& options)
    : api_(*api.episodes),
      streams_(streams),
      options_(options),
      has_order_(has_order),
      is_there_(streams.symbols()),
      missing_(streams.symbols()) {
  std::vector<DeviceEventAxis> axes;
  for (const EventAxis& axis : streams.axes()) {
    const EventAxisView view = axis.view();
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
}

/// Uses several threads: one thread copies more slowly than the device receives.
void DeviceTracker::send(const EpisodeBatch& batch) {
  if (missing_ == 0) return;
  std::vector<bool> is_wanted(is_there_.size(), has_order_);
  for (size_t k = 0; k < batch.size * batch.length; ++k) is_wanted[batch.symbols[k]] = true;
  std::vector<uint32_t> wanted;
  for (uint32_t symbol = 0; symbol < is_wanted.size(); ++symbol)
    if (is_wanted[symbol] && !is_there_[symbol]) wanted.push_back(symbol);

  struct Part {
    uint64_t axis;
    DeviceEventArray array;
    const std::byte* values;
    uint64_t first;
    uint64_t size;
  };
  std::vector<Part> parts;
  uint64_t all = 0;
  const auto cut = [&](uint64_t axis, DeviceEventArray array, const auto* values, uint64_t begin, uint64_t end) {
    for (uint64_t first = begin; first < end; first += kPart)
      parts.push_back(
          {axis, array, reinterpret_cast<const std::byte*>(values + first), first, std::min(kPart, end - first)});
    all += end - begin;
  };
  for (uint64_t k = 0; k < streams_.axes().size(); ++k) {
    const EventAxisView view = streams_.axes()[k].view();
    for (size_t at = 0; at < wanted.size();) {
      const uint64_t begin = view.begin[wanted[at]];
      uint64_t end = view.begin[wanted[at] + 1];
      for (++at; at < wanted.size() && view.begin[wanted[at]] - end <= kNearby; ++at) end = view.begin[wanted[at] + 1];
      cut(k, DeviceEventArray::kListTimes, view.list_times, begin, end);
    }
    if (!has_order_) continue;
    cut(k, DeviceEventArray::kTimes, view.times, 0, view.events);
    cut(k, DeviceEventArray::kSymbols, view.symbols, 0, view.events);
  }
  ExecutionOptions sending = options_;
  sending.threads =
      static_cast<int>(std::min<uint64_t>(all / kPart + 1, static_cast<uint64_t>(std::max(options_.threads, 1))));
  parallel_for(sending, parts.size(), [&](size_t k, int) {
    const Part& part = parts[k];
    AcceleratorMessage why{};
    expect_done(api_.send(episodes_, part.axis, part.array, part.first, part.values, part.size, &why), why);
  });
  for (const uint32_t symbol : wanted) is_there_[symbol] = true;
  missing_ -= wanted.size();
}

void DeviceTracker::count(DeviceEpisodeMethod method, const EpisodeBatch& batch, std::span<uint64_t> counts) {
  send(batch);
  const DeviceEpisodeBatch job{batch.symbols, reinterpret_cast<const DeviceGap*>(batch.gaps), batch.length, batch.size,
                               method};
  AcceleratorMessage why{};
  expect_done(api_.count(episodes_, &job, counts.data(), &why), why);
}

DeviceEpisodeMethod device_method(std::optional<EpisodeMethod> method) {
  switch (method.value_or(EpisodeMethod::kTracking)) {
    case EpisodeMethod::kTracking:
    case EpisodeMethod::kCountScanWrite: break;
    case EpisodeMethod::kAtomic: return DeviceEpisodeMethod::kAtomic;
    case EpisodeMethod::kAutomaton: return DeviceEpisodeMethod::kAutomaton;
    case EpisodeMethod::kMapConcat: return DeviceEpisodeMethod::kMapConcat;
  }
  return DeviceEpisodeMethod::kCountScanWrite;
}

EpisodeMethod method_of(DeviceEpisodeMethod method) {
  switch (method) {
    case DeviceEpisodeMethod::kCountScanWrite: break;
    case DeviceEpisodeMethod::kAtomic: return EpisodeMethod::kAtomic;
    case DeviceEpisodeMethod::kAutomaton: return EpisodeMethod::kAutomaton;
    case DeviceEpisodeMethod::kMapConcat: return EpisodeMethod::kMapConcat;
  }
  return EpisodeMethod::kCountScanWrite;
}

EpisodeDevice::EpisodeDevice(DeviceUse use, std::optional<EpisodeMethod> method, const EventStreams& streams,
                             const ExecutionOptions& options)
    : session_(std::move(use), 1), method_(device_method(method)), streams_(streams), sending_(options) {
  sending_.threads = std::min(options.threads, kSendingThreads);
}

bool EpisodeDevice::attempt(EpisodeSizes sizes, double cpu_ms, const std::string& what,
                            const std::function<void(DeviceTracker&, DeviceEpisodeMethod)>& work) {
  if (!is_possible()) return false;
  const DeviceUse& use = session_.use();
  sizes.method = method_;
  sizes.is_plain &= streams_.counting() == EpisodeCounting::kNonOverlapped;
  sizes.memory_limit = use.memory_limit;
  sizes.is_sent = tracker_.has_value();
  const auto ask = [&](std::span<const DeviceTraits> devices) {
    if (session_.api().episodes == nullptr)
      throw DeviceFailure{AcceleratorStatus::kDeclined, "the module counts no episodes"};
    DeviceVerdict verdict = choose_episode_device(use.mode, sizes, devices[0], cpu_ms);
    if (!sizes.is_plain && session_.is_required()) throw DeviceFailure{AcceleratorStatus::kDeclined, what + verdict.reason};
    verdict.reason = what + verdict.reason;
    return verdict;
  };
  const auto count = [&](std::span<const DeviceTraits> devices) {
    if (!tracker_)
      tracker_.emplace(session_.api(), devices[0].index, use.memory_limit, sizes.walked_entries > 0, streams_, sending_);
    work(*tracker_, method_);
    return true;
  };
  if (session_.offer(cpu_ms, ask, count)) return true;
  if (!is_possible()) tracker_.reset();
  return false;
}

}  // namespace batmap
