// Sends rows to devices and receives pairs. See device_counter.h.
#include "pairs/counters/device_counter.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

#include "accel/device_policy.h"
#include "core/thread_team.h"
#include "set/set_decode.h"

namespace batmap {

namespace {

constexpr uint64_t kBlockRows = 128;  // ranges of rows begin at multiples of this
// Pairs of a task: enough to keep a device busy for a while, and few enough to share out and to wait on the
// host if all of them are answers (256 MB).
constexpr uint64_t kMaxTaskPairs = uint64_t{1} << 24;
constexpr uint64_t kMinTaskPairs = uint64_t{1} << 22;
constexpr uint64_t kTasksADevice = 4;

static_assert(sizeof(DevicePair) == sizeof(PairCount));

/// The room that a device writes its pairs to. An exception must not pass through the module, so it is kept here.
struct Room {
  GrowingBuffer<PairCount>& out;
  std::exception_ptr failure;

  static DevicePair* give(void* arg, size_t pairs) {
    auto& room = *static_cast<Room*>(arg);
    try {
      PairCount* const at = room.out.room(pairs);
      room.out.add(pairs);
      return reinterpret_cast<DevicePair*>(at);
    } catch (...) {
      room.failure = std::current_exception();
      return nullptr;
    }
  }
};

/// A job on devices that has its rows or sets. Closes it at the end of its life.
class OpenJob {
 public:
  /// @param job   items, pairs and method; the constructor fills in the rest
  /// @param send  send(api, pairs) sends the rows or sets
  template <typename Send>
  OpenJob(const AcceleratorApi& api, std::span<const DeviceTraits> devices, uint64_t memory_limit, DevicePairJob job,
          const ExecutionOptions& options, Send send)
      : api_(api), supports_(*options.memory, job.items) {
    for (const DeviceTraits& device : devices) job.devices[job.device_count++] = device.index;
    job.memory_limit = memory_limit;
    job.stop = [](void* token) { return static_cast<const CancelToken*>(token)->requested(); };
    job.stop_arg = const_cast<CancelToken*>(&options.cancel);
    AcceleratorMessage why{};
    expect_done(api_.open_pairs(&job, &pairs_, &why), why);
    try {
      send(api_, pairs_);
      expect_done(api_.build(pairs_, supports_.data(), &why), why);
    } catch (...) {
      api_.close_pairs(pairs_);
      throw;
    }
  }
  OpenJob(const OpenJob&) = delete;
  OpenJob& operator=(const OpenJob&) = delete;
  ~OpenJob() { api_.close_pairs(pairs_); }

  const AcceleratorApi& api() const { return api_; }
  DevicePairs* pairs() const { return pairs_; }
  std::span<const uint32_t> supports() const { return supports_.span(); }

 private:
  const AcceleratorApi& api_;
  Buffer<uint32_t> supports_;
  DevicePairs* pairs_ = nullptr;
};

class DeviceCounter final : public PairCounter {
 public:
  /// @see OpenJob
  template <typename Send>
  DeviceCounter(const AcceleratorApi& api, std::span<const DeviceTraits> devices, uint64_t memory_limit,
                const DevicePairJob& job, const ExecutionOptions& options, Send send)
      : job_(api, devices, memory_limit, job, options, send) {
    cut_tasks({.leading = job.leading, .first_column = job.first_column}, job.items, devices.size());
  }

  size_t tasks() const override { return task_begin_.size() - 1; }
  uint64_t max_results() const override { return max_results_; }
  size_t tasks_ahead() const override { return 1; }
  std::span<const uint32_t> supports() const override { return job_.supports(); }

  void count(size_t task, int, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    Room room{out, nullptr};
    const DevicePairSink sink{Room::give, &room};
    AcceleratorMessage why{};
    const AcceleratorStatus status =
        job_.api().count_rows(job_.pairs(), task_begin_[task], task_begin_[task + 1], threshold, &sink, &why);
    if (room.failure) rethrow(room.failure);
    expect_done(status, why);
  }

 private:
  /// Memory that does not suffice for a task of a device may suffice for the CPU's smaller tasks.
  [[noreturn]] static void rethrow(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kMemoryLimit) throw;
      throw DeviceFailure{AcceleratorStatus::kOutOfMemory, error.what()};
    }
  }

