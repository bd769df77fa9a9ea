// Splitting itemsets. See rules.h.
#include "itemsets/rules.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <unordered_set>

#include "core/parameters.h"
#include "itemsets/poll.h"

namespace batmap {

namespace {

constexpr uint64_t kBatchWork = 1 << 14;  // rules looked at in one batch

class StepSink final : public ItemsetSink {
 public:
  explicit StepSink(GrowingBuffer<ItemsetStep>& steps) : steps_(steps) {}
  void take(std::span<const ItemsetStep> steps) override {
    std::copy(steps.begin(), steps.end(), steps_.room(steps.size()));
    steps_.add(steps.size());
    if (steps_.size() >= UINT32_MAX)
      throw Error(ErrorCode::kTooLarge, "more than 4294967294 frequent itemsets to make rules of",
                  "Raise the threshold or give max_lhs.");
  }

 private:
  GrowingBuffer<ItemsetStep>& steps_;
};

}  // namespace

void check_rule_bounds(const std::optional<double>& min_confidence, const std::optional<double>& min_lift) {
  if (min_confidence && !(*min_confidence >= 0 && *min_confidence <= 1))
    throw Error(ErrorCode::kInvalidParameter, "min_confidence must be between 0 and 1, not " + plain_text(*min_confidence));
  if (min_lift && !(*min_lift >= 0))
    throw Error(ErrorCode::kInvalidParameter, "min_lift must be at least 0, not " + plain_text(*min_lift));
}

void RuleQuery::check() const {
  if (!itemsets.min_count && !itemsets.min_support)
    throw Error(ErrorCode::kInvalidParameter, "a threshold is missing", "Give min_count or min_support.");
  itemsets.check();
  check_rule_bounds(min_confidence, min_lift);
  require_at_least("max_lhs", max_lhs, 1);
  require_at_least("max_rhs", max_rhs, 1);
  require_at_least("top_k", top_k, 1);
  require_at_least("max_results", max_results, 1);
  if (timeout_ms && *timeout_ms < 1) throw Error(ErrorCode::kInvalidParameter, "timeout must be above 0");
}

ItemsetQuery RuleRun::itemset_query(const RuleQuery& query) {
  query.check();
  ItemsetQuery itemsets;
  itemsets.min_count = query.itemsets.min_count;
  itemsets.min_support = query.itemsets.min_support;
  itemsets.exclude = query.itemsets.exclude;
  itemsets.kernel = query.itemsets.kernel;
  if (query.max_lhs && *query.max_lhs <= UINT32_MAX && query.max_rhs <= UINT32_MAX)
    itemsets.max_length = *query.max_lhs + query.max_rhs;
  return itemsets;
}

RuleRun::RuleRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RuleQuery& query,
                 const ExecutionOptions& options)
    : query_(query),
      options_(options),
      run_(std::move(chunks), item_rank, itemset_query(query), options),
      steps_(*options.memory),
      sides_{allowed(query.lhs_include, query.lhs_exclude), allowed(query.rhs_include, query.rhs_exclude)} {}

bool RuleRun::time_is_up() const {
  return query_.timeout_ms && watch_.milliseconds() >= static_cast<double>(*query_.timeout_ms);
}

/// Once. Time that is up leaves none.
void RuleRun::find_itemsets() {
  watch_ = {};
  try {
    search();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled || options_.cancel.requested() || !time_is_up()) throw;
    steps_.shrink(0);
    truncated_ = Truncation::kTimeout;
  }
  searched_ = true;
  if (query_.top_k) best_.emplace(static_cast<uint64_t>(*query_.top_k), longest_, *options_.memory);
}

void RuleRun::search() {
  StepSink sink(steps_);
  ExecutionOptions until_timeout = options_;
  until_timeout.cancel = {[](void* arg) {
                            const auto* const run = static_cast<const RuleRun*>(arg);
                            return run->options_.cancel.requested() || run->time_is_up();
                          },
                          this};
  const ItemsetRun::Searcher search = run_.searcher(sink, until_timeout);
  for (size_t branch = 0; branch < run_.branches(); ++branch) search(branch);
  supports_.emplace(*options_.memory, steps_.size());
  Poll poll(until_timeout.cancel);
  ItemsetPrefix prefix;
  for (size_t place = 0; place < steps_.size(); ++place) {
    prefix.step(steps_[place]);
    supports_->insert(prefix.sum(), steps_[place].support, place);
    longest_ = std::max<size_t>(longest_, steps_[place].length);
    poll.after(32);
  }
}

RuleRun::Allowed RuleRun::allowed(const std::optional<std::vector<int64_t>>& include,
                                  const std::optional<std::vector<int64_t>>& exclude) {
  const auto flags = [&](const std::optional<std::vector<int64_t>>& list) {
    const auto values = list ? std::unordered_set<int64_t>(list->begin(), list->end()) : std::unordered_set<int64_t>();
    Buffer<bool> listed(*options_.memory, run_.ranks());
    for (uint32_t rank = 0; rank < run_.ranks(); ++rank) listed[rank] = values.contains(run_.value(rank));
    return listed;
  };
  Allowed side;
  side.excluded = flags(exclude);
  if (include) side.included = flags(include);
  return side;
}

bool RuleRun::is_allowed(const Allowed& side, std::span<const uint32_t> ranks) const {
  if (std::any_of(ranks.begin(), ranks.end(), [&](uint32_t rank) { return side.excluded[rank]; })) return false;
  return side.included.empty() ||
         std::any_of(ranks.begin(), ranks.end(), [&](uint32_t rank) { return side.included[rank]; });
}

