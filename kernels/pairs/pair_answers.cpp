// Counts, selects and hands over. See pair_answers.h.
#include "pairs/pair_answers.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/thread_team.h"

namespace batmap {

namespace {

/// With ties, 4 k + kMaxTies pairs may wait for the end of the count, as far as there is memory. Where they are more than that,
/// those with less support than the k-th go. If half of them stay, nearly all pairs may be ties: then none wait, and the pairs
/// are counted again when the support of the k-th is known.
constexpr uint64_t kMaxTies = 65536;

constexpr size_t kPollScores = 256;  // scores between two polls of the token; some measures take a tenth of a millisecond

}  // namespace

class PairAnswers::Work {
 public:
  Work(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
       const ExecutionOptions& options, NextBlock next);

  bool next(PairBatch& batch);
  uint64_t results() const { return limit_.taken(); }
  uint64_t tasks() const { return tasks_begun_; }
  uint64_t tasks_done() const { return tasks_done_; }
  const Truncation& truncation() const { return limit_.truncation(); }
  uint64_t max_bytes(uint64_t pairs) const;

 private:
  /// The result of a task: answers, or the counts from which a top-k form selects.
  struct Found {
    GrowingBuffer<PairCount> counts;
    PairList rows;
  };

  std::optional<Found> next_task();
  void start_tasks();
  void next_counted(PairBatch& batch);
  void next_selected(PairBatch& batch);
  void select();
  void finish_selection();
  void count_ties();
  void offer(const PairRow& row);
  void drop_ties();
  void offer_diagonal();
  void offer_partner(uint32_t item, uint32_t partner, uint64_t count);
  PairRow directed_row(uint32_t item, uint32_t partner, uint64_t count) const {
    return {values_[item], values_[partner], count, support(item), support(partner)};
  }
  void next_diagonal(PairBatch& batch);
  uint64_t support(uint32_t item) const { return wide_supports_.empty() ? supports_[item] : wide_supports_[item]; }
  Found count(size_t task, int worker);
  void count_pairs(size_t task, int worker, GrowingBuffer<PairCount>& counts);
  void recycle(Found found);
  void put_rows(std::span<const PairCount> pairs, PairList& out) const;
  void put_rows(const FoundPairs& pairs, PairList& out) const;
  void put_row(uint32_t a, uint32_t b, uint64_t count, const PairList::Room& to, size_t at) const;
  PairRow row(uint32_t a, uint32_t b, uint64_t count) const;

