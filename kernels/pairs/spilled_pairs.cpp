// The two passes over the partitions. See spilled_pairs.h.
#include "pairs/spilled_pairs.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/thread_team.h"
#include "relation/repeated_rows.h"

namespace batmap {

namespace {

constexpr uint64_t kMostTaskPairs = 1 << 18;
constexpr uint64_t kLeastTaskPairs = 1 << 12;
constexpr uint64_t kTaskPairBytes = 40;  // of a pair that a task has found, and of its answer
// The results of tasks that wait to be handed over may take 1 / 8 of the work memory.
constexpr uint64_t kTasksShare = 8;
// The work memory is an aim: a form that fits into it, but is counted so many times more slowly, is not taken.
constexpr double kSlower = 3;

uint64_t task_pairs(const ExecutionOptions& options, size_t tasks_ahead) {
  const uint64_t results = static_cast<uint64_t>(options.threads) * (tasks_ahead + 1) + 2;
  return std::clamp(options.work_bytes / kTasksShare / results / kTaskPairBytes, kLeastTaskPairs, kMostTaskPairs);
}

}  // namespace

/// The counters of all wanted pairs. Count is uint64_t if rows are counted.
template <typename Count>
class SpilledPairs::Counters final : public PairCounter {
 public:
  Counters(uint32_t rows, const Layout& layout, uint64_t min_count, std::span<const Count> supports, Buffer<Count> counts,
           const ExecutionOptions& options)
      : layout_(layout), min_count_(min_count), supports_(supports), counts_(std::move(counts)) {
    const uint64_t most = task_pairs(options, tasks_ahead());
    uint64_t pairs = 0;
    task_begin_.push_back(0);
    for (uint32_t row = 0; row < rows; ++row) {
      pairs += layout.columns(row);
      if (pairs < most && row + 1 < rows) continue;
      task_begin_.push_back(row + 1);
      pairs = 0;
    }
  }

  size_t tasks() const override { return task_begin_.size() - 1; }
  std::span<const uint32_t> supports() const override {
    if constexpr (std::is_same_v<Count, uint32_t>) return supports_;
    return {};
  }
  std::span<const uint64_t> wide_supports() const override {
    if constexpr (std::is_same_v<Count, uint64_t>) return supports_;
    return {};
  }

  void count(size_t task, int, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    const uint64_t min_count = std::max<uint64_t>(threshold, min_count_);
    for (uint32_t a = task_begin_[task]; a < task_begin_[task + 1]; ++a) {
      const Count* row = counts_.data() + layout_.pairs_before(a);
      PairCount* const at = out.room(layout_.columns(a));
      size_t found = 0;
      for (uint32_t b = layout_.first_after(a); b < layout_.items; ++b, ++row) {
        at[found] = {a, b, *row};
        found += *row >= min_count;
      }
      out.add(found);
    }
  }

