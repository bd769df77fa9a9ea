// A counter that reads stored counts. See pair_counts_run.h.
#include "pairs/counts/pair_counts_run.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "core/stopwatch.h"
#include "pairs/counts/pair_counts.h"

namespace batmap {

namespace {

constexpr size_t kTaskBytes = size_t{256} << 10;  // about a millisecond of reading

enum ItemUse : uint8_t { kDropped, kKept, kLeading };  // leading: a pair needs at least one such item

/// Items by index, and the rows of the kept ones.
class StoredCounter final : public PairCounter {
 public:
  StoredCounter(const std::byte* counts, const PairQuery& query, uint64_t threshold, const ExecutionOptions& options)
      : options_(options),
        threshold_(threshold),
        values_(*options.memory, pair_counts_header(counts).items),
        supports_(*options.memory, values_.size()),
        use_(*options.memory, values_.size()),
        rows_(*options.memory, values_.size()) {
    using Values = std::unordered_set<int64_t>;
    const Values included = query.include ? Values(query.include->begin(), query.include->end()) : Values();
    const Values excluded = query.exclude ? Values(query.exclude->begin(), query.exclude->end()) : Values();
    size_t work = 0;
    task_begin_.push_back(0);
    for (PairCountsItems items(counts); items.next();) {
      const uint32_t index = items.index();
      if ((index & 0xffff) == 0) options.cancel.throw_if_requested();
      values_[index] = items.item();
      supports_[index] = items.support();
      rows_[index] = items.row_bytes();
      use_[index] = items.support() < threshold || excluded.contains(items.item()) ? kDropped
                    : !query.include || included.contains(items.item())            ? kLeading
                                                                                   : kKept;
      if (use_[index] == kDropped) continue;
      ++kept_;
      occurrences_ += items.support();
      if ((work += items.row_bytes().size() + 16) < kTaskBytes) continue;
      task_begin_.push_back(index + 1);
      work = 0;
    }
    if (task_begin_.back() < values_.size()) task_begin_.push_back(static_cast<uint32_t>(values_.size()));
  }

  uint64_t kept() const { return kept_; }
  uint64_t occurrences() const { return occurrences_; }
  Buffer<int64_t> take_values() { return std::move(values_); }
  bool is_leading(uint32_t index) const { return use_[index] == kLeading; }

  size_t tasks() const override { return task_begin_.size() - 1; }
  std::span<const uint32_t> supports() const override { return {}; }
  std::span<const uint64_t> wide_supports() const override { return supports_.span(); }

  void count(size_t task, int, uint32_t asked, GrowingBuffer<PairCount>& out) override {
    const uint64_t threshold = std::max<uint64_t>(asked, threshold_);
    uint32_t calls = 0;
    for (uint32_t a = task_begin_[task]; a < task_begin_[task + 1]; ++a) {
      if (use_[a] == kDropped) continue;
      for (PairCountsRow row(a, rows_[a]); row.next();) {
        if ((++calls & 0xffff) == 0) options_.cancel.throw_if_requested();
        const uint8_t use = use_[row.index()];
        if (row.count() >= threshold && use != kDropped && std::max(use, use_[a]) == kLeading)
          out.push_back({a, row.index(), row.count()});
      }
    }
  }

 private:
  const ExecutionOptions& options_;
  uint64_t threshold_;
  Buffer<int64_t> values_;  // by index, as all below; empty once taken
  Buffer<uint64_t> supports_;
  Buffer<uint8_t> use_;
  Buffer<std::span<const std::byte>> rows_;
  std::vector<uint32_t> task_begin_;
  uint64_t kept_ = 0;
  uint64_t occurrences_ = 0;
};

}  // namespace

PairCountsRun::PairCountsRun(const std::byte* counts, const PairQuery& query, const ExecutionOptions& options)
    : options_(options) {
  query.check();
  const Stopwatch watch;
  const PairCountsHeader header = pair_counts_header(counts);
  record_.method = "stored";
  record_.reason = "counts are read, not counted";
  record_.transactions = header.total;
  record_.items = header.items;
  const uint64_t min_count = query.min_count_among(header.total);
  if (min_count > header.total) return;
  auto counter = std::make_unique<StoredCounter>(counts, query, min_count, options_);
  record_.items_kept = counter->kept();
  if (!header.is_joined()) record_.occurrences = counter->occurrences();
  Buffer<int64_t> values = counter->take_values();
  std::function<bool(uint32_t)> has_partners;
  if (query.partners) has_partners = [items = counter.get()](uint32_t index) { return items->is_leading(index); };
  answers_.emplace(std::move(counter), std::move(values),
                   PairSelection{.min_count = min_count,
                                 .top_k = query.top_k,
                                 .per_item_top_k = query.per_item_top_k,
                                 .has_partners = std::move(has_partners),
                                 .max_results = query.max_results,
                                 .ranking = {.measure = query.measure.value_or(PairMeasure::kSupport),
                                             .total = static_cast<double>(header.total)},
                                 .ties = query.ties,
                                 .supports = query.supports,
                                 .order = header.is_joined() ? PairOrder::kByRank : PairOrder::kByValue},
                   options_);
  record_.group_ms = watch.milliseconds();
}

bool PairCountsRun::next(PairBatch& batch) {
  batch = {};
  if (!answers_) return false;
  const Stopwatch watch;
  const bool more = answers_->next(batch);
  record_.results = answers_->results();
  record_.tasks = answers_->tasks();
  record_.tasks_done = answers_->tasks_done();
  record_.truncation = answers_->truncation();
  record_.count_ms += watch.milliseconds();
  return more;
}

}  // namespace batmap
