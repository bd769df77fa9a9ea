// Sends rows to devices and receives pairs. See device_counter.h.
#include "pairs/counters/device_counter.h"

#include <algorithm>
#include <exception>

#include "core/thread_team.h"

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

class DeviceCounter final : public PairCounter {
 public:
  /// @param job   items, pairs and method; the constructor fills in the rest
  /// @param send  send(api, pairs) sends the rows or sets
  template <typename Send>
  DeviceCounter(const AcceleratorApi& api, std::span<const DeviceTraits> devices, uint64_t memory_limit, DevicePairJob job,
                const ExecutionOptions& options, Send send)
      : api_(api), supports_(*options.memory, job.items) {
    for (const DeviceTraits& device : devices) job.devices[job.device_count++] = device.index;
    job.memory_limit = memory_limit;
    job.stop = [](void* token) { return static_cast<const CancelToken*>(token)->requested(); };
    job.stop_arg = const_cast<CancelToken*>(&options.cancel);
    cut_tasks({.leading = job.leading, .first_column = job.first_column}, job.items, devices.size());
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
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;
  ~DeviceCounter() override { api_.close_pairs(pairs_); }

  size_t tasks() const override { return task_begin_.size() - 1; }
  uint64_t max_results() const override { return max_results_; }
  size_t tasks_ahead() const override { return 1; }
  std::span<const uint32_t> supports() const override { return supports_.span(); }

  void count(size_t task, int, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    Room room{out, nullptr};
    const DevicePairSink sink{Room::give, &room};
    AcceleratorMessage why{};
    const AcceleratorStatus status =
        api_.count_rows(pairs_, task_begin_[task], task_begin_[task + 1], threshold, &sink, &why);
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

  const AcceleratorApi& api_;
  Buffer<uint32_t> supports_;
  DevicePairs* pairs_ = nullptr;
  std::vector<uint32_t> task_begin_;
  uint64_t max_results_ = 0;
};

void send_rows(const AcceleratorApi& api, DevicePairs* pairs, const EncodedRelation& relation, const KeptItems& kept,
               const ExecutionOptions& options) {
  parallel_for(options, relation.blocks(), [&](size_t block, int) {
    uint32_t tids[kChunkRows];
    uint32_t items[kChunkRows];
    const uint32_t rows = relation.decode(block, tids, items);
    uint32_t sent = 0;
    for (uint32_t k = 0; k < rows; ++k) {
      const Rank rank = kept.rank(ItemCode{items[k]});
      tids[sent] = tids[k];
      items[sent] = index_of(rank);
      sent += rank != KeptItems::kDropped;
    }
    AcceleratorMessage why{};
    expect_done(api.add_rows(pairs, tids, items, sent, &why), why);
  });
}

void send_sets(const AcceleratorApi& api, DevicePairs* pairs, const SetCollection& sets, std::span<const uint32_t> order) {
  std::vector<uint64_t> cardinality;
  std::vector<const unsigned char*> planes;
  std::vector<uint32_t> stash_begin{0};
  std::vector<uint64_t> stash;
  for (const uint32_t set : order) {
    const SetView& view = sets[set];
    cardinality.push_back(view.cardinality());
    planes.push_back(reinterpret_cast<const unsigned char*>(view.planes()));
    for (uint64_t i = 0; i < view.stash(); ++i) stash.push_back(view.stash_element(i));
    stash_begin.push_back(static_cast<uint32_t>(stash.size()));
  }
  const DeviceSets given{.sets = static_cast<uint32_t>(order.size()),
                         .width = static_cast<uint32_t>(sets[order[0]].width()),
                         .cardinality = cardinality.data(),
                         .planes = planes.data(),
                         .stash_begin = stash_begin.data(),
                         .stash = stash.data()};
  AcceleratorMessage why{};
  expect_done(api.add_sets(pairs, &given, &why), why);
}

}  // namespace

std::unique_ptr<PairCounter> count_on_devices(Offload& offload, std::span<const DeviceTraits> devices, DeviceMethod method,
                                              uint64_t memory_limit, const EncodedRelation& relation, const KeptItems& kept,
                                              const ExecutionOptions& options) {
  DevicePairJob job{};
  job.items = kept.size;
  job.leading = kept.pairs.leading;
  job.first_column = kept.pairs.first_column;
  job.tid_slots = relation.tid_slots();
  job.rows = kept.occurrences;
  job.method = method;
  return std::make_unique<DeviceCounter>(
      offload.trusted(), devices, memory_limit, job, options,
      [&](const AcceleratorApi& api, DevicePairs* pairs) { send_rows(api, pairs, relation, kept, options); });
}

std::unique_ptr<PairCounter> count_sets_on_devices(Offload& offload, std::span<const DeviceTraits> devices,
                                                   uint64_t memory_limit, const SetCollection& sets,
                                                   std::span<const uint32_t> order, const ExecutionOptions& options) {
  DevicePairJob job{};
  job.items = job.leading = static_cast<uint32_t>(order.size());
  job.method = DeviceMethod::kBatmap;
  return std::make_unique<DeviceCounter>(
      offload.trusted(), devices, memory_limit, job, options,
      [&](const AcceleratorApi& api, DevicePairs* pairs) { send_sets(api, pairs, sets, order); });
}

int threads_for_devices(size_t devices) { return static_cast<int>(2 * devices); }

}  // namespace batmap