  void cut_tasks(const WantedPairs& pairs, uint32_t items, size_t devices) {
    uint64_t all = 0;
    for (uint32_t a = 0; a < pairs.leading; ++a) all += items - std::min(pairs.first_after(a), items);
    const uint64_t wanted = std::clamp<uint64_t>(all / (devices * kTasksADevice), kMinTaskPairs, kMaxTaskPairs);
    task_begin_.push_back(0);
    uint64_t task_pairs = 0;
    for (uint32_t a = 0; a < pairs.leading; ++a) {
      task_pairs += items - std::min(pairs.first_after(a), items);
      max_results_ = std::max(max_results_, task_pairs);
      if (task_pairs < wanted || (a + 1) % kBlockRows != 0) continue;
      task_begin_.push_back(a + 1);
      task_pairs = 0;
    }
    if (task_begin_.back() != pairs.leading) task_begin_.push_back(pairs.leading);
  }

  OpenJob job_;
  std::vector<uint32_t> task_begin_;
  uint64_t max_results_ = 0;
};

/// Rows on their way to devices: each thread collects its own. Calls of many rows, since threads wait for each other in them.
class RowSenders {
 public:
  static constexpr size_t kRows = 4 * kChunkRows;  // of one call

  RowSenders(const AcceleratorApi& api, DevicePairs* pairs, const ExecutionOptions& options)
      : api_(api),
        pairs_(pairs),
        cancel_(options.cancel),
        room_(*options.memory, 2 * kRows * static_cast<size_t>(options.threads)),
        rows_(static_cast<size_t>(options.threads)) {}

  struct Room {
    uint32_t* tids;
    uint32_t* items;
  };
  /// Room of a worker for kChunkRows rows.
  Room room(int worker) {
    const auto own = static_cast<size_t>(worker);
    if (rows_[own] + kChunkRows > kRows) send(own);
    uint32_t* const tids = room_.data() + 2 * kRows * own + rows_[own];
    return {tids, tids + kRows};
  }
  /// So many rows were written there.
  void add(int worker, size_t rows) { rows_[static_cast<size_t>(worker)] += rows; }
  /// Sends the rest. Call it when no worker adds any more.
  void finish() {
    for (size_t worker = 0; worker < rows_.size(); ++worker)
      if (rows_[worker] > 0) send(worker);
  }

 private:
  void send(size_t worker) {
    cancel_.throw_if_requested();
    const uint32_t* const tids = room_.data() + 2 * kRows * worker;
    AcceleratorMessage why{};
    expect_done(api_.add_rows(pairs_, tids, tids + kRows, rows_[worker], &why), why);
    rows_[worker] = 0;
  }

  const AcceleratorApi& api_;
  DevicePairs* pairs_;
  const CancelToken& cancel_;
  Buffer<uint32_t> room_;     // [threads][tids, then items]
  std::vector<size_t> rows_;  // [threads] that wait
};

/// @param instances  nullptr, or set
void send_rows(const AcceleratorApi& api, DevicePairs* pairs, const EncodedRelation& relation, const KeptItems& kept,
               const ExecutionOptions& given, uint64_t* instances) {
  const ExecutionOptions options = sized_for_rows(kept.occurrences, given);
  RowSenders senders(api, pairs, options);
  std::optional<PairInstances> counted;
  if (instances != nullptr) counted.emplace(relation, options);
  parallel_for(options, relation.blocks(), [&](size_t block, int worker) {
    const auto [tids, items] = senders.room(worker);
    const uint32_t rows = relation.decode(block, tids, items);
    uint32_t sent = 0;
    if (kept.occurrences == relation.rows()) {
      for (; sent < rows; ++sent) items[sent] = index_of(kept.rank(ItemCode{items[sent]}));
    } else {
      for (uint32_t k = 0; k < rows; ++k) {
        const Rank rank = kept.rank(ItemCode{items[k]});
        tids[sent] = tids[k];
        items[sent] = index_of(rank);
        sent += rank != KeptItems::kDropped;
      }
    }
    if (counted) counted->add(worker, tids, sent);
    senders.add(worker, sent);
  });
  senders.finish();
  if (counted) *instances = counted->sum();
}

