// Cost model of devices. See device_policy.h.
#include "accel/device_policy.h"

#include <algorithm>
#include <cstdio>

namespace batmap {

namespace {

// Nanoseconds of one host thread, from bench/device_pairs.cpp.
constexpr double kStagedRow = 4.0;     // to decode, rank and copy a row into pinned memory; the copy is a third of it
constexpr double kScatteredRow = 0.1;  // a row into bit rows, on the device
constexpr double kBatmapByte = 0.4;    // a byte of a set that is sent through the GPU process (bench/gpu/lists.sql)
// Words of planes that one multiprocessor compares in a nanosecond, from bench/device_pairs.cpp.
constexpr double kBatmapWords = 57;
// Lists of pairs, both rough: nanoseconds of one host thread for a pair, which is copied there and back, and bytes of both
// sides that 132 multiprocessors read in a nanosecond.
constexpr double kListedPair = 20;
constexpr double kListedBytes = 1500;
// Tiles count a pair of many for a fraction of what it costs by itself: a half for 1,500 sets of 1,000 elements, a twelfth
// for 2,000 of 10,000 (part `list` of bench/device_pairs.cpp). They need as many pairs as keep a device busy.
constexpr uint64_t kTiledPairs = 4;  // pairs that tiles count in the time of one from a list
constexpr uint64_t kMinTiledPairs = uint64_t{1} << 20;
// Lists: nanoseconds of 132 multiprocessors (part `list` of bench/device_pairs.cpp), and bytes while they are built.
constexpr double kLookUp = 0.004;
constexpr double kLookedUpPair = 0.5;
constexpr uint64_t kListedRowBytes = 28;
constexpr uint64_t kListBytesAnItem = 24;
// A device is chosen only if it is faster by this factor: the estimate leaves out the counts that come back.
constexpr double kMargin = 1.2;
constexpr double kRowBytes = 8;
// Staging buffers, two lanes with room for answers, and the CUDA context.
constexpr uint64_t kFixedBytes = uint64_t{640} << 20;

// Episodes, on an H100 with 16 host threads: rough values fitted to the calls of bench/episode_devices.cpp.
constexpr double kSentValues = 3;         // values sent in a nanosecond
constexpr double kStepEvents = 95;        // events counted and written in a nanosecond
constexpr double kWalkedEntries = 7;      // entries in a nanosecond
constexpr double kWalkedEvents = 140;     // events in a nanosecond
constexpr double kMachineNs = 350;        // an automaton, for each event of its lists
constexpr double kMachines = 1100;        // automata that run at once without slowing each other down
constexpr double kMachinesAgain = 2;      // mapconcat: work is this times the automaton's, as machines run until they meet
constexpr double kSegments = 1024;        // segments of each episode
constexpr double kConcatNs = 500;         // concatenation, for each segment
constexpr double kEpisodeNs = 70;         // host, for each episode
constexpr double kEpisodeStepMs = 0.03;   // kernel launches, for each step
constexpr double kEpisodeOpenMs = 0.1;    // allocating the arrays
constexpr double kEpisodeCallMs = 0.2;    // tables, counts, waiting, for each call
constexpr double kMultiprocessors = 132;  // of that H100
constexpr uint64_t kListBytes = 8;        // bytes an event, as the next one
constexpr uint64_t kOrderBytes = 12;
constexpr uint64_t kEpisodeFixedBytes = uint64_t{512} << 20;

constexpr struct {
  const char* name;
  DeviceMode mode;
} kModes[] = {
    {"auto", DeviceMode::kAuto}, {"cpu", DeviceMode::kCpu}, {"cuda", DeviceMode::kCuda}, {"require", DeviceMode::kRequire}};

const char* name_of(DeviceMethod method) {
  switch (method) {
    case DeviceMethod::kBitmap: return "bitmap";
    case DeviceMethod::kHorizontal: return "horizontal";
    case DeviceMethod::kBatmap: return "batmap";
    case DeviceMethod::kLists: return "lists";
  }
  return "";
}

double senders_of(int threads) { return std::clamp(threads, 1, kMaxSenders); }

double pairs_of(const DeviceSizes& sizes) {
  const auto leading = static_cast<double>(sizes.leading);
  if (sizes.first_column > 0) return leading * static_cast<double>(sizes.items - sizes.first_column);
  return leading * (static_cast<double>(sizes.items) - (leading + 1) / 2);
}

bool has_form(DeviceMethod method, const DeviceSizes& sizes) {
  return method == DeviceMethod::kBatmap ? sizes.batmap_bytes > 0 : sizes.rows > 0;
}

uint64_t horizontal_bytes(uint64_t rows, uint64_t tid_slots) { return rows * 36 + tid_slots * 4; }

/// Adds a method to the reason of a choice, and takes it if it is the best so far.
void consider(DeviceMethod method, const DeviceEstimate& estimate, size_t devices, DeviceChoice& choice,
              std::optional<double>& best_ms) {
  char text[96];
  std::snprintf(text, sizeof text, "%s%s on %zu GPU%s %.*f ms%s", choice.reason.empty() ? "" : ", ", name_of(method),
                devices, devices == 1 ? "" : "s", estimate.milliseconds < 10 ? 1 : 0, estimate.milliseconds,
                estimate.fits ? "" : " (does not fit)");
  choice.reason += text;
  if (!estimate.fits || (best_ms && estimate.milliseconds >= *best_ms)) return;
  best_ms = estimate.milliseconds;
  choice.method = method;
}

/// Nanoseconds in kernels, on that H100.
double counting_ns(const EpisodeSizes& sizes) {
  const auto events = static_cast<double>(sizes.step_events);
  const auto machines = static_cast<double>(std::max<uint64_t>(sizes.episodes, 1));
  switch (sizes.method) {
    case DeviceEpisodeMethod::kCountScanWrite:
    case DeviceEpisodeMethod::kAtomic: break;
    case DeviceEpisodeMethod::kAutomaton: return events * kMachineNs / std::min(machines, kMachines);
    case DeviceEpisodeMethod::kMapConcat:
      return events * kMachineNs * kMachinesAgain / std::min(machines * kSegments, kMachines) + kSegments * kConcatNs;
  }
  return events / kStepEvents + static_cast<double>(sizes.walked_entries) / kWalkedEntries +
         static_cast<double>(sizes.walked_events) / kWalkedEvents;
}

}  // namespace

std::optional<DeviceMode> parse_device_mode(const std::string& name) {
  for (const auto& entry : kModes)
    if (name == entry.name) return entry.mode;
  return std::nullopt;
}

DeviceEstimate estimate_on_devices(DeviceMethod method, const DeviceSizes& sizes, std::span<const DeviceTraits> devices) {
  DeviceEstimate estimate;
  estimate.fits = true;
  const auto rows = static_cast<double>(sizes.rows);
  const auto sharers = static_cast<double>(devices.size());
  const double tids = static_cast<double>((sizes.tid_slots + 1023) / 1024 * 1024);
  const double senders = senders_of(sizes.threads);
  double host_ms = sizes.host_ms + rows * kStagedRow / senders / 1e6;
  switch (method) {
    case DeviceMethod::kBitmap: estimate.bytes = (sizes.items + 127) / 128 * 128 * static_cast<uint64_t>(tids) / 8; break;
    case DeviceMethod::kHorizontal:
      estimate.bytes = horizontal_bytes(sizes.rows, sizes.tid_slots);
      estimate.fits = sizes.rows < UINT32_MAX;
      break;
    case DeviceMethod::kBatmap:
      estimate.bytes = sizes.batmap_bytes;
      host_ms = sizes.prepare_ms + static_cast<double>(sizes.batmap_bytes) * kBatmapByte * sharers / senders / 1e6;
      break;
    case DeviceMethod::kLists: estimate.fits = false; break;  // for given pairs only
  }
  double slowest = 0;
  double context_ms = 0;
  for (const DeviceTraits& device : devices) {
    const DeviceRates& rates = device.rates;
    double ms = 2 * rates.launch_ms;
    switch (method) {
      case DeviceMethod::kBitmap:
        ms += rows * (kRowBytes / rates.upload_bytes + kScatteredRow) / 1e6 +
              pairs_of(sizes) * tids / rates.and_bits / 1e6 / sharers;
        break;
      case DeviceMethod::kHorizontal:
        ms += rows * (kRowBytes / rates.upload_bytes + 1 / rates.grouped_rows) / 1e6 +
              static_cast<double>(sizes.pair_instances) / rates.increments / 1e6 / sharers;
        break;
      case DeviceMethod::kBatmap:
        ms += sizes.batmap_words / (kBatmapWords * std::max(device.multiprocessors, 1)) / 1e6 / sharers;
        break;
      case DeviceMethod::kLists: break;
    }
    const uint64_t room = sizes.memory_limit == 0 ? device.memory_bytes : std::min(sizes.memory_limit, device.memory_bytes);
    estimate.fits = estimate.fits && estimate.bytes + kFixedBytes <= room;
    slowest = std::max(slowest, ms);
    if (device.ready == 0) context_ms += rates.context_ms;
  }
  estimate.milliseconds = context_ms + slowest + host_ms;
  return estimate;
}

DeviceChoice choose_device(DeviceMode mode, const DeviceSizes& sizes, std::span<const DeviceTraits> devices, double cpu_ms,
                           std::optional<DeviceMethod> wanted) {
  DeviceChoice choice;
  if (mode == DeviceMode::kCpu || devices.empty()) return choice;
  std::optional<double> best_ms;
  for (const DeviceMethod method : {DeviceMethod::kBitmap, DeviceMethod::kHorizontal, DeviceMethod::kBatmap}) {
    if ((wanted && *wanted != method) || !has_form(method, sizes)) continue;
    consider(method, estimate_on_devices(method, sizes, devices), devices.size(), choice, best_ms);
  }
  if (choice.reason.empty()) choice.reason = "no GPU counts this form";
  if (best_ms && mode == DeviceMode::kAuto && *best_ms * kMargin >= cpu_ms) choice.method.reset();
  return choice;
}

bool pays_to_count_all(uint64_t items, uint64_t listed) {
  const uint64_t all = items * (items - 1) / 2;
  return all >= kMinTiledPairs && listed >= all / kTiledPairs;
}

DeviceEstimate estimate_list_on_devices(const ListSizes& sizes, std::span<const DeviceTraits> devices) {
  DeviceEstimate estimate;
  estimate.fits = true;
  estimate.bytes = sizes.form_bytes;
  const auto rows = static_cast<double>(sizes.rows);
  const auto items = static_cast<double>(sizes.items);
  const auto sharers = static_cast<double>(devices.size());
  const double senders = senders_of(sizes.threads);
  double host_ms = sizes.left_ms + sizes.prepare_ms + static_cast<double>(sizes.pairs) * kListedPair / senders / 1e6;
  if (sizes.method == DeviceMethod::kBatmap)
    host_ms += static_cast<double>(sizes.form_bytes) * kBatmapByte * sharers / senders / 1e6;
  else
    host_ms += rows * kStagedRow / senders / 1e6;
  const bool counts_all = pays_to_count_all(sizes.items, sizes.pairs);
  if (sizes.method == DeviceMethod::kHorizontal) {
    const uint64_t triangle = sizes.items * (sizes.items + 1) / 2 * sizeof(uint32_t);
    estimate.bytes = horizontal_bytes(sizes.rows, sizes.tid_slots) + triangle;
    estimate.fits = counts_all && sizes.rows < UINT32_MAX;
  }
  if (sizes.method == DeviceMethod::kLists) {
    estimate.bytes = sizes.rows * kListedRowBytes + sizes.items * kListBytesAnItem;
    estimate.fits = sizes.rows < UINT32_MAX;
  }
  // Of one side of all pairs. Each device counts them, one after the other.
  const double tiled_bytes = sizes.read_bytes / static_cast<double>(sizes.pairs) / 2 * items * items / 2;
  double slowest = 0;
  for (const DeviceTraits& device : devices) {
    const DeviceRates& rates = device.rates;
    const double share = std::max(device.multiprocessors, 1) / kMultiprocessors;
    double ns = rows * kRowBytes / rates.upload_bytes;
    switch (sizes.method) {
      case DeviceMethod::kBitmap:
        ns += rows * kScatteredRow;
        ns += counts_all ? sharers * tiled_bytes * 8 / rates.and_bits : sizes.read_bytes / (kListedBytes * share) / sharers;
        break;
      case DeviceMethod::kHorizontal:
        ns += sharers * (rows / rates.grouped_rows + sizes.pair_instances / rates.increments);
        break;
      case DeviceMethod::kBatmap:
        ns += counts_all ? sharers * tiled_bytes / 4 / (kBatmapWords * kMultiprocessors * share)
                         : sizes.read_bytes / (kListedBytes * share) / sharers;
        break;
      case DeviceMethod::kLists:
        ns += rows / rates.grouped_rows +
              (sizes.look_ups * kLookUp + static_cast<double>(sizes.pairs) * kLookedUpPair) / share / sharers;
        break;
    }
    const uint64_t room = sizes.memory_limit == 0 ? device.memory_bytes : std::min(sizes.memory_limit, device.memory_bytes);
    estimate.fits = estimate.fits && estimate.bytes + kFixedBytes <= room;
    slowest = std::max(slowest, 2 * rates.launch_ms + ns / 1e6);
    if (device.ready == 0) estimate.milliseconds += rates.context_ms;
  }
  estimate.milliseconds += slowest + host_ms;
  return estimate;
}

DeviceChoice choose_list_devices(DeviceMode mode, std::span<const ListSizes> ways, std::span<const DeviceTraits> devices,
                                 double cpu_ms) {
  DeviceChoice choice;
  if (mode == DeviceMode::kCpu || devices.empty()) return choice;
  char text[96];
  std::snprintf(text, sizeof text, "CPU %.*f ms", cpu_ms < 10 ? 1 : 0, cpu_ms);
  choice.reason = ways.empty() ? "no GPU counts these pairs" : text;
  std::optional<double> best_ms;
  for (const ListSizes& way : ways)
    consider(way.method, estimate_list_on_devices(way, devices), devices.size(), choice, best_ms);
  if (best_ms && mode == DeviceMode::kAuto && *best_ms * kMargin >= cpu_ms) choice.method.reset();
  return choice;
}

DeviceEstimate estimate_episodes_on_device(const EpisodeSizes& sizes, const DeviceTraits& device) {
  DeviceEstimate estimate;
  const double share = device.multiprocessors / kMultiprocessors;
  estimate.milliseconds = kEpisodeCallMs + static_cast<double>(sizes.length) * kEpisodeStepMs +
                          (counting_ns(sizes) / share + static_cast<double>(sizes.episodes) * kEpisodeNs) / 1e6;
  if (device.ready == 0) estimate.milliseconds += device.rates.context_ms;
  estimate.bytes = sizes.events * (kListBytes + (sizes.walked_entries > 0 ? kOrderBytes : 0));
  const uint64_t sent = sizes.sent_events + (sizes.walked_entries > 0 ? 2 * sizes.events : 0);
  if (!sizes.is_sent) estimate.milliseconds += kEpisodeOpenMs + static_cast<double>(sent) / kSentValues / 1e6;
  const uint64_t room = sizes.memory_limit == 0 ? device.memory_bytes : std::min(sizes.memory_limit, device.memory_bytes);
  // Frontiers need room, too. Where there is little, batches are cut into small groups.
  estimate.fits = estimate.bytes + std::min(kEpisodeFixedBytes, estimate.bytes) <= room;
  return estimate;
}

DeviceVerdict choose_episode_device(DeviceMode mode, const EpisodeSizes& sizes, const DeviceTraits& device, double cpu_ms) {
  DeviceVerdict choice;
  if (mode == DeviceMode::kCpu) return choice;
  if (!sizes.is_plain) {
    choice.reason = " GPUs count neither streams nor events of one time";
    return choice;
  }
  const DeviceEstimate estimate = estimate_episodes_on_device(sizes, device);
  char text[96];
  std::snprintf(text, sizeof text, " CPU %.*f ms, GPU %.*f ms%s", cpu_ms < 10 ? 1 : 0, cpu_ms,
                estimate.milliseconds < 10 ? 1 : 0, estimate.milliseconds, estimate.fits ? "" : " (does not fit)");
  choice.reason = text;
  choice.is_chosen = estimate.fits && (mode != DeviceMode::kAuto || estimate.milliseconds * kMargin < cpu_ms);
  return choice;
}

}  // namespace batmap
