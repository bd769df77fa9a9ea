// The steps of a batch. See episode_job.h.
#include "cuda/episode_job.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include "cuda/found_pairs.h"
#include "cuda/pinned_block.h"

namespace batmap {

using namespace cuda;

namespace {

// Entries of one depth in one group: some milliseconds of work; two depths take 1 GB.
constexpr size_t kMaxEntries = size_t{1} << 25;
constexpr size_t kMaxCounts = size_t{1} << 25;  // of the walks of one group
constexpr size_t kMaxEpisodes = size_t{1} << 18;
// Bytes for each of these entries: ends and starts of two depths, what the atomic compaction sorts, scratch
// memory for that, and the tables of tiles.
constexpr size_t kBytesAnEntry = 80;
// A prefix is walked if so many episodes have it: bench/episode_devices.cpp. This is right for thousands of
// prefixes, as in a search. With a few dozen, the longest walk takes as long as eight steps or more.
constexpr size_t kMinToWalk = 3;
constexpr size_t kMaxSortedApart = 8;  // so many nodes of a depth, or fewer, are sorted one by one
// The most machines of one call, and the most segments of one episode.
constexpr uint64_t kMaxMachines = 1 << 16;
constexpr uint64_t kMaxSegments = 1 << 10;

constexpr uint32_t kWidenThreads = 256;

uint32_t tiles_of(uint32_t events) { return (events + kTileEvents - 1) / kTileEvents; }

/// Widens times that travel in 32 bits. Reads them directly from pinned memory.
__global__ void widen(const uint32_t* from, uint32_t size, int64_t* to) {
  const uint32_t k = blockIdx.x * kWidenThreads + threadIdx.x;
  if (k < size) to[k] = from[k];
}

}  // namespace

/// An axis on the device.
class DeviceEpisodes::Axis {
 public:
  Axis(const DeviceEventAxis& axis, bool has_order, DeviceBudget& budget)
      : events(static_cast<uint32_t>(axis.events)),
        symbol_count(axis.symbol_count),
        list_times(budget, axis.events),
        times(budget, has_order ? axis.events : 0),
        symbols(budget, has_order ? axis.events : 0),
        begin_(axis.begin, axis.begin + axis.symbol_count + 1),
        last_time_(axis.last_time),
        reach_(axis.reach) {}

  EpisodeNode node(uint32_t parent, uint32_t symbol, const DeviceGap& gap) const {
    return {parent, begin_[symbol], list_size(symbol), 0, std::min(gap.low, reach_), std::min(gap.high, reach_)};
  }
  uint32_t list_size(uint32_t symbol) const { return begin_[symbol + 1] - begin_[symbol]; }
  int64_t last_time() const { return last_time_; }
  bool is_narrow() const { return last_time_ <= int64_t{UINT32_MAX}; }  // its times fit into 32 bits

  /// Bits of a time. No time has all of them set.
  int time_bits() const { return bits_for(static_cast<uint64_t>(last_time_) + 2); }

  uint32_t events;
  uint32_t symbol_count;
  DeviceArray<int64_t> list_times;
  DeviceArray<int64_t> times;  // in order of time, or empty
  DeviceArray<uint32_t> symbols;

 private:
  std::vector<uint32_t> begin_;
  int64_t last_time_;
  int64_t reach_;
};

/// The stream, events and flag with which a job queues its work. The process keeps one set: a job on the same
/// device takes it, another job makes a new one; at the end of the job the set is kept. Making one takes a
/// millisecond where the driver is slow.
class DeviceEpisodes::Queue {
 public:
  explicit Queue(int device) {
    {
      const std::lock_guard lock(kept_mutex);
      if (kept != nullptr && kept->device == device) parts_.reset(std::exchange(kept, nullptr));
    }
    if (parts_ == nullptr) parts_ = std::make_unique<Parts>(device);
    parts_->stop_flag[0] = 0;
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    const std::lock_guard lock(kept_mutex);
    if (kept == nullptr) kept = parts_.release();
  }

  cudaStream_t stream() const { return parts_->stream; }
  int* stop_flag() const { return parts_->stop_flag.data(); }  // kernels look at it
  void start_clock() { parts_->start.record(stream()); }
  void stop_clock() { parts_->end.record(stream()); }
  double clock_ms() const { return parts_->end.since(parts_->start); }

