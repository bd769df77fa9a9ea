// Association rules: every frequent itemset is split into two sides. The sides are itemsets that are frequent,
// too, so their supports are looked up. Cost: 12 bytes and about 50 more for each frequent itemset; two look-ups
// a rule; for the best rules, one heap for each thread. All rules are numbered, and threads take thousands of
// numbers at a time, from many itemsets or from a part of one. So the order of the rules does not depend on the
// number of threads. Source: the task is that of Agrawal, Srikant, VLDB 1994; splitting by look-up is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/thread_team.h"
#include "core/truncation.h"
#include "itemsets/answers/itemset_supports.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"
#include "itemsets/rules/best_rules.h"
#include "measures/pair_measure.h"

namespace batmap {

/// @throws Error{kInvalidParameter} with the value and the bound
void check_rule_bounds(const std::optional<double>& min_confidence, const std::optional<double>& min_lift);

struct RuleQuery {
  ItemsetQuery itemsets;  // threshold, exclude, kernels and device; other members are ignored
  std::optional<double> min_confidence;
  std::optional<double> min_lift;
  std::optional<int64_t> max_lhs;
  int64_t max_rhs = 1;
  // Item values. A side needs at least one item of its include list, and has no item of its exclude list.
  std::optional<std::vector<int64_t>> lhs_include, lhs_exclude, rhs_include, rhs_exclude;
  std::optional<int64_t> top_k;                    // only the best rules (best_rules.h)
  PairMeasure measure = PairMeasure::kConfidence;  // decides which rules are best
  std::optional<int64_t> max_results;
  std::optional<int64_t> timeout_ms;  // for finding itemsets and rules; grouping the rows does not count

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

struct RuleRow {
  size_t begin;  // index of the first item, lhs before rhs
  uint32_t lhs_length;
  uint32_t rhs_length;
  uint32_t support;
  uint32_t lhs_support;
  uint32_t rhs_support;
};

struct RuleBatch {
  explicit RuleBatch(MemoryMeter& meter) : rows(meter), items(meter) {}

  GrowingBuffer<RuleRow> rows;
  GrowingBuffer<int64_t> items;  // lhs, then rhs of each rule; each side ascending
};

class RuleRun {
 public:
  /// Groups the rows. For the parameters see ItemsetRun. @throws Error, std::bad_alloc
  RuleRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RuleQuery& query,
          const ExecutionOptions& options);
  /// From rows that may be in files, and from stored counts. These must have all subsets of an itemset that is split: else next()
  /// throws Error{kInvalidParameter}.
  RuleRun(const RowLog& log, std::span<const uint32_t> item_rank, const RuleQuery& query, const ExecutionOptions& options);
  RuleRun(const std::byte* counts, const RuleQuery& query, const ExecutionOptions& options);
  RuleRun(const RuleRun&) = delete;
  RuleRun& operator=(const RuleRun&) = delete;

  /// The next rules, some thousands at most. The first ones come when all frequent itemsets are known; with top_k they come
  /// when all rules have been looked at. Order: itemsets as ItemsetRun gives them; within an itemset the shorter rhs first,
  /// then the smaller items of the rhs. With top_k there are no rules if the time is up before the best ones are known.
  /// @param batch  overwritten; may be empty although more rules follow
  /// @return false when there are no more, and `batch` is empty
  bool next(RuleBatch& batch);

  uint64_t transactions() const { return run_.transactions(); }
  RunRecord record() const;
  ExecutionSite site() const { return run_.site(); }
  uint64_t results() const { return limit_.taken(); }
  const Truncation& truncation() const { return limit_.truncation(); }
  uint64_t tasks() const { return tasks_; }  // of splitting
  uint64_t tasks_done() const { return tasks_done_; }

 private:
  enum Side { kLhs, kRhs };
  struct Allowed {
    Buffer<bool> excluded;  // [ranks]
    Buffer<bool> included;  // [ranks] empty: any item is allowed
  };

  /// A point at which a thread may begin to look for a rule.
  struct Mark {
    uint64_t rule;  // the first rule of the step or after it
    size_t step;
    size_t prefix;  // index in prefixes_ of the length - 1 items before the step
  };
  class Splitter;

  /// @param input  what an ItemsetRun is made of
  template <typename... Input>
  RuleRun(std::in_place_t, const RuleQuery& query, const ExecutionOptions& options, Input&&... input);

  static ItemsetQuery itemset_query(const RuleQuery& query);
  Allowed allowed(const std::optional<std::vector<int64_t>>& include, const std::optional<std::vector<int64_t>>& exclude);
  void prepare();
  bool find_itemsets();
  bool number_rules();
  uint32_t min_rhs(uint32_t length) const;
  uint32_t max_rhs(uint32_t length) const;
  uint64_t rules_of(uint32_t length) const;
  RuleBatch split(size_t task, int worker);
  void hand_over_best(RuleBatch& batch);

  RuleQuery query_;
  ExecutionOptions options_;
  ItemsetRun run_;
  AnswerLimit limit_;
  GrowingBuffer<ItemsetStep> steps_;
  std::optional<ItemsetSupports> supports_;
  Allowed sides_[2];
  GrowingBuffer<Mark> marks_;
  GrowingBuffer<Rank> prefixes_;
  uint64_t rules_ = 0;           // number of rules to look at
  uint32_t longest_ = 0;         // items of the longest itemset
  std::vector<BestRules> best_;  // of each thread; at the end the first has all
  size_t handed_over_ = 0;       // of the best rules
  size_t tasks_ = 0;
  size_t tasks_done_ = 0;
  bool prepared_ = false;
  std::optional<OrderedTasks<RuleBatch>> splitting_;  // last, so that its threads end first
};

}  // namespace batmap
