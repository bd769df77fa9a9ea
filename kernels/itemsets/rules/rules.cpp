// Splits itemsets into rules. See rules.h.
#include "itemsets/rules/rules.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "core/parameters.h"
#include "core/poll.h"

namespace batmap {

namespace {

constexpr uint64_t kTaskRules = 1 << 11;  // rules of one task: about half a millisecond, and batches below 256 KiB
constexpr size_t kTasksAhead = 4;         // for each thread
// An insertion into a table of gigabytes may be the first access to a huge page. The system then clears the
// page, which takes half a millisecond.
constexpr size_t kPollInsertions = 16;

constexpr uint32_t kMaxSplit = 31;  // items of an itemset whose subsets are all known, see RuleRun::find_itemsets()

/// Only stored counts can be so.
[[noreturn]] void raise_incomplete() {
  throw Error(ErrorCode::kInvalidParameter, "the counts lack a subset of an itemset, or some of its transactions",
              "Count the candidates of all parts in each part, and add up these counts.");
}

/// The number of ways to take k of n. With n up to kMaxSplit no product overflows.
uint64_t combinations(uint64_t n, uint64_t k) {
  k = std::min(k, n - k);
  uint64_t number = 1;
  for (uint64_t i = 1; i <= k; ++i) number = number * (n - k + i) / i;
  return number;
}

}  // namespace

/// Looks at the rules of one task. It reads members of the run that do not change meanwhile.
class RuleRun::Splitter {
 public:
  /// @param best  takes the rules; nullptr: the batch takes them
  Splitter(const RuleRun& run, BestRules* best)
      : run_(run), query_(run.query_), best_(best), poll_(run.options_.cancel), batch_(*run.options_.memory) {}

  /// @param begin, end  numbers of the rules
  RuleBatch split(uint64_t begin, uint64_t end);

 private:
  void begin_itemset(uint64_t rule);
  void next_rhs();
  bool is_allowed(const Allowed& side, std::span<const Rank> ranks) const;
  void offer(uint32_t support);

  const RuleRun& run_;
  const RuleQuery& query_;
  BestRules* best_;
  Poll poll_;
  RuleBatch batch_;
  ItemsetPrefix prefix_;
  std::vector<Rank> ranks_;            // of the current itemset, by value
  std::vector<uint32_t> rhs_indexes_;  // indexes in ranks_, of the rhs
  std::vector<Rank> lhs_, rhs_;        // ranks
  std::vector<int64_t> items_;         // of a rule that is offered to best_
};

void check_rule_bounds(const std::optional<double>& min_confidence, const std::optional<double>& min_lift) {
  if (min_confidence && !(*min_confidence >= 0 && *min_confidence <= 1))
    throw Error(ErrorCode::kInvalidParameter, "min_confidence must be between 0 and 1, not " + plain_text(*min_confidence),
                "min_confidence is a fraction: 0.8 stands for 80 %.");
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
  require_timeout(timeout_ms);
}

ItemsetQuery RuleRun::itemset_query(const RuleQuery& query) {
  query.check();
  ItemsetQuery itemsets;
  itemsets.min_count = query.itemsets.min_count;
  itemsets.min_support = query.itemsets.min_support;
  itemsets.exclude = query.itemsets.exclude;
  itemsets.kernel = query.itemsets.kernel;
  itemsets.bits = query.itemsets.bits;
  itemsets.device = query.itemsets.device;
  itemsets.timeout_ms = query.timeout_ms;
  if (query.max_lhs && *query.max_lhs <= UINT32_MAX && query.max_rhs <= UINT32_MAX)
    itemsets.max_length = *query.max_lhs + query.max_rhs;
  return itemsets;
}

RuleRun::RuleRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RuleQuery& query,
                 const ExecutionOptions& options)
    : RuleRun(std::in_place, query, options, std::move(chunks), item_rank) {}

RuleRun::RuleRun(const RowLog& log, std::span<const uint32_t> item_rank, const RuleQuery& query,
                 const ExecutionOptions& options)
    : RuleRun(std::in_place, query, options, log, item_rank) {}