 private:
  struct Parts {
    explicit Parts(int on) : device(on), stop_flag(1) {}
    int device;
    Stream stream;
    Event start;
    Event end;
    PinnedArray<int> stop_flag;
  };

  static std::mutex kept_mutex;
  static Parts* kept;  // never destroyed: when the process ends, the driver may already be gone

  std::unique_ptr<Parts> parts_;
};

std::mutex DeviceEpisodes::Queue::kept_mutex;
DeviceEpisodes::Queue::Parts* DeviceEpisodes::Queue::kept = nullptr;

/// Pinned blocks that values are sent through. Several threads fill some while others are on their way.
class DeviceEpisodes::Staging {
 public:
  explicit Staging(cudaStream_t stream) : stream_(stream) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Copies values into blocks, converted to Sent. @param last  the largest value that is taken over: the session may change values
  /// after they were checked @param queue_reading  (const Sent* block, size_t first,
  /// size_t size) queues what reads values [first, first + size) out of a block
  template <typename Sent, typename Value, typename Reading>
  void send(const Value* values, size_t size, Value last, Reading queue_reading) {
    constexpr size_t kMax = PinnedBlock::kBytes / sizeof(Sent);
    for (size_t first = 0; first < size; first += kMax) {
      const size_t now = std::min(kMax, size - first);
      Borrowed slot(*this);
      slot->sent.wait();
      auto* const block = reinterpret_cast<Sent*>(slot->block.data());
      std::transform(values + first, values + first + now, block,
                     [last](Value value) { return static_cast<Sent>(std::clamp<Value>(value, 0, last)); });
      queue_reading(block, first, now);
      slot->sent.record(stream_);
    }
  }

 private:
  static constexpr size_t kMaxSlots = PinnedBlock::kMaxOfJob / 2;

  struct Slot {
    PinnedBlock block;
    Event sent;  // waiting for it returns at once if nothing was sent
  };

  /// A slot that no other thread fills, for the life of the object.
  class Borrowed {
   public:
    explicit Borrowed(Staging& staging) : staging_(staging), slot_(staging.take()) {}
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() {
      {
        const std::lock_guard lock(staging_.mutex_);
        staging_.free_.push_back(slot_);
      }
      staging_.one_free_.notify_one();
    }
    Slot* operator->() { return slot_; }

   private:
    Staging& staging_;
    Slot* slot_;
  };

  /// The slot that was sent first, or a new one if that is still on its way.
  Slot* take() {
    std::unique_lock lock(mutex_);
    if (slots_.size() < kMaxSlots && (free_.empty() || !free_.front()->sent.has_happened())) {
      free_.reserve(kMaxSlots);  // handing back must not fail
      slots_.push_back(std::make_unique<Slot>());
      return slots_.back().get();
    }
    one_free_.wait(lock, [this] { return !free_.empty(); });
    Slot* const slot = free_.front();
    free_.erase(free_.begin());
    return slot;
  }