bool RuleRun::next(RuleBatch& batch) {
  batch.rows.clear();
  batch.items.clear();
  if (truncated_ != Truncation::kNone) return false;
  options_.cancel.throw_if_requested();
  if (!searched_) find_itemsets();
  if (truncated_ != Truncation::kNone) return false;
  split(kBatchWork, batch);
  const bool all_split = !splitting_ && at_ == steps_.size();
  if (best_ && all_split) hand_over_best(batch);
  results_ += batch.rows.size();
  if (truncated_ == Truncation::kNone && !all_split && time_is_up()) truncated_ = Truncation::kTimeout;
  return !batch.rows.empty() || (truncated_ == Truncation::kNone && !all_split);
}

/// Looks at some rules, if there are any left.
void RuleRun::split(uint64_t most, RuleBatch& batch) {
  for (uint64_t work = 0; work < most && truncated_ == Truncation::kNone; ++work) {
    if (splitting_) {
      offer(batch);
      next_rhs();
      work += ranks_.size() / 8;
    } else if (at_ < steps_.size()) {
      begin_itemset();
    } else {
      break;
    }
  }
}

void RuleRun::begin_itemset() {
  const ItemsetStep& step = steps_[at_++];
  prefix_.step(step);
  if (step.length == 1) return;
  ranks_ = prefix_.items();
  std::sort(ranks_.begin(), ranks_.end(), [this](uint32_t a, uint32_t b) { return run_.value(a) < run_.value(b); });
  const auto least = query_.max_lhs ? std::max<int64_t>(1, static_cast<int64_t>(ranks_.size()) - *query_.max_lhs) : 1;
  places_.resize(static_cast<size_t>(least));
  splitting_ = begin_size();
}

/// The first rhs of the size that places_ has. @return false when no rhs may be that long
bool RuleRun::begin_size() {
  if (places_.size() >= ranks_.size() || static_cast<int64_t>(places_.size()) > query_.max_rhs) return false;
  std::iota(places_.begin(), places_.end(), 0u);
  return true;
}

/// The next combination in lexicographical order, then those of the next size.
void RuleRun::next_rhs() {
  size_t k = places_.size();
  while (k > 0 && places_[k - 1] == ranks_.size() - places_.size() + k - 1) --k;
  if (k > 0) {
    std::iota(places_.begin() + static_cast<ptrdiff_t>(k) - 1, places_.end(), places_[k - 1] + 1);
    return;
  }
  places_.push_back(0);
  splitting_ = begin_size();
}

/// The rule whose rhs places_ says.
void RuleRun::offer(RuleBatch& batch) {
  const uint32_t support = steps_[at_ - 1].support;
  rhs_.clear();
  lhs_.clear();
  ItemsetSignature rhs_sum = 0;
  size_t next = 0;
  for (uint32_t place = 0; place < ranks_.size(); ++place) {
    if (next < places_.size() && places_[next] == place) {
      rhs_.push_back(ranks_[place]);
      rhs_sum += signature_of(ranks_[place]);
      ++next;
    } else {
      lhs_.push_back(ranks_[place]);
    }
  }
  if (!is_allowed(sides_[kLhs], lhs_) || !is_allowed(sides_[kRhs], rhs_)) return;
  const uint32_t lhs_support = supports_->find(prefix_.sum() - rhs_sum).support;
  const uint32_t rhs_support = supports_->find(rhs_sum).support;
  // A quotient that equals the bound rounds to the same double as the bound.
  const double confidence = static_cast<double>(support) / lhs_support;
  if (query_.min_confidence && confidence < *query_.min_confidence) return;
  const double lift = static_cast<double>(support) * static_cast<double>(run_.report().transactions) /
                      (static_cast<double>(lhs_support) * rhs_support);
  if (query_.min_lift && lift < *query_.min_lift) return;
  if (best_) {
    items_.clear();
    for (const std::vector<uint32_t>* const side : {&lhs_, &rhs_})
      for (const uint32_t rank : *side) items_.push_back(run_.value(rank));
    const double score =
        pair_measure(query_.measure, {static_cast<double>(support), static_cast<double>(lhs_support),
                                      static_cast<double>(rhs_support), static_cast<double>(run_.report().transactions)});
    best_->offer(score, {support, lhs_support, rhs_support}, items_, static_cast<uint32_t>(lhs_.size()));
    return;
  }
  if (query_.max_results && results_ + batch.rows.size() == static_cast<uint64_t>(*query_.max_results)) {
    truncated_ = Truncation::kMaxResults;
    return;
  }
  batch.rows.push_back({batch.items.size(), static_cast<uint32_t>(lhs_.size()), static_cast<uint32_t>(rhs_.size()), support,
                        lhs_support, rhs_support});
  for (const uint32_t rank : lhs_) batch.items.push_back(run_.value(rank));
  for (const uint32_t rank : rhs_) batch.items.push_back(run_.value(rank));
}

/// The next of the best rules, once all have been offered.
void RuleRun::hand_over_best(RuleBatch& batch) {
  if (handed_over_ == 0) best_->sort(options_.cancel);
  for (; handed_over_ < best_->size() && batch.rows.size() < kBatchWork; ++handed_over_) {
    if (query_.max_results && results_ + batch.rows.size() == static_cast<uint64_t>(*query_.max_results)) {
      truncated_ = Truncation::kMaxResults;
      return;
    }
    const RuleCounts& counts = best_->counts(handed_over_);
    const std::span<const int64_t> items = best_->items(handed_over_);
    const uint32_t lhs_length = best_->lhs_length(handed_over_);
    batch.rows.push_back({batch.items.size(), lhs_length, static_cast<uint32_t>(items.size()) - lhs_length, counts.support,
                          counts.lhs_support, counts.rhs_support});
    batch.items.insert(batch.items.end(), items.begin(), items.end());
  }
}

}  // namespace batmap