RuleRun::RuleRun(const std::byte* counts, const RuleQuery& query, const ExecutionOptions& options)
    : RuleRun(std::in_place, query, options, counts) {}

template <typename... Input>
RuleRun::RuleRun(std::in_place_t, const RuleQuery& query, const ExecutionOptions& options, Input&&... input)
    : query_(query),
      options_(options),
      run_(std::forward<Input>(input)..., itemset_query(query), options),
      limit_(query.max_results, query.timeout_ms),
      steps_(*options.memory),
      sides_{allowed(query.lhs_include, query.lhs_exclude), allowed(query.rhs_include, query.rhs_exclude)},
      marks_(*options.memory),
      prefixes_(*options.memory) {}

/// Called once. If the time is up, nothing is left to split.
void RuleRun::prepare() {
  prepared_ = true;
  limit_.restart_clock();
  if (!find_itemsets() || !number_rules()) {
    steps_.reset();
    supports_.reset();
    return;
  }
  tasks_ = (rules_ + kTaskRules - 1) / kTaskRules;
  if (query_.top_k)
    for (int thread = 0; thread < options_.threads; ++thread)
      best_.emplace_back(static_cast<uint64_t>(*query_.top_k), longest_, *options_.memory);
  splitting_.emplace(options_, tasks_, kTasksAhead * static_cast<size_t>(options_.threads),
                     [this](size_t task, int worker) { return split(task, worker); });
}

/// @return false when time is up
bool RuleRun::find_itemsets() {
  ItemsetStream stream(run_, options_);
  std::vector<ItemsetStep> batch;
  while (stream.next(batch)) {
    std::copy(batch.begin(), batch.end(), steps_.room(batch.size()));
    steps_.add(batch.size());
    // So no itemset has more than 31 items, because all its subsets are frequent, too.
    if (steps_.size() >= UINT32_MAX)
      throw Error(ErrorCode::kTooLarge, "more than 4294967294 frequent itemsets to make rules of",
                  "Raise the threshold or give max_lhs and max_rhs.");
  }
  if (stream.truncation().cause == Truncation::kNone) return true;
  limit_.end_in_time();  // its clock began before that of the stream
  return false;
}

/// Fills the table of supports, numbers the rules, and marks a step every kTaskRules rules or steps.
/// @return false when time is up
bool RuleRun::number_rules() {
  supports_.emplace(*options_.memory, steps_.size());
  ItemsetPrefix prefix;
  for (size_t index = 0; index < steps_.size(); ++index) {
    const ItemsetStep& step = steps_[index];
    if (index % kPollInsertions == 0) {
      options_.cancel.throw_if_requested();
      if (limit_.end_in_time()) return false;
    }
    // Of stored counts, a step may be the beginning of others that was not counted itself.
    if (step.length > kMaxSplit || (step.support == 0 && rules_of(step.length) > 0)) raise_incomplete();
    prefix.step(step);
    if (index == 0 || rules_ - marks_[marks_.size() - 1].rule >= kTaskRules ||
        index - marks_[marks_.size() - 1].step >= kTaskRules) {
      marks_.push_back({rules_, index, prefixes_.size()});
      std::copy_n(prefix.items().begin(), step.length - 1, prefixes_.room(step.length - 1));
      prefixes_.add(step.length - 1);
    }
    supports_->insert(prefix.sum(), step.support, index);
    rules_ += rules_of(step.length);
    longest_ = std::max(longest_, step.length);
  }
  return true;
}

uint32_t RuleRun::min_rhs(uint32_t length) const {
  return query_.max_lhs && *query_.max_lhs < length ? length - static_cast<uint32_t>(*query_.max_lhs) : 1;
}

uint32_t RuleRun::max_rhs(uint32_t length) const {
  return static_cast<uint32_t>(std::min<int64_t>(query_.max_rhs, length - 1));
}

/// Number of rules that an itemset of `length` items is split into.
uint64_t RuleRun::rules_of(uint32_t length) const {
  uint64_t rules = 0;
  for (uint32_t size = min_rhs(length); size <= max_rhs(length); ++size) rules += combinations(length, size);
  return rules;
}