  cudaStream_t stream_;
  std::mutex mutex_;
  std::condition_variable one_free_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
};

/// Arrays that go to the device in one copy.
class DeviceEpisodes::Tables {
 public:
  /// @return offset of the values in bytes()
  template <typename T>
  size_t add(const std::vector<T>& values) {
    const size_t at = (bytes_.size() + alignof(int64_t) - 1) / alignof(int64_t) * alignof(int64_t);
    bytes_.resize(at + values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
    return at;
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

/// The offsets of a depth's tables in all tables.
struct DeviceEpisodes::TableOffsets {
  size_t nodes;
  size_t tile_node;
  size_t node_begin;
};

/// The same tables on the device.
struct DeviceEpisodes::DepthOnDevice {
  const EpisodeNode* nodes;
  const uint32_t* tile_node;
  const uint32_t* node_begin;
};

/// The nodes of one depth.
struct DeviceEpisodes::GroupDepth {
  std::vector<EpisodeNode> nodes;  // and one more, for its first_tile
  std::vector<uint32_t> tile_node;
  std::vector<uint32_t> node_begin;  // first entry of each node, for the atomic compaction
  uint64_t entries = 0;              // at most

  void add(EpisodeNode node) {
    const auto index = static_cast<uint32_t>(nodes.size());
    node.first_tile = static_cast<uint32_t>(tile_node.size());
    tile_node.insert(tile_node.end(), tiles_of(node.list_size), index);
    node_begin.push_back(static_cast<uint32_t>(entries));
    nodes.push_back(node);
    entries += node.list_size;
  }
  void clear() {
    nodes.clear();
    tile_node.clear();
    node_begin.clear();
    entries = 0;
  }
};

/// Neighbouring episodes of a batch that are counted together.
struct DeviceEpisodes::Group {
  std::vector<GroupDepth> depths;  // [length]
  std::vector<size_t> tracked;     // [nodes of the last depth] the episode of each
  std::vector<EpisodeWalk> walks;
  std::vector<uint32_t> segment_walk;
  struct Walked {
    size_t episode;
    size_t count;  // index among the counts of the walks
  };
  std::vector<Walked> walked;

  void clear() {
    for (GroupDepth& depth : depths) depth.clear();
    tracked.clear();
    walks.clear();
    segment_walk.clear();
    walked.clear();
  }
};

DeviceEpisodes::DeviceEpisodes(const DeviceEpisodeJob& job)
    : job_((use_device(job.device), job)),
      stop_{job.stop, job.stop_arg},
      queue_(std::make_unique<Queue>(job.device)),
      stream_(queue_->stream()),
      budget_(job.memory_limit, stream_) {
  uint64_t lists = 0;
  for (uint64_t k = 0; k < job.axis_count; ++k) {
    axes_.push_back(std::make_unique<Axis>(job.axes[k], job.has_order != 0, budget_));
    lists += job.axes[k].events * (sizeof(int64_t) + (job.has_order != 0 ? sizeof(int64_t) + sizeof(uint32_t) : 0));
  }
  const uint64_t left = job.memory_limit == 0 ? UINT64_MAX : job.memory_limit > lists ? job.memory_limit - lists : 0;
  max_entries_ = std::min<uint64_t>(kMaxEntries, left / kBytesAnEntry);
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, job.device), "asking for shared memory");
  shared_bytes_ = static_cast<size_t>(bytes);
  if (job.has_order != 0) walk_symbols_ = shared_bytes_ / (kWalkWarps * kWalkBytesASymbol);
  staging_ = std::make_unique<Staging>(stream_);
}

DeviceEpisodes::~DeviceEpisodes() {
  cudaSetDevice(job_.device);
  cudaStreamSynchronize(stream_);
}

void DeviceEpisodes::send(uint64_t axis, DeviceEventArray array, uint64_t first, const void* values, uint64_t size) {
  use_device(job_.device);
  Axis& to = *axes_[axis];
  const auto copy_to = [&](auto* at) {
    return [this, at](const auto* block, size_t first, size_t now) {
      check(cudaMemcpyAsync(at + first, block, now * sizeof *block, cudaMemcpyHostToDevice, stream_), "sending events");
    };
  };
  if (array == DeviceEventArray::kSymbols) {
    staging_->send<uint32_t>(static_cast<const uint32_t*>(values), size, UINT32_MAX, copy_to(to.symbols.data() + first));
    return;
  }
  int64_t* const times = (array == DeviceEventArray::kTimes ? to.times : to.list_times).data() + first;
  if (!to.is_narrow()) {
    staging_->send<int64_t>(static_cast<const int64_t*>(values), size, to.last_time(), copy_to(times));
    return;
  }
  staging_->send<uint32_t>(
      static_cast<const int64_t*>(values), size, to.last_time(), [&](const uint32_t* block, size_t at, size_t now) {
        const auto narrow = static_cast<uint32_t>(now);
        widen<<<(narrow + kWidenThreads - 1) / kWidenThreads, kWidenThreads, 0, stream_>>>(block, narrow, times + at);
        check_launch("widen");
      });
}

void DeviceEpisodes::wait() {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaSuccess) break;
    if (state != cudaErrorNotReady) check(state, "running a kernel");
    if (stop_.stop != nullptr && *queue_->stop_flag() == 0 && stop_.stop(stop_.arg)) *queue_->stop_flag() = 1;
    if (steady_clock::now() - start > std::chrono::microseconds(500))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else
      std::this_thread::yield();
  }
  if (*queue_->stop_flag() != 0) throw DeviceError{AcceleratorStatus::kCancelled, "run cancelled"};
  stop_.throw_if_requested();
}

