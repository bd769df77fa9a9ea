// A counter that reads stored counts. See pair_counts_run.h.
#include "pairs/counts/pair_counts_run.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/stopwatch.h"
#include "pairs/counts/pair_counts.h"

namespace batmap {

namespace {

constexpr size_t kTaskBytes = size_t{256} << 10;  // about a millisecond of reading

enum ItemUse : uint8_t { kDropped, kKept, kLeading };  // leading: a pair needs at least one such item

/// What a question wants of the items.
class ChoosingCounter : public PairCounter {
 public:
  std::span<const uint32_t> supports() const override { return {}; }
  std::span<const uint64_t> wide_supports() const override { return supports_.span(); }

  uint64_t kept() const { return kept_; }
  uint64_t occurrences() const { return occurrences_; }
  Buffer<int64_t> take_values() { return std::move(values_); }
  bool is_leading(uint32_t index) const { return use_[index] == kLeading; }

 protected:
  ChoosingCounter(size_t items, const PairQuery& query, uint64_t threshold, const ExecutionOptions& options)
      : options_(options),
        threshold_(threshold),
        values_(*options.memory, items),
        supports_(*options.memory, items),
        use_(*options.memory, items),
        includes_all_(!query.include) {
    if (query.include) included_ = Values(query.include->begin(), query.include->end());
    if (query.exclude) excluded_ = Values(query.exclude->begin(), query.exclude->end());
  }

  /// @return whether the item can be in an answer
  bool choose(uint32_t index, int64_t item, uint64_t support) {
    if ((index & 0xffff) == 0) options_.cancel.throw_if_requested();
    values_[index] = item;
    supports_[index] = support;
    use_[index] = support < threshold_ || excluded_.contains(item) ? kDropped
                  : includes_all_ || included_.contains(item)      ? kLeading
                                                                   : kKept;
    if (use_[index] == kDropped) return false;
    ++kept_;
    occurrences_ += support;
    return true;
  }

  bool is_dropped(uint32_t index) const { return use_[index] == kDropped; }
  bool wants(uint32_t a, uint32_t b) const {
    return use_[a] != kDropped && use_[b] != kDropped && std::max(use_[a], use_[b]) == kLeading;
  }
  bool wants_all() const { return includes_all_ && excluded_.empty(); }

  const ExecutionOptions& options_;
  uint64_t threshold_;
  Buffer<int64_t> values_;  // by index, as all below; empty once taken
  Buffer<uint64_t> supports_;
  Buffer<uint8_t> use_;

 private:
  using Values = std::unordered_set<int64_t>;

  bool includes_all_;
  Values included_;
  Values excluded_;
  uint64_t kept_ = 0;
  uint64_t occurrences_ = 0;
};

/// Items by index, and the rows of the kept ones.
class StoredCounter final : public ChoosingCounter {
 public:
  StoredCounter(const std::byte* counts, const PairQuery& query, uint64_t threshold, const ExecutionOptions& options)
      : ChoosingCounter(pair_counts_header(counts).items, query, threshold, options),
        rows_(*options.memory, values_.size()) {
    size_t work = 0;
    task_begin_.push_back(0);
    for (PairCountsItems items(counts); items.next();) {
      const uint32_t index = items.index();
      rows_[index] = items.row_bytes();
      if (!choose(index, items.item(), items.support())) continue;
      if ((work += items.row_bytes().size() + 16) < kTaskBytes) continue;
      task_begin_.push_back(index + 1);
      work = 0;
    }
    if (task_begin_.back() < values_.size()) task_begin_.push_back(static_cast<uint32_t>(values_.size()));
  }

  size_t tasks() const override { return task_begin_.size() - 1; }

  void count(size_t task, int, uint32_t asked, GrowingBuffer<PairCount>& out) override {
    const uint64_t threshold = std::max<uint64_t>(asked, threshold_);
    uint32_t calls = 0;
    for (uint32_t a = task_begin_[task]; a < task_begin_[task + 1]; ++a) {
      if (is_dropped(a)) continue;
      for (PairCountsRow row(a, rows_[a]); row.next();) {
        if ((++calls & 0xffff) == 0) options_.cancel.throw_if_requested();
        if (row.count() >= threshold && wants(a, row.index())) out.push_back({a, row.index(), row.count()});
      }
    }
  }

 private:
  Buffer<std::span<const std::byte>> rows_;
  std::vector<uint32_t> task_begin_;
};

/// Chunks, and what has changed since. A task is a chunk.
class KeptCounter final : public ChoosingCounter {
 public:
  KeptCounter(const KeptCounts& counts, std::span<const StoredChunk> chunks, const PairQuery& query, uint64_t threshold,
              const ExecutionOptions& options)
      : ChoosingCounter(counts.numbers().size(), query, threshold, options), counts_(counts), chunks_(chunks) {
    for (uint32_t index = 0; index < values_.size(); ++index)
      choose(index, counts.numbers()[index], static_cast<uint64_t>(counts.supports()[index]));
  }

  size_t tasks() const override { return std::max<size_t>(chunks_.size(), 1); }

  void count(size_t task, int, uint32_t asked, GrowingBuffer<PairCount>& out) override {
    const size_t begin = out.size();
    counts_.read_chunk(chunks_, task, std::max<uint64_t>(asked, threshold_), out);
    if (wants_all()) return;
    size_t kept = begin;
    for (size_t k = begin; k < out.size(); ++k)
      if (wants(out[k].a, out[k].b)) out[kept++] = out[k];
    out.shrink(kept);
  }

 private:
  const KeptCounts& counts_;
  std::span<const StoredChunk> chunks_;
};

}  // namespace

/// @param make  makes the counter at a threshold
template <typename Make>
void PairCountsRun::start(uint64_t total, bool is_joined, const PairQuery& query, Make make) {
  query.check();
  const Stopwatch watch;
  record_.method = "stored";
  record_.reason = "counts are read, not counted";
  record_.transactions = total;
  const uint64_t min_count = query.min_count_among(total);
  if (min_count > total) return;
  auto counter = make(min_count);
  record_.items_kept = counter->kept();
  if (!is_joined) record_.occurrences = counter->occurrences();
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
                                             .total = static_cast<double>(total)},
                                 .ties = query.ties,
                                 .supports = query.supports,
                                 .order = is_joined ? PairOrder::kByRank : PairOrder::kByValue},
                   options_);
  record_.group_ms = watch.milliseconds();
}

PairCountsRun::PairCountsRun(const std::byte* counts, const PairQuery& query, const ExecutionOptions& options)
    : options_(options) {
  const PairCountsHeader header = pair_counts_header(counts);
  record_.items = header.items;
  start(header.total, header.is_joined(), query,
        [&](uint64_t min_count) { return std::make_unique<StoredCounter>(counts, query, min_count, options_); });
}

PairCountsRun::PairCountsRun(const KeptCounts& counts, std::span<const StoredChunk> chunks, const PairQuery& query,
                             const ExecutionOptions& options)
    : options_(options) {
  for (const int64_t support : counts.supports()) record_.items += support > 0;
  start(counts.total(), false, query,
        [&](uint64_t min_count) { return std::make_unique<KeptCounter>(counts, chunks, query, min_count, options_); });
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