 private:
  Layout layout_;
  uint64_t min_count_;
  std::span<const Count> supports_;
  Buffer<Count> counts_;
  std::vector<uint32_t> task_begin_;
};

SpilledPairs::SpilledPairs(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ExecutionOptions& options)
    : options_(options), item_rank_(item_rank), parts_(rows, item_rank, options) {}

bool SpilledPairs::has_repeated_rows() const {
  for (size_t group = 0; group < parts_.size(); ++group) {
    const LoadedRows loaded(parts_[group], options_);
    if (batmap::has_repeated_rows(EncodedRelation(loaded.chunks(), item_rank_, options_), options_)) return true;
  }
  return false;
}

void SpilledPairs::keep(const ItemFilter& filter, std::optional<PairMethod> method, const PairKernels& kernels,
                        std::optional<uint64_t> min_weight) {
  kept_ = keep_items(parts_.totals(), filter, options_);
  method_ = method;
  kernels_ = kernels;
  min_weight_ = min_weight;
  if (weighted())
    wide_supports_ = Buffer<uint64_t>(*options_.memory, kept_.size, Fill::kZero);
  else
    supports_ = Buffer<uint32_t>(*options_.memory, kept_.size, Fill::kZero);
}

std::unique_ptr<PairCounter> SpilledPairs::next_block() {
  return weighted() ? next_block_in(wide_supports_) : next_block_in(supports_);
}

template <typename Count>
std::unique_ptr<PairCounter> SpilledPairs::next_block_in(Buffer<Count>& supports) {
  const uint64_t max_bytes = options_.work_bytes / kCountersShare;
  const uint64_t min_count = min_weight_.value_or(1);
  const uint64_t pairs = layout().pairs_before(kept_.pairs.leading);
  if (pairs <= max_bytes / sizeof(Count)) {
    if (std::exchange(counted_, true)) return nullptr;
    Buffer<Count> counts(*options_.memory, pairs, Fill::kZero);
    for (size_t group = 0; group < parts_.size(); ++group) add_group(group, counts.data(), supports.data());
    return std::make_unique<Counters<Count>>(kept_.pairs.leading, layout(), min_count, supports.span(), std::move(counts),
                                             options_);
  }
  if (!std::exchange(counted_, true)) {
    runs_.emplace(kept_.size, kept_.pairs, options_);
    for (size_t group = 0; group < parts_.size(); ++group) append_group(group, supports.data());
  }
  return runs_->next_block<Count>(supports.span(), min_count, max_bytes);
}

std::unique_ptr<PairCounter> SpilledPairs::counter_of(const EncodedRelation& relation, const KeptItems& own,
                                                      const TransactionLengths& lengths) {
  PairMethod method = PairMethod::kHorizontal;
  if (!weighted()) {
    PairJob job = describe_job(relation, own, lengths.pair_instances, kernels_, options_);
    const PairMethod fastest = method_ ? *method_ : choose_with_patience(job, options_).method;
    const uint64_t rest = options_.work_bytes - std::min<uint64_t>(options_.memory->current(), options_.work_bytes);
    job.memory_bytes = std::min<uint64_t>(options_.memory->available(), rest);
    const PairChoice choice = choose_pair_method(job);
    const auto milliseconds = [&](PairMethod one) { return choice.estimates[static_cast<size_t>(one)].milliseconds; };
    method = method_.value_or(milliseconds(choice.method) > kSlower * milliseconds(fastest) ? fastest : choice.method);
  }
  if (std::ranges::find(methods_, method) == methods_.end()) methods_.push_back(method);
  return weighted() ? count_weighted(relation, own, lengths, 1, options_)
                    : build_counter(relation, own, lengths, method, kernels_, options_);
}

template <typename Count>
SpilledPairs::GroupCounter SpilledPairs::counter_of_group(size_t group, Count* supports) {
  GroupCounter result;
  Buffer<Rank>& global_rank = result.global_rank;
  std::optional<LoadedRows> loaded(std::in_place, parts_[group], options_);
  std::optional<EncodedRelation> relation(std::in_place, loaded->chunks(), item_rank_, options_);
  const KeptItems own = keep_items_of_partition(*relation, parts_.totals(), kept_, global_rank, options_);
  if (own.size == 0) return result;
  const TransactionLengths lengths = transaction_lengths(*relation, own, options_);
  result.counter = counter_of(*relation, own, lengths);
  relation.reset();
  loaded.reset();

  // A partition with rows only, or with columns only, looks like a triangle.
  if (own.pairs.rectangle() == kept_.pairs.rectangle()) pair_instances_ += lengths.pair_instances;
  for (uint32_t rank = 0; rank < own.size; ++rank)
    supports[index_of(global_rank[rank])] +=
        static_cast<Count>(weighted() ? result.counter->wide_supports()[rank] : uint64_t{result.counter->supports()[rank]});
  return result;
}

template <typename Count>
void SpilledPairs::add_group(size_t group, Count* counts, Count* supports) {
  const GroupCounter own = counter_of_group(group, supports);
  if (!own.counter) return;
  const Layout all = layout();
  std::vector<GrowingBuffer<PairCount>> found;
  for (int worker = 0; worker < options_.threads; ++worker) found.emplace_back(*options_.memory);
  parallel_for(options_, own.counter->tasks(), [&](size_t task, int worker) {
    GrowingBuffer<PairCount>& pairs = found[static_cast<size_t>(worker)];
    pairs.shrink(0);
    own.counter->count(task, worker, 1, pairs);
    for (const PairCount& pair : pairs.span()) {  // no two tasks have pairs of the same row
      const uint32_t a = index_of(own.global_rank[pair.a]);
      counts[all.pairs_before(a) + index_of(own.global_rank[pair.b]) - all.first_after(a)] += static_cast<Count>(pair.count);
    }
  });
}

template <typename Count>
void SpilledPairs::append_group(size_t group, Count* supports) {
  const GroupCounter own = counter_of_group(group, supports);
  if (!own.counter) return;
  std::vector<GrowingBuffer<PairCount>> found;
  for (int worker = 0; worker < options_.threads; ++worker) found.emplace_back(*options_.memory);
  const auto encode = [&](size_t task, int worker) {
    GrowingBuffer<PairCount>& pairs = found[static_cast<size_t>(worker)];
    pairs.shrink(0);
    own.counter->count(task, worker, 1, pairs);
    for (PairCount& pair : pairs) {
      pair.a = index_of(own.global_rank[pair.a]);
      pair.b = index_of(own.global_rank[pair.b]);
    }
    GrowingBuffer<std::byte> rows(*options_.memory);
    CountRuns::encode(pairs.span(), rows);
    return rows;
  };
  runs_->begin_run();
  OrderedTasks<GrowingBuffer<std::byte>> tasks(options_, own.counter->tasks(),
                                               own.counter->tasks_ahead() * static_cast<size_t>(options_.threads), encode);
  while (const std::optional<GrowingBuffer<std::byte>> rows = tasks.next()) runs_->append(rows->span());
}

}  // namespace batmap