void DeviceEpisodes::count(const DeviceEpisodeBatch& batch, uint64_t* counts) {
  use_device(job_.device);
  *queue_->stop_flag() = 0;
  if (batch.length == 1) {
    for (const auto& axis : axes_)
      for (uint64_t k = 0; k < batch.size; ++k) counts[k] += axis->list_size(batch.symbols[k]);
    return;
  }
  const bool by_machines =
      batch.method == DeviceEpisodeMethod::kAutomaton || batch.method == DeviceEpisodeMethod::kMapConcat;
  Group group;
  group.depths.resize(batch.length);
  for (const auto& axis : axes_)
    for (size_t k = 0; k < batch.size;) {
      if (by_machines) {
        k = count_by_machines(*axis, batch, k, counts);
        continue;
      }
      k = take_group(*axis, batch, k, group);
      count_group(*axis, batch, group, counts);
    }
}

/// Sends tables to the device and starts the clock of the kernels.
unsigned char* DeviceEpisodes::send(const Tables& tables) {
  unsigned char* const to = tables_.grown_to(budget_, tables.bytes().size());
  check(cudaMemcpyAsync(to, tables.bytes().data(), tables.bytes().size(), cudaMemcpyHostToDevice, stream_),
        "sending tables");
  queue_->start_clock();
  return to;
}

/// Waits for all kernels and reads their counts.
std::vector<uint32_t> DeviceEpisodes::read(const uint32_t* found, size_t size) {
  queue_->stop_clock();
  wait();
  kernel_ms_ += queue_->clock_ms();
  std::vector<uint32_t> counts(size);
  check(cudaMemcpyAsync(counts.data(), found, size * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream_), "reading counts");
  check(cudaStreamSynchronize(stream_), "reading counts");
  return counts;
}

/// Makes the trie of the episodes from `from` on, as many as there may be entries for. @return index behind the last one
size_t DeviceEpisodes::take_group(const Axis& axis, const DeviceEpisodeBatch& batch, size_t from, Group& group) const {
  const size_t length = batch.length;
  const auto symbols = [&](size_t k) { return batch.symbols + k * length; };
  const auto gaps = [&](size_t k) { return batch.gaps + k * (length - 1); };
  const auto same_gap = [](const DeviceGap& x, const DeviceGap& y) { return x.low == y.low && x.high == y.high; };
  /// How many symbols both begin with, at most `max_depth`.
  const auto shared = [&](size_t x, size_t y, size_t max_depth) {
    if (symbols(x)[0] != symbols(y)[0]) return size_t{0};
    size_t depth = 1;
    while (depth < max_depth && symbols(x)[depth] == symbols(y)[depth] && same_gap(gaps(x)[depth - 1], gaps(y)[depth - 1]))
      ++depth;
    return depth;
  };
  group.clear();
  std::vector<GroupDepth>& depths = group.depths;
  size_t k = from;
  while (k < batch.size && k - from < kMaxEpisodes) {
    // Episodes that differ only in the last symbol or gap.
    size_t end = k + 1;
    while (end < batch.size && end - k < kMaxEpisodes && shared(k, end, length - 1) == length - 1) ++end;
    const bool walks = end - k >= kMinToWalk && axis.symbol_count <= walk_symbols_;
    const size_t known = k == from ? 0 : shared(k - 1, k, length - 1);
    if (k > from) {
      bool fits = group.walks.size() * axis.symbol_count + (end - k) * axis.symbol_count <= kMaxCounts;
      for (size_t depth = std::max<size_t>(known, 1); depth < length; ++depth) {
        uint64_t more = 0;
        if (depth + 1 < length)
          more = axis.list_size(symbols(k)[depth]);
        else if (!walks)
          for (size_t leaf = k; leaf < end; ++leaf) more += axis.list_size(symbols(leaf)[depth]);
        fits = fits && depths[depth].entries + more <= max_entries_;
      }
      if (!fits) break;
    }
    for (size_t depth = known; depth + 1 < length; ++depth) {
      const auto parent = depth == 0 ? 0 : static_cast<uint32_t>(depths[depth - 1].nodes.size() - 1);
      depths[depth].add(axis.node(parent, symbols(k)[depth], depth == 0 ? DeviceGap{0, 0} : gaps(k)[depth - 1]));
    }
    const auto prefix = static_cast<uint32_t>(depths[length - 2].nodes.size() - 1);
    if (walks) {
      const uint32_t segments = (depths[length - 2].nodes.back().list_size + kWalkEntries - 1) / kWalkEntries;
      const size_t first_walk = group.walks.size();
      for (size_t leaf = k; leaf < end; ++leaf) {
        const EpisodeNode last = axis.node(prefix, symbols(leaf)[length - 1], gaps(leaf)[length - 2]);
        size_t walk = first_walk;  // found step by step: there are few gaps
        while (walk < group.walks.size() && (group.walks[walk].low != last.low || group.walks[walk].high != last.high))
          ++walk;
        if (walk == group.walks.size()) {
          group.walks.push_back({prefix, static_cast<uint32_t>(group.segment_walk.size()), last.low, last.high});
          group.segment_walk.insert(group.segment_walk.end(), segments, static_cast<uint32_t>(walk));
        }
        group.walked.push_back({leaf, walk * axis.symbol_count + symbols(leaf)[length - 1]});
      }
    } else {
      for (size_t leaf = k; leaf < end; ++leaf) {
        depths[length - 1].add(axis.node(prefix, symbols(leaf)[length - 1], gaps(leaf)[length - 2]));
        group.tracked.push_back(leaf);
      }
    }
    k = end;
  }
  for (GroupDepth& depth : depths) {
    EpisodeNode behind{};
    behind.first_tile = static_cast<uint32_t>(depth.tile_node.size());
    depth.nodes.push_back(behind);
  }
  return k;
}