RuleBatch RuleRun::split(size_t task, int worker) {
  BestRules* const best = query_.top_k ? &best_[static_cast<size_t>(worker)] : nullptr;
  return Splitter(*this, best).split(task * kTaskRules, std::min<uint64_t>((task + 1) * kTaskRules, rules_));
}

RuleRun::Allowed RuleRun::allowed(const std::optional<std::vector<int64_t>>& include,
                                  const std::optional<std::vector<int64_t>>& exclude) {
  const auto flags = [&](const std::optional<std::vector<int64_t>>& list) {
    const auto values = list ? std::unordered_set<int64_t>(list->begin(), list->end()) : std::unordered_set<int64_t>();
    Buffer<bool> listed(*options_.memory, run_.ranks());
    for (uint32_t rank = 0; rank < run_.ranks(); ++rank) listed[rank] = values.contains(run_.value(Rank{rank}));
    return listed;
  };
  Allowed side;
  side.excluded = flags(exclude);
  if (include) side.included = flags(include);
  return side;
}

bool RuleRun::next(RuleBatch& batch) {
  batch.rows.shrink(0);
  batch.items.shrink(0);
  if (limit_.is_cut_off()) return false;
  options_.cancel.throw_if_requested();
  if (!prepared_) prepare();
  if (limit_.is_cut_off()) return false;
  if (tasks_done_ < tasks_) {
    batch = *splitting_->next();
    ++tasks_done_;
    batch.rows.shrink(limit_.take(batch.rows.size()));
    if (!limit_.is_cut_off() && tasks_done_ < tasks_) limit_.end_in_time();
  }
  const bool all_split = tasks_done_ == tasks_;
  if (all_split || limit_.is_cut_off()) splitting_.reset();
  if (!best_.empty() && all_split) hand_over_best(batch);
  return !batch.rows.empty() || (!limit_.is_cut_off() && !all_split);
}

RunRecord RuleRun::record() const {
  RunRecord record = run_.record();
  record.answers = AnswerKind::kRules;
  record.levels.clear();
  record.results = results();
  record.tasks = tasks();
  record.tasks_done = tasks_done();
  record.truncation = truncation();
  return record;
}

RuleBatch RuleRun::Splitter::split(uint64_t begin, uint64_t end) {
  const Mark& mark = *(std::ranges::upper_bound(run_.marks_, begin, {}, &Mark::rule) - 1);
  for (uint32_t length = 1; length < run_.steps_[mark.step].length; ++length)
    prefix_.step({run_.prefixes_[mark.prefix + length - 1], length, 0});
  uint64_t first = mark.rule;  // of the current step
  for (size_t at = mark.step; begin < end; ++at) {
    const ItemsetStep& step = run_.steps_[at];
    prefix_.step(step);
    poll_.after(32);
    const uint64_t behind = first + run_.rules_of(step.length);
    if (begin < behind) begin_itemset(begin - first);
    for (; begin < std::min(behind, end); ++begin) {
      offer(step.support);
      next_rhs();
    }
    first = behind;
  }
  return std::move(batch_);
}

/// @param rule  number, within the itemset, of the first rule wanted
void RuleRun::Splitter::begin_itemset(uint64_t rule) {
  ranks_ = prefix_.items();
  std::sort(ranks_.begin(), ranks_.end(), [this](Rank a, Rank b) { return run_.run_.value(a) < run_.run_.value(b); });
  const size_t items = ranks_.size();
  size_t size = run_.min_rhs(static_cast<uint32_t>(items));
  for (uint64_t rules; rule >= (rules = combinations(items, size)); ++size) rule -= rules;
  // In lexicographical order, the combinations with the next index come first.
  rhs_indexes_.clear();
  for (uint32_t index = 0; rhs_indexes_.size() < size; ++index) {
    const uint64_t with = combinations(items - index - 1, size - rhs_indexes_.size() - 1);
    if (rule < with)
      rhs_indexes_.push_back(index);
    else
      rule -= with;
  }
}