  std::unique_ptr<PairCounter> counter_;
  NextBlock next_block_;
  std::span<const uint32_t> supports_;  // by rank; one of the two is empty
  std::span<const uint64_t> wide_supports_;
  Buffer<int64_t> values_;
  PairSelection selection_;
  ExecutionOptions options_;
  AnswerLimit limit_;
  uint64_t tasks_begun_ = 0;
  uint64_t tasks_done_ = 0;
  bool done_ = false;
  bool selects_;                                // counts are offered to a top-k form; otherwise they become answers at once
  uint32_t diagonal_ = 0;                       // the next item for `diagonal`
  std::atomic<uint64_t> min_count_;             // rises while the k best are searched for
  std::optional<BestPairs> best_;               // with top_k, until selected_ is set
  std::optional<GrowingBuffer<PairRow>> ties_;  // with `ties`: what may be an answer; none: it became too much
  std::optional<BestPairsPerItem> best_per_item_;   // with per_item_top_k, until selected_ is set
  std::optional<GrowingBuffer<PairRow>> selected_;  // with a top-k form: all answers, in order
  std::optional<Found> counted_;                    // without: the results of the current task
  PairList some_;                                   // rows that are made for one batch
  size_t handed_over_ = 0;                          // position in selected_ or counted_
  std::vector<GrowingBuffer<PairCount>> counts_;    // [threads] of the current task, if it makes answers
  std::vector<FoundPairs> found_;                   // [threads] the same, if pairs are found without counts
  std::mutex spare_mutex_;
  std::vector<Found> spare_;  // emptied results of tasks, to be filled again
  // The counting threads, once started. The last member, so that it is destroyed first.
  std::optional<OrderedTasks<Found>> tasks_;
};

PairAnswers::Work::Work(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
                        const ExecutionOptions& options, NextBlock next)
    : counter_(std::move(counter)),
      next_block_(std::move(next)),
      supports_(counter_->supports()),
      wide_supports_(counter_->wide_supports()),
      values_(std::move(values)),
      selection_(selection),
      options_(options),
      limit_(selection.max_results),
      selects_(selection.top_k || selection.per_item_top_k),
      min_count_(selection.min_count),
      some_(*options_.memory, selection.supports) {
  MemoryMeter& meter = *options_.memory;
  if (selection_.per_item_top_k) {
    const auto k = static_cast<uint32_t>(std::min<int64_t>(*selection_.per_item_top_k, UINT32_MAX));
    best_per_item_.emplace(meter, k, values_.data(), static_cast<uint32_t>(values_.size()));
  }
  if (selection_.top_k) best_.emplace(meter, static_cast<uint64_t>(*selection_.top_k), selection_.ranking);
  if (selection_.top_k && selection_.ties) ties_.emplace(meter);
  for (int worker = 0; worker < options_.threads; ++worker) {
    counts_.emplace_back(meter);
    found_.emplace_back(meter);
  }
}

/// Writes an answer. Pairs come by rank of their first item, so what belongs to that item stays in registers.
inline void PairAnswers::Work::put_row(uint32_t a, uint32_t b, uint64_t count, const PairList::Room& to, size_t at) const {
  const int64_t value_a = values_[a];
  const int64_t value_b = values_[b];
  // No branches: which value is smaller is unpredictable.
  const bool keep =
      (selection_.order == PairOrder::kByRank) | ((selection_.order == PairOrder::kByValue) & (value_a <= value_b));
  to.pairs[at] = {keep ? value_a : value_b, keep ? value_b : value_a, count};
  if (to.supports == nullptr) return;
  const uint64_t support_a = support(a);
  const uint64_t support_b = support(b);
  to.supports[at] = {keep ? support_a : support_b, keep ? support_b : support_a};
}

void PairAnswers::Work::put_rows(std::span<const PairCount> pairs, PairList& out) const {
  const PairList::Room to = out.fill(pairs.size());
  const uint64_t threshold = min_count_.load(std::memory_order_relaxed);
  for (size_t k = 0; k < pairs.size(); ++k)
    put_row(pairs[k].a, pairs[k].b, selection_.distinct_only ? threshold : pairs[k].count, to, k);
}

void PairAnswers::Work::put_rows(const FoundPairs& pairs, PairList& out) const {
  const PairList::Room to = out.fill(pairs.columns.size());
  const uint64_t threshold = min_count_.load(std::memory_order_relaxed);
  const int64_t* const values = values_.data();
  const uint32_t* const columns = pairs.columns.begin();
  const bool turned = selection_.order == PairOrder::kTurned;
  const bool is_plain = selection_.order != PairOrder::kByValue && to.supports == nullptr;
  size_t k = 0;
  for (const FoundPairs::Row& row : pairs.rows) {
    const int64_t value_a = values[row.a];
    if (!is_plain)
      for (; k < row.end; ++k) put_row(row.a, columns[k], threshold, to, k);
    else if (turned)
      for (; k < row.end; ++k) to.pairs[k] = {values[columns[k]], value_a, threshold};
    else
      for (; k < row.end; ++k) to.pairs[k] = {value_a, values[columns[k]], threshold};
  }
}

PairRow PairAnswers::Work::row(uint32_t a, uint32_t b, uint64_t count) const {
  const bool keep =
      selection_.order == PairOrder::kByValue ? values_[a] <= values_[b] : selection_.order == PairOrder::kByRank;
  return keep ? directed_row(a, b, count) : directed_row(b, a, count);
}

bool PairAnswers::Work::next(PairBatch& batch) {
  batch = {};
  if (done_) return false;
  if (!tasks_ && counter_) start_tasks();
  if (selected_)
    next_selected(batch);
  else if (best_ || best_per_item_)
    select();
  else if (selection_.diagonal && diagonal_ < values_.size())
    next_diagonal(batch);
  else
    next_counted(batch);
  batch = batch.part(0, limit_.take(batch.size()));
  done_ |= limit_.is_cut_off();
  return !done_ || !batch.empty();
}

uint64_t PairAnswers::Work::max_bytes(uint64_t pairs) const {
  const auto threads = static_cast<uint64_t>(options_.threads);
  // Results that wait, one that is handed over, and spare ones. Counts may have grown out of a smaller buffer.
  const auto results = static_cast<double>(std::min<uint64_t>(threads * counter_->tasks_ahead(), counter_->tasks()) + 2);
  const double counts = 3 * sizeof(PairCount);
  const double task = static_cast<double>(std::min(counter_->max_results(), pairs)) + 64;
  const double best = static_cast<double>(std::min<uint64_t>(selection_.top_k.value_or(0), pairs));
  const double rows = selects_ ? results * counts
                               : results * static_cast<double>(PairList::bytes_of_row(selection_.supports)) +
                                     static_cast<double>(threads) * counts;
  const double bytes = task * rows + 3 * best * sizeof(PairRow);
  return bytes < 0x1p62 ? static_cast<uint64_t>(bytes) : UINT64_MAX / 2;
}

void PairAnswers::Work::start_tasks() {
  tasks_begun_ += counter_->tasks();
  tasks_.emplace(options_, counter_->tasks(), static_cast<size_t>(options_.threads) * counter_->tasks_ahead(),
                 [this](size_t task, int worker) { return count(task, worker); });
}

std::optional<PairAnswers::Work::Found> PairAnswers::Work::next_task() {
  for (;;) {
    std::optional<Found> found = tasks_->next();
    tasks_done_ += found.has_value();
    if (found || !next_block_) return found;
    tasks_.reset();
    counter_.reset();  // frees memory for the next counter
    counter_ = next_block_();
    if (!counter_) return std::nullopt;
    start_tasks();
  }
}

void PairAnswers::Work::count_pairs(size_t task, int worker, GrowingBuffer<PairCount>& counts) {
  const uint64_t min_count = min_count_.load(std::memory_order_relaxed);
  counter_->count(task, worker, static_cast<uint32_t>(std::min<uint64_t>(min_count, UINT32_MAX)), counts);
  if (selection_.min_jaccard <= 0) return;
  PairCount* const end = std::remove_if(counts.begin(), counts.end(), [this](const PairCount& pair) {
    return pair_jaccard(row(pair.a, pair.b, pair.count)) < selection_.min_jaccard;
  });
  counts.shrink(static_cast<size_t>(end - counts.begin()));
}

PairAnswers::Work::Found PairAnswers::Work::count(size_t task, int worker) {
  MemoryMeter& meter = *options_.memory;
  Found found{GrowingBuffer<PairCount>(meter), PairList(meter, selection_.supports)};
  {
    std::lock_guard lock(spare_mutex_);
    if (!spare_.empty()) {
      found = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (selects_) {
    count_pairs(task, worker, found.counts);
    return found;
  }
  FoundPairs& pairs = found_[static_cast<size_t>(worker)];
  pairs.clear();
  if (selection_.distinct_only && selection_.min_jaccard <= 0 && counter_->find(task, worker, pairs)) {
    put_rows(pairs, found.rows);
    return found;
  }
  GrowingBuffer<PairCount>& counts = counts_[static_cast<size_t>(worker)];
  counts.shrink(0);
  count_pairs(task, worker, counts);
  put_rows(counts.span(), found.rows);
  return found;
}

void PairAnswers::Work::recycle(Found found) {
  found.counts.shrink(0);
  found.rows.clear();
  std::lock_guard lock(spare_mutex_);
  spare_.push_back(std::move(found));
}

void PairAnswers::Work::next_counted(PairBatch& batch) {
  if (!counted_ || handed_over_ == counted_->rows.size()) {
    if (counted_) recycle(std::move(*counted_));
    counted_ = next_task();
    handed_over_ = 0;
    done_ = !counted_;
    if (done_) return;
  }
  const size_t count = std::min(kBatchRows, counted_->rows.size() - handed_over_);
  batch = counted_->rows.batch().part(handed_over_, count);
  handed_over_ += count;
}

void PairAnswers::Work::next_selected(PairBatch& batch) {
  const size_t count = std::min(kBatchRows, selected_->size() - handed_over_);
  some_.clear();
  for (size_t k = 0; k < count; ++k) some_.push_back((*selected_)[handed_over_ + k]);
  batch = some_.batch();
  handed_over_ += count;
  done_ = handed_over_ == selected_->size();
}

void PairAnswers::Work::next_diagonal(PairBatch& batch) {
  const auto items = static_cast<uint32_t>(values_.size());
  some_.clear();
  for (; diagonal_ < items && some_.size() < kBatchRows; ++diagonal_)
    if (support(diagonal_) >= min_count_) some_.push_back(row(diagonal_, diagonal_, support(diagonal_)));
  batch = some_.batch();
}

void PairAnswers::Work::offer(const PairRow& row) {
  best_->offer(row);
  if (!ties_ || row.support < best_->threshold()) return;
  const uint64_t most = 4 * static_cast<uint64_t>(*selection_.top_k) + kMaxTies;
  const bool is_full = ties_->size() == most;
  if (is_full) drop_ties();
  // The buffer doubles at powers of two. That may take a quarter of the memory that is left.
  const bool is_too_much =
      std::has_single_bit(ties_->size()) && 8 * ties_->size() * sizeof(PairRow) > options_.memory->available();
  if (is_too_much || (is_full && ties_->size() > most / 2))
    ties_.reset();
  else
    ties_->push_back(row);
}

/// Drops the pairs with less support than the k-th.
void PairAnswers::Work::drop_ties() {
  PairRow* const end = std::remove_if(ties_->begin(), ties_->end(),
                                      [least = best_->threshold()](const PairRow& row) { return row.support < least; });
  ties_->shrink(static_cast<size_t>(end - ties_->begin()));
}

void PairAnswers::Work::offer_diagonal() {
  for (uint32_t item = 0; item < values_.size(); ++item) {
    if (item % kPollScores == 0) options_.cancel.throw_if_requested();
    if (support(item) >= min_count_) offer(row(item, item, support(item)));
  }
}

void PairAnswers::Work::offer_partner(uint32_t item, uint32_t partner, uint64_t count) {
  if (selection_.has_partners(item))
    best_per_item_->offer_to(item, partner, count, selection_.ranking.score(directed_row(item, partner, count)));
}

void PairAnswers::Work::select() {
  std::optional<Found> found = next_task();
  if (!found) {
    finish_selection();
    return;
  }
  size_t offered = 0;
  for (const PairCount& pair : found->counts.span()) {
    if (offered++ % kPollScores == 0) options_.cancel.throw_if_requested();
    if (selection_.has_partners) {
      offer_partner(pair.a, pair.b, pair.count);
      offer_partner(pair.b, pair.a, pair.count);
    } else if (best_per_item_)
      best_per_item_->offer(pair.a, pair.b, pair.count, selection_.ranking.score(row(pair.a, pair.b, pair.count)));
    else if (pair.count >= min_count_)
      offer(row(pair.a, pair.b, pair.count));
  }
  recycle(std::move(*found));
  if (best_per_item_) return;
  if (best_->threshold() > min_count_) min_count_ = best_->threshold();
  if (best_->min_jaccard() > selection_.min_jaccard) counter_->raise_min_jaccard(best_->min_jaccard());
}

/// Counts again, since the support of the k-th pair is known now.
void PairAnswers::Work::count_ties() {
  min_count_ = std::max<uint64_t>(min_count_, best_->threshold());
  tasks_.reset();
  best_.reset();
  selects_ = false;
  start_tasks();
}

void PairAnswers::Work::finish_selection() {
  if (selection_.diagonal) offer_diagonal();
  if (selection_.ties) {
    if (!ties_) {
      count_ties();
      return;
    }
    drop_ties();
    best_.reset();
    selected_ = std::move(ties_);
    return;
  }
  GrowingBuffer<PairRow> all(*options_.memory);
  if (best_per_item_) {
    const bool directed = static_cast<bool>(selection_.has_partners);
    const GrowingBuffer<BestPairsPerItem::Kept> kept =
        directed ? best_per_item_->take_partners(options_.cancel) : best_per_item_->take(options_.cancel);
    size_t offered = 0;
    for (const BestPairsPerItem::Kept& pair : kept.span()) {
      if (offered++ % kPollScores == 0) options_.cancel.throw_if_requested();
      const PairRow answer = directed ? directed_row(pair.a, pair.b, pair.support) : row(pair.a, pair.b, pair.support);
      best_ ? best_->offer(answer) : all.push_back(answer);
    }
  }
  selected_.emplace(best_ ? best_->take(options_.cancel) : std::move(all));
}

PairAnswers::PairAnswers(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
                         const ExecutionOptions& options, NextBlock next)
    : work_(std::make_unique<Work>(std::move(counter), std::move(values), selection, options, std::move(next))) {}

PairAnswers::~PairAnswers() = default;

bool PairAnswers::next(PairBatch& batch) { return work_->next(batch); }
uint64_t PairAnswers::results() const { return work_->results(); }
uint64_t PairAnswers::tasks() const { return work_->tasks(); }
uint64_t PairAnswers::tasks_done() const { return work_->tasks_done(); }
const Truncation& PairAnswers::truncation() const { return work_->truncation(); }
uint64_t PairAnswers::max_bytes(uint64_t pairs) const { return work_->max_bytes(pairs); }

}  // namespace batmap