void DeviceEpisodes::count_group(Axis& axis, const DeviceEpisodeBatch& batch, const Group& group, uint64_t* counts) {
  const size_t length = batch.length;
  const size_t symbols = axis.symbol_count;
  Tables tables;
  std::vector<TableOffsets> offsets;
  uint64_t max_entries = 0;
  for (const GroupDepth& depth : group.depths) {
    if (depth.entries > UINT32_MAX) throw DeviceError{AcceleratorStatus::kDeclined, "lists are too long"};
    offsets.push_back({tables.add(depth.nodes), tables.add(depth.tile_node), tables.add(depth.node_begin)});
    if (&depth != &group.depths[0]) max_entries = std::max(max_entries, depth.entries);
  }
  const size_t walks_at = tables.add(group.walks);
  const size_t segments_at = tables.add(group.segment_walk);
  const unsigned char* const table = send(tables);
  const size_t walk_counts = group.walks.size() * symbols;
  const size_t all_counts = walk_counts + group.tracked.size();
  uint32_t* const found = counts_.grown_to(budget_, all_counts);
  check(cudaMemsetAsync(found, 0, all_counts * sizeof(uint32_t), stream_), "clearing counts");

  const auto* const first_nodes = reinterpret_cast<const EpisodeNode*>(table + offsets[0].nodes);
  Frontiers from{first_nodes, axis.list_times.data(), axis.list_times.data(), nullptr, nullptr, nullptr};
  const auto step = [&](size_t depth) {
    const TableOffsets& at = offsets[depth];
    from = extend(
        axis, group.depths[depth],
        {reinterpret_cast<const EpisodeNode*>(table + at.nodes), reinterpret_cast<const uint32_t*>(table + at.tile_node),
         reinterpret_cast<const uint32_t*>(table + at.node_begin)},
        from, depth % 2, max_entries, batch.method);
  };
  for (size_t depth = 1; depth + 1 < length; ++depth) step(depth);
  if (!group.segment_walk.empty())
    walk_frontiers(
        {axis.times.data(), axis.symbols.data(), axis.events, static_cast<uint32_t>(symbols), from,
         reinterpret_cast<const EpisodeWalk*>(table + walks_at), reinterpret_cast<const uint32_t*>(table + segments_at),
         static_cast<uint32_t>(group.segment_walk.size()), found, queue_->stop_flag()},
        stream_);
  if (!group.tracked.empty()) {
    step(length - 1);
    const auto tiles = static_cast<uint32_t>(group.depths[length - 1].tile_node.size());
    if (tiles > 0)
      count_apart(from, reinterpret_cast<const uint32_t*>(table + offsets[length - 1].tile_node), tiles, found + walk_counts,
                  queue_->stop_flag(), stream_);
  }
  const std::vector<uint32_t> host = read(found, all_counts);
  for (const Group::Walked& walked : group.walked) counts[walked.episode] += host[walked.count];
  for (size_t k = 0; k < group.tracked.size(); ++k) counts[group.tracked[k]] += host[walk_counts + k];
}