/// The next combination in lexicographical order, or the first one of the next size.
void RuleRun::Splitter::next_rhs() {
  size_t k = rhs_indexes_.size();
  while (k > 0 && rhs_indexes_[k - 1] == ranks_.size() - rhs_indexes_.size() + k - 1) --k;
  if (k > 0) {
    std::iota(rhs_indexes_.begin() + static_cast<ptrdiff_t>(k) - 1, rhs_indexes_.end(), rhs_indexes_[k - 1] + 1);
  } else {
    rhs_indexes_.push_back(0);
    std::iota(rhs_indexes_.begin(), rhs_indexes_.end(), 0u);
  }
}

bool RuleRun::Splitter::is_allowed(const Allowed& side, std::span<const Rank> ranks) const {
  if (std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) { return side.excluded[index_of(rank)]; })) return false;
  return side.included.empty() ||
         std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) { return side.included[index_of(rank)]; });
}

/// Looks at the rule whose rhs is given by rhs_indexes_.
void RuleRun::Splitter::offer(uint32_t support) {
  rhs_.clear();
  lhs_.clear();
  ItemsetSignature rhs_sum = 0;
  size_t next = 0;
  for (uint32_t index = 0; index < ranks_.size(); ++index) {
    if (next < rhs_indexes_.size() && rhs_indexes_[next] == index) {
      rhs_.push_back(ranks_[index]);
      rhs_sum += signature_of(ranks_[index]);
      ++next;
    } else {
      lhs_.push_back(ranks_[index]);
    }
  }
  if (!is_allowed(run_.sides_[kLhs], lhs_) || !is_allowed(run_.sides_[kRhs], rhs_)) return;
  const uint32_t lhs_support = run_.supports_->find(prefix_.sum() - rhs_sum).support;
  const uint32_t rhs_support = run_.supports_->find(rhs_sum).support;
  if (lhs_support < support || rhs_support < support) raise_incomplete();
  // A quotient that equals the bound rounds to the same double as the bound, as long as products are below 2^53.
  const double confidence = static_cast<double>(support) / lhs_support;
  if (query_.min_confidence && confidence < *query_.min_confidence) return;
  const double lift = static_cast<double>(support) * static_cast<double>(run_.run_.transactions()) /
                      (static_cast<double>(lhs_support) * rhs_support);
  if (query_.min_lift && lift < *query_.min_lift) return;
  if (best_) {
    items_.clear();
    for (const std::vector<Rank>* const side : {&lhs_, &rhs_})
      for (const Rank rank : *side) items_.push_back(run_.run_.value(rank));
    const double score =
        pair_measure(query_.measure, {static_cast<double>(support), static_cast<double>(lhs_support),
                                      static_cast<double>(rhs_support), static_cast<double>(run_.run_.transactions())});
    poll_.after(kScoreWork);
    best_->offer(score, {support, lhs_support, rhs_support}, items_, static_cast<uint32_t>(lhs_.size()));
    return;
  }
  batch_.rows.push_back({batch_.items.size(), static_cast<uint32_t>(lhs_.size()), static_cast<uint32_t>(rhs_.size()),
                         support, lhs_support, rhs_support});
  for (const Rank rank : lhs_) batch_.items.push_back(run_.run_.value(rank));
  for (const Rank rank : rhs_) batch_.items.push_back(run_.run_.value(rank));
}

/// Puts the next of the best rules into the batch.
void RuleRun::hand_over_best(RuleBatch& batch) {
  for (; best_.size() > 1; best_.pop_back()) best_.front().merge(best_.back(), options_.cancel);
  BestRules& best = best_.front();
  if (handed_over_ == 0) best.sort(options_.cancel);
  for (; handed_over_ < best.size() && batch.rows.size() < kTaskRules; ++handed_over_) {
    const RuleCounts& counts = best.counts(handed_over_);
    const std::span<const int64_t> items = best.items(handed_over_);
    const uint32_t lhs_length = best.lhs_length(handed_over_);
    batch.rows.push_back({batch.items.size(), lhs_length, static_cast<uint32_t>(items.size()) - lhs_length, counts.support,
                          counts.lhs_support, counts.rhs_support});
    std::copy(items.begin(), items.end(), batch.items.room(items.size()));
    batch.items.add(items.size());
  }
  batch.rows.shrink(limit_.take(batch.rows.size()));
}

}  // namespace batmap
