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
  require_at_least("max_results", max_results, 1);
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
      sides_{allowed(query.lhs_include, query.lhs_exclude), allowed(query.rhs_include, query.rhs_exclude)} {
  StepSink sink(steps_);
  run_.search(sink);
  supports_.emplace(*options_.memory, steps_.size());
  Poll poll(options_.cancel);
  ItemsetPrefix prefix;
  for (size_t place = 0; place < steps_.size(); ++place) {
    prefix.step(steps_[place]);
    supports_->insert(prefix.sum(), steps_[place].support, place);
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
  if (truncated_ || at_ == steps_.size()) return false;
  options_.cancel.throw_if_requested();
  for (uint64_t work = 0; work < kBatchWork && at_ < steps_.size() && !truncated_; ++at_) {
    const ItemsetStep& step = steps_[at_];
    prefix_.step(step);
    work += step.length;
    if (step.length > 1) split(step, batch);
    if (batch.rows.size() > kBatchWork) work = kBatchWork;
  }
  results_ += batch.rows.size();
  return true;
}

void RuleRun::split(const ItemsetStep& step, RuleBatch& batch) {
  ranks_ = prefix_.items();
  std::sort(ranks_.begin(), ranks_.end(), [this](uint32_t a, uint32_t b) { return run_.value(a) < run_.value(b); });
  const auto items = static_cast<uint32_t>(ranks_.size());
  const int64_t most = std::min<int64_t>(query_.max_rhs, items - 1);
  const int64_t least = query_.max_lhs ? std::max<int64_t>(1, items - *query_.max_lhs) : 1;
  Poll poll(options_.cancel);
  for (int64_t size = least; size <= most; ++size) {
    places_.resize(static_cast<size_t>(size));
    std::iota(places_.begin(), places_.end(), 0u);
    for (;;) {
      offer(step.support, batch);
      poll.after(64);
      if (truncated_) return;
      // The next combination in lexicographical order.
      auto k = static_cast<size_t>(size);
      while (k > 0 && places_[k - 1] == items - static_cast<uint32_t>(size) + k - 1) --k;
      if (k == 0) break;
      std::iota(places_.begin() + static_cast<ptrdiff_t>(k) - 1, places_.end(), places_[k - 1] + 1);
    }
  }
}

/// The rule whose rhs places_ says.
void RuleRun::offer(uint32_t support, RuleBatch& batch) {
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
  if (query_.max_results && results_ + batch.rows.size() == static_cast<uint64_t>(*query_.max_results)) {
    truncated_ = true;
    return;
  }
  batch.rows.push_back({batch.items.size(), static_cast<uint32_t>(lhs_.size()), static_cast<uint32_t>(rhs_.size()), support,
                        lhs_support, rhs_support});
  for (const uint32_t rank : lhs_) batch.items.push_back(run_.value(rank));
  for (const uint32_t rank : rhs_) batch.items.push_back(run_.value(rank));
}

}  // namespace batmap