/// The same from lists. Items keep their numbers.
void send_lists(const AcceleratorApi& api, DevicePairs* pairs, const Tidlists& lists, uint64_t total,
                const ExecutionOptions& given) {
  constexpr size_t kItemsATask = 1024;
  const size_t all = lists.length.size();
  const ExecutionOptions options = sized_for_rows(total, given);
  RowSenders senders(api, pairs, options);
  parallel_for(options, (all + kItemsATask - 1) / kItemsATask, [&](size_t task, int worker) {
    for (size_t item = task * kItemsATask; item < std::min((task + 1) * kItemsATask, all); ++item) {
      std::span<const uint32_t> list = lists.list(static_cast<uint32_t>(item));
      while (!list.empty()) {
        const auto [tids, items] = senders.room(worker);
        const size_t rows = std::min<size_t>(list.size(), kChunkRows);
        std::copy_n(list.data(), rows, tids);
        std::fill_n(items, rows, static_cast<uint32_t>(item));
        senders.add(worker, rows);
        list = list.subspan(rows);
      }
    }
  });
  senders.finish();
}

/// The same from sets. Items are places in `order`.
void send_elements(const AcceleratorApi& api, DevicePairs* pairs, const SetCollection& sets, std::span<const uint32_t> order,
                   uint64_t total, const ExecutionOptions& given) {
  const ExecutionOptions options = sized_for_rows(total, given);
  RowSenders senders(api, pairs, options);
  parallel_for(options, order.size(), [&](size_t item, int worker) {
    static_assert(kChunkElements <= kChunkRows);
    SetReader reader(sets[order[item]], best_set_kernel(), options.cancel);
    for (;;) {
      const auto [tids, items] = senders.room(worker);
      const size_t rows = reader.next(tids);
      if (rows == 0) break;
      std::fill_n(items, rows, static_cast<uint32_t>(item));
      senders.add(worker, rows);
    }
  });
  senders.finish();
}

/// Several threads hand over parts of the list, so that devices count one while the others are made and copied.
void count_list(const OpenJob& job, const ListedPairs& pairs, ExecutionOptions options) {
  constexpr size_t kPairsATask = size_t{1} << 17;  // which fill a channel to another process
  if (job.api().count_list == nullptr) throw DeviceFailure{AcceleratorStatus::kDeclined, "the module counts no lists"};
  options.threads = std::min(options.threads, kMaxSenders);
  std::vector<Buffer<uint32_t>> rooms(static_cast<size_t>(options.threads));
  const size_t side = std::min(kPairsATask, pairs.size);
  parallel_for(options, (pairs.size + kPairsATask - 1) / kPairsATask, [&](size_t task, int worker) {
    Buffer<uint32_t>& room = rooms[static_cast<size_t>(worker)];
    if (room.empty()) room = Buffer<uint32_t>(*options.memory, 3 * side);
    uint32_t* const a = room.data();
    uint32_t* const b = a + side;
    uint32_t* const counts = b + side;
    const size_t first = task * kPairsATask;
    const size_t last = std::min(first + kPairsATask, pairs.size);
    const size_t size = pairs.fill(first, last, a, b);
    if (size == 0) return;
    AcceleratorMessage why{};
    expect_done(job.api().count_list(job.pairs(), a, b, size, counts, &why), why);
    pairs.take(first, last, counts);
  });
}

/// Several threads send the planes, each the next few megabytes.
void send_sets(const AcceleratorApi& api, DevicePairs* pairs, const SetCollection& sets, std::span<const uint32_t> order,
               ExecutionOptions options) {
  constexpr uint64_t kBytesATask = uint64_t{4} << 20;
  options.threads = std::min(options.threads, kMaxSenders);
  std::vector<uint64_t> cardinality;
  std::vector<uint64_t> begin{0};  // of the planes of a set, among all of them
  std::vector<uint32_t> stash_begin{0};
  std::vector<uint64_t> stash;
  for (const uint32_t set : order) {
    const SetView& view = sets[set];
    cardinality.push_back(view.cardinality());
    begin.push_back(begin.back() + batmap_shape(view.cardinality(), view.width()).bytes());
    for (uint64_t i = 0; i < view.stash(); ++i) stash.push_back(view.stash_element(i));
    stash_begin.push_back(static_cast<uint32_t>(stash.size()));
  }
  const DeviceSets given{.sets = static_cast<uint32_t>(order.size()),
                         .width = static_cast<uint32_t>(sets[order[0]].width()),
                         .cardinality = cardinality.data(),
                         .stash_begin = stash_begin.data(),
                         .stash = stash.data()};
  AcceleratorMessage why{};
  expect_done(api.add_sets(pairs, &given, &why), why);
  parallel_for(options, (begin.back() + kBytesATask - 1) / kBytesATask, [&](size_t task, int) {
    const uint64_t first = task * kBytesATask;
    const uint64_t last = std::min(first + kBytesATask, begin.back());
    std::vector<PlanePiece> pieces;
    auto set = static_cast<size_t>(std::ranges::upper_bound(begin, first) - begin.begin() - 1);
    for (uint64_t at = first; at < last; ++set) {
      const uint64_t end = std::min(begin[set + 1], last);
      pieces.push_back({reinterpret_cast<const unsigned char*>(sets[order[set]].planes()) + (at - begin[set]), end - at});
      at = end;
    }
    AcceleratorMessage message{};
    expect_done(api.add_planes(pairs, first, pieces.data(), pieces.size(), &message), message);
  });
}

}  // namespace