/// Queues one step. @return the frontiers of its nodes
Frontiers DeviceEpisodes::extend(const Axis& axis, const GroupDepth& depth, const DepthOnDevice& tables,
                                 const Frontiers& from, size_t side, size_t max_entries, DeviceEpisodeMethod method) {
  EpisodeStep step{};
  step.list_times = axis.list_times.data();
  step.from = from;
  step.nodes = tables.nodes;
  step.tile_node = tables.tile_node;
  step.tiles = static_cast<uint32_t>(depth.tile_node.size());
  step.ranges = ranges_.grown_to(budget_, step.tiles);
  step.ends = entries_[side].ends.grown_to(budget_, max_entries);
  step.starts = entries_[side].starts.grown_to(budget_, max_entries);
  size_t bytes = 0;
  if (method == DeviceEpisodeMethod::kCountScanWrite) {
    step.tile_begin = tile_begin_[side].grown_to(budget_, size_t{step.tiles} + 1);
    const Frontiers extended{step.nodes, step.ends, step.starts, step.tile_begin, nullptr, nullptr};
    if (step.tiles == 0) return extended;
    count_entries(step, stream_);
    const auto sum_up = [&](void* scratch) {
      check(cub::DeviceScan::ExclusiveSum(scratch, bytes, step.tile_begin, step.tile_begin, step.tiles + 1, stream_),
            "summing up");
    };
    sum_up(nullptr);
    sum_up(scratch_.grown_to(budget_, std::max<size_t>(bytes, 1)));
    write_entries(step, stream_);
    return extended;
  }
  step.node_end = node_end_[side].grown_to(budget_, depth.node_begin.size());
  const Frontiers extended{step.nodes, step.ends, step.starts, nullptr, tables.node_begin, step.node_end};
  check(cudaMemcpyAsync(step.node_end, tables.node_begin, depth.node_begin.size() * sizeof(uint32_t),
                        cudaMemcpyDeviceToDevice, stream_),
        "setting counters");
  if (step.tiles == 0) return extended;
  step.ends = unsorted_.ends.grown_to(budget_, max_entries);
  step.starts = unsorted_.starts.grown_to(budget_, max_entries);
  auto* const ends = reinterpret_cast<uint64_t*>(entries_[side].ends.array.data());
  int64_t* const starts = entries_[side].starts.array.data();
  const auto* const raw_ends = reinterpret_cast<const uint64_t*>(step.ends);
  if (depth.node_begin.size() > kMaxSortedApart) {
    append_entries(step, stream_);
    const auto sort = [&](void* scratch) {
      check(cub::DeviceSegmentedSort::SortPairs(
                scratch, bytes, raw_ends, ends, step.starts, starts, static_cast<int64_t>(depth.entries),
                static_cast<int64_t>(depth.node_begin.size()), tables.node_begin, step.node_end, stream_),
            "sorting entries");
    };
    sort(nullptr);
    sort(scratch_.grown_to(budget_, std::max<size_t>(bytes, 1)));
    return extended;
  }
  // CUB sorts a segment with one block. So a few long segments are sorted one by one, and unused entries go to the end.
  check(cudaMemsetAsync(step.ends, 0xff, depth.entries * sizeof(int64_t), stream_), "marking entries");
  append_entries(step, stream_);
  for (size_t node = 0; node < depth.node_begin.size(); ++node) {
    const uint32_t begin = depth.node_begin[node];
    const auto sort = [&](void* scratch) {
      check(cub::DeviceRadixSort::SortPairs(scratch, bytes, raw_ends + begin, ends + begin, step.starts + begin,
                                            starts + begin, static_cast<int64_t>(depth.nodes[node].list_size), 0,
                                            axis.time_bits(), stream_),
            "sorting entries");
    };
    sort(nullptr);
    sort(scratch_.grown_to(budget_, std::max<size_t>(bytes, 1)));
  }
  return extended;
}

