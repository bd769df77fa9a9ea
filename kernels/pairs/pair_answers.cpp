// Counts, selects and hands over. See pair_answers.h.
#include "pairs/pair_answers.h"

#include <algorithm>
#include <utility>

namespace batmap {

namespace {

constexpr size_t kPollScores = 256;  // scores between two polls of the token; some measures take a tenth of a millisecond

}  // namespace

PairAnswers::PairAnswers(std::unique_ptr<PairCounter> counter, Buffer<int64_t> values, const PairSelection& selection,
                         const ExecutionOptions& options, NextBlock next)
    : counter_(std::move(counter)),
      next_block_(std::move(next)),
      supports_(counter_->supports()),
      wide_supports_(counter_->wide_supports()),
      values_(std::move(values)),
      selection_(selection),
      options_(options),
      limit_(selection.max_results),
      min_count_(selection.min_count) {
  MemoryMeter& meter = *options_.memory;
  if (selection_.per_item_top_k) {
    const auto k = static_cast<uint32_t>(std::min<int64_t>(*selection_.per_item_top_k, UINT32_MAX));
    best_per_item_.emplace(meter, k, values_.data(), static_cast<uint32_t>(values_.size()));
  }
  if (selection_.top_k) best_.emplace(meter, static_cast<uint64_t>(*selection_.top_k), selection_.ranking);
}

/// Writes field by field to the final place: building the row elsewhere and copying it takes three times as long.
void PairAnswers::put_row(const PairCount& pair, PairRow& out) const {
  // No branches: which item is smaller is unpredictable.
  const int64_t value_a = values_[pair.a];
  const int64_t value_b = values_[pair.b];
  const uint32_t first = value_b < value_a ? pair.b : pair.a;
  out.item_a = std::min(value_a, value_b);
  out.item_b = std::max(value_a, value_b);
  out.support = pair.count;
  out.support_a = support(first);
  out.support_b = support(pair.a ^ pair.b ^ first);
}

PairRow PairAnswers::row(uint32_t a, uint32_t b, uint64_t count) const {
  PairRow row;
  put_row({a, b, count}, row);
  return row;
}

bool PairAnswers::next(std::vector<PairRow>& batch) {
  if (done_) {
    batch.clear();
    return false;
  }
  if (!tasks_ && counter_) start_tasks();
  if (selected_)
    next_selected(batch);
  else if (best_ || best_per_item_)
    select(batch);
  else if (selection_.diagonal && diagonal_ < values_.size())
    next_diagonal(batch);
  else
    next_counted(batch);
  batch.resize(limit_.take(batch.size()));
  done_ |= limit_.is_cut_off();
  return !done_ || !batch.empty();
}

uint64_t PairAnswers::max_bytes(uint64_t pairs) const {
  const auto threads = static_cast<uint64_t>(options_.threads);
  // Results that wait, one that is handed over, and spare ones; each with the buffer that it grew out of.
  const uint64_t results = std::min<uint64_t>(threads * counter_->tasks_ahead(), counter_->tasks()) + 2;
  const double task = static_cast<double>(std::min(counter_->max_results(), pairs)) + 64;
  const double best = static_cast<double>(std::min<uint64_t>(selection_.top_k.value_or(0), pairs));
  const double bytes = 3 * (static_cast<double>(results) * task * sizeof(PairCount) + best * sizeof(PairRow));
  return bytes < 0x1p62 ? static_cast<uint64_t>(bytes) : UINT64_MAX / 2;
}

void PairAnswers::start_tasks() {
  tasks_begun_ += counter_->tasks();
  tasks_.emplace(options_, counter_->tasks(), static_cast<size_t>(options_.threads) * counter_->tasks_ahead(),
                 [this](size_t task, int worker) { return count(task, worker); });
}

std::optional<GrowingBuffer<PairCount>> PairAnswers::next_task() {
  for (;;) {
    std::optional<GrowingBuffer<PairCount>> found = tasks_->next();
    tasks_done_ += found.has_value();
    if (found || !next_block_) return found;
    tasks_.reset();
    counter_.reset();  // frees memory for the next counter
    counter_ = next_block_();
    if (!counter_) return std::nullopt;
    start_tasks();
  }
}

GrowingBuffer<PairCount> PairAnswers::count(size_t task, int worker) {
  GrowingBuffer<PairCount> found(*options_.memory);
  {
    std::lock_guard lock(spare_mutex_);
    if (!spare_.empty()) {
      found = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  const uint64_t min_count = min_count_.load(std::memory_order_relaxed);
  counter_->count(task, worker, static_cast<uint32_t>(std::min<uint64_t>(min_count, UINT32_MAX)), found);
  if (selection_.min_jaccard > 0) {
    PairCount* const end = std::remove_if(found.begin(), found.end(), [this](const PairCount& pair) {
      return pair_jaccard(row(pair.a, pair.b, pair.count)) < selection_.min_jaccard;
    });
    found.shrink(static_cast<size_t>(end - found.begin()));
  }
  return found;
}

void PairAnswers::recycle(GrowingBuffer<PairCount> found) {
  found.shrink(0);
  std::lock_guard lock(spare_mutex_);
  spare_.push_back(std::move(found));
}

void PairAnswers::next_counted(std::vector<PairRow>& batch) {
  if (!counted_ || handed_over_ == counted_->size()) {
    if (counted_) recycle(std::move(*counted_));
    counted_ = next_task();
    handed_over_ = 0;
    done_ = !counted_;
    if (done_) return batch.clear();
  }
  const size_t count = std::min(kBatchRows, counted_->size() - handed_over_);
  batch.resize(count);  // mostly keeps the rows of the batch before, which costs nothing
  const PairCount* const pairs = counted_->begin() + handed_over_;
  for (size_t k = 0; k < count; ++k) put_row(pairs[k], batch[k]);
  handed_over_ += count;
}

void PairAnswers::next_selected(std::vector<PairRow>& batch) {
  const size_t count = std::min(kBatchRows, selected_->size() - handed_over_);
  batch.assign(selected_->begin() + handed_over_, selected_->begin() + handed_over_ + count);
  handed_over_ += count;
  done_ = handed_over_ == selected_->size();
}

void PairAnswers::next_diagonal(std::vector<PairRow>& batch) {
  const auto items = static_cast<uint32_t>(values_.size());
  batch.clear();
  for (; diagonal_ < items && batch.size() < kBatchRows; ++diagonal_)
    if (support(diagonal_) >= min_count_) batch.push_back(row(diagonal_, diagonal_, support(diagonal_)));
}

void PairAnswers::offer_diagonal() {
  for (uint32_t item = 0; item < values_.size(); ++item) {
    if (item % kPollScores == 0) options_.cancel.throw_if_requested();
    if (support(item) >= min_count_) best_->offer(row(item, item, support(item)));
  }
}

void PairAnswers::select(std::vector<PairRow>& batch) {
  batch.clear();
  std::optional<GrowingBuffer<PairCount>> found = next_task();
  if (!found) {
    finish_selection();
    return;
  }
  size_t offered = 0;
  for (const PairCount& pair : found->span()) {
    if (offered++ % kPollScores == 0) options_.cancel.throw_if_requested();
    if (best_per_item_)
      best_per_item_->offer(pair.a, pair.b, pair.count, selection_.ranking.score(row(pair.a, pair.b, pair.count)));
    else if (pair.count >= min_count_)
      best_->offer(row(pair.a, pair.b, pair.count));
  }
  recycle(std::move(*found));
  if (!best_per_item_ && best_->threshold() > min_count_) min_count_ = best_->threshold();
}

/// Counts again, since the support of the k-th pair is known now.
void PairAnswers::count_ties() {
  min_count_ = std::max<uint64_t>(min_count_, best_->threshold());
  best_.reset();
  tasks_.reset();
  start_tasks();
}

void PairAnswers::finish_selection() {
  if (selection_.diagonal) offer_diagonal();
  if (selection_.ties) {
    count_ties();
    return;
  }
  GrowingBuffer<PairRow> all(*options_.memory);
  if (best_per_item_) {
    const GrowingBuffer<BestPairsPerItem::Kept> kept = best_per_item_->take(options_.cancel);
    size_t offered = 0;
    for (const BestPairsPerItem::Kept& pair : kept.span()) {
      if (offered++ % kPollScores == 0) options_.cancel.throw_if_requested();
      const PairRow answer = row(pair.a, pair.b, pair.support);
      best_ ? best_->offer(answer) : all.push_back(answer);
    }
  }
  selected_.emplace(best_ ? best_->take(options_.cancel) : std::move(all));
}

}  // namespace batmap