std::unique_ptr<PairCounter> count_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                                              uint64_t memory_limit, const EncodedRelation& relation, const KeptItems& kept,
                                              const ExecutionOptions& options, uint64_t* instances) {
  DevicePairJob job{};
  job.items = kept.size;
  job.leading = kept.pairs.leading;
  job.first_column = kept.pairs.first_column;
  job.tid_slots = relation.tid_slots();
  job.rows = kept.occurrences;
  job.method = method;
  return std::make_unique<DeviceCounter>(
      offload.trusted(), devices, memory_limit, job, options,
      [&](const AcceleratorApi& api, DevicePairs* pairs) { send_rows(api, pairs, relation, kept, options, instances); });
}

std::unique_ptr<PairCounter> count_sets_on_devices(Offload& offload, std::span<const DeviceTraits> devices,
                                                   uint64_t memory_limit, const SetCollection& sets,
                                                   std::span<const uint32_t> order, const ExecutionOptions& options) {
  DevicePairJob job{};
  job.items = job.leading = static_cast<uint32_t>(order.size());
  job.method = DeviceMethod::kBatmap;
  return std::make_unique<DeviceCounter>(
      offload.trusted(), devices, memory_limit, job, options,
      [&](const AcceleratorApi& api, DevicePairs* pairs) { send_sets(api, pairs, sets, order, options); });
}

void count_list_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                           uint64_t memory_limit, const Tidlists& lists, uint32_t tid_slots, const ListedPairs& pairs,
                           const ExecutionOptions& options) {
  DevicePairJob job{};
  job.items = job.leading = static_cast<uint32_t>(lists.length.size());
  job.tid_slots = tid_slots;
  for (const uint32_t length : lists.length) job.rows += length;
  job.counts_all = pairs.counts_all ? 1 : 0;
  job.method = method;
  const OpenJob open(offload.trusted(), devices, memory_limit, job, options,
                     [&](const AcceleratorApi& api, DevicePairs* to) { send_lists(api, to, lists, job.rows, options); });
  count_list(open, pairs, options);
}

void count_listed_sets_on_devices(Offload& offload, std::span<const DeviceTraits> devices, uint64_t memory_limit,
                                  const SetCollection& sets, std::span<const uint32_t> order, const ListedPairs& pairs,
                                  const ExecutionOptions& options) {
  DevicePairJob job{};
  job.items = job.leading = static_cast<uint32_t>(order.size());
  job.counts_all = pairs.counts_all ? 1 : 0;
  job.method = DeviceMethod::kBatmap;
  const OpenJob open(offload.trusted(), devices, memory_limit, job, options,
                     [&](const AcceleratorApi& api, DevicePairs* to) { send_sets(api, to, sets, order, options); });
  count_list(open, pairs, options);
}

void count_listed_elements_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                                      uint64_t memory_limit, const SetCollection& sets, std::span<const uint32_t> order,
                                      int width, const ListedPairs& pairs, const ExecutionOptions& options) {
  DevicePairJob job{};
  job.items = job.leading = static_cast<uint32_t>(order.size());
  job.tid_slots = uint32_t{1} << width;
  for (const uint32_t set : order) job.rows += sets[set].cardinality();
  job.counts_all = pairs.counts_all ? 1 : 0;
  job.method = method;
  const OpenJob open(
      offload.trusted(), devices, memory_limit, job, options,
      [&](const AcceleratorApi& api, DevicePairs* to) { send_elements(api, to, sets, order, job.rows, options); });
  count_list(open, pairs, options);
}

int threads_for_devices(size_t devices) { return static_cast<int>(2 * devices); }

}  // namespace batmap