/// Counts the episodes from `from` on, as many as there is room for machines. @return index behind the last one
size_t DeviceEpisodes::count_by_machines(const Axis& axis, const DeviceEpisodeBatch& batch, size_t from, uint64_t* counts) {
  const size_t length = batch.length;
  const bool is_cut = batch.method == DeviceEpisodeMethod::kMapConcat;
  const int64_t whole = axis.last_time() + 1;
  std::vector<EpisodeNode> positions;
  std::vector<uint64_t> first_end;
  int64_t reach = 1;
  uint64_t ring = 1;
  uint64_t ends = 0;
  size_t k = from;
  for (; k < batch.size && k - from < kMaxMachines; ++k) {
    int64_t own_reach = 0;
    uint64_t own_ring = ring;
    positions.push_back(axis.node(0, batch.symbols[k * length], {0, 0}));
    for (size_t position = 1; position < length; ++position) {
      const uint32_t waiting = positions.back().list_size;
      positions.push_back(axis.node(0, batch.symbols[k * length + position], batch.gaps[k * (length - 1) + position - 1]));
      own_reach = std::min(whole, own_reach + positions.back().high);
      own_ring = std::max(own_ring, max_waiting(waiting, positions.back().low, positions.back().high));
    }
    own_ring = std::bit_ceil(own_ring);
    const uint64_t own_ends = is_cut ? positions.back().list_size : 0;
    if (k > from && ((k - from + 1) * machine_words(length, own_ring) > max_entries_ || ends + own_ends > max_entries_)) {
      positions.resize(positions.size() - length);
      break;
    }
    first_end.push_back(ends);
    ends += own_ends;
    reach = std::max(reach, own_reach);
    ring = own_ring;
  }
  const size_t words = machine_words(length, ring);
  const uint64_t episodes = k - from;
  uint64_t segments = 1;
  if (is_cut)
    segments = std::max<uint64_t>(1, std::min({kMaxSegments, kMaxMachines / episodes, max_entries_ / (episodes * words),
                                               static_cast<uint64_t>(whole / reach)}));

  Tables tables;
  const size_t positions_at = tables.add(positions);
  const size_t first_end_at = tables.add(first_end);
  const unsigned char* const table = send(tables);
  EpisodeMachines job{};
  job.list_times = axis.list_times.data();
  job.positions = reinterpret_cast<const EpisodeNode*>(table + positions_at);
  job.length = static_cast<uint32_t>(length);
  job.episodes = static_cast<uint32_t>(episodes);
  job.segments = static_cast<uint32_t>(segments);
  job.segment_ticks = whole / static_cast<int64_t>(segments) + 1;
  job.reach = reach;
  job.ring = static_cast<uint32_t>(ring);
  if (words * sizeof(int64_t) * kMachineThreads > shared_bytes_)
    job.state = machines_.grown_to(budget_, episodes * segments * words);
  job.segment_path = segment_paths_.grown_to(budget_, episodes * segments);
  if (segments > 1) {
    job.first_end = reinterpret_cast<const uint64_t*>(table + first_end_at);
    job.end_path = end_paths_.grown_to(budget_, ends);
    job.rank = ranks_.grown_to(budget_, ends);
    check(cudaMemsetAsync(job.rank, 0, ends * sizeof(uint32_t), stream_), "clearing ranks");
    // A machine that is stopped does not write its remaining paths, which are used as indexes.
    check(cudaMemsetAsync(job.end_path, 0, ends * sizeof(MachinePath), stream_), "clearing paths");
  }
  job.counts = counts_.grown_to(budget_, episodes);
  job.stop = queue_->stop_flag();
  map_segments(job, stream_);
  concatenate(job, stream_);
  const std::vector<uint32_t> found = read(job.counts, episodes);
  for (size_t at = 0; at < episodes; ++at) counts[from + at] += found[at];
  return k;
}

}  // namespace batmap
