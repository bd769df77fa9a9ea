// Association rules: from every frequent itemset, the rules that split it in two. The supports of both sides are those of
// itemsets, which are frequent too. Cost: 12 bytes and about 50 more for each frequent itemset; two look-ups a rule.
// Source: the task is that of Agrawal, Srikant, VLDB 1994; splitting by look-up is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/stopwatch.h"
#include "itemsets/best_rules.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"
#include "itemsets/itemset_supports.h"
#include "support/pair_measure.h"

namespace batmap {

/// @throws Error{kInvalidParameter} with the value and the bound
void check_rule_bounds(const std::optional<double>& min_confidence, const std::optional<double>& min_lift);

struct RuleQuery {
  ItemsetQuery itemsets;  // threshold, exclude and kernels; no other member is heeded
  std::optional<double> min_confidence;
  std::optional<double> min_lift;
  std::optional<int64_t> max_lhs;
  int64_t max_rhs = 1;
  // Item values; of an include list a side needs one, of an exclude list it has none.
  std::optional<std::vector<int64_t>> lhs_include, lhs_exclude, rhs_include, rhs_exclude;
  std::optional<int64_t> top_k;                    // the best rules (best_rules.h)
  PairMeasure measure = PairMeasure::kConfidence;  // by this
  std::optional<int64_t> max_results;
  std::optional<int64_t> timeout_ms;  // of finding itemsets and rules; grouping the rows does not count

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

struct RuleRow {
  size_t begin;  // of the items of both sides
  uint32_t lhs_length;
  uint32_t rhs_length;
  uint32_t support;
  uint32_t lhs_support;
  uint32_t rhs_support;
};

struct RuleBatch {
  std::vector<RuleRow> rows;
  std::vector<int64_t> items;  // lhs, then rhs of each rule; each side ascending
};

class RuleRun {
 public:
  /// Groups the rows. For the parameters see ItemsetRun. @throws Error, std::bad_alloc
  RuleRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RuleQuery& query,
          const ExecutionOptions& options);
  RuleRun(const RuleRun&) = delete;
  RuleRun& operator=(const RuleRun&) = delete;

  /// The next rules, after about a millisecond; the first ones when the frequent itemsets have been found, the best ones
  /// when all have been seen. Order: itemsets as ItemsetRun gives them; of one itemset the shorter rhs first, then by the
  /// smaller items of the rhs. Where time is up before the best are known there are none.
  /// @param batch  overwritten; may be empty although there is more to come
  /// @return false when there are no more, and `batch` is empty
  bool next(RuleBatch& batch);

  const ItemsetReport& report() const { return run_.report(); }
  uint64_t results() const { return results_; }
  Truncation truncated() const { return truncated_; }
  uint64_t tasks() const { return steps_.size(); }  // itemsets to be split
  uint64_t tasks_done() const { return at_; }

 private:
  enum Side { kLhs, kRhs };
  struct Allowed {
    Buffer<bool> excluded;  // [ranks]
    Buffer<bool> included;  // [ranks] empty: any item will do
  };

  static ItemsetQuery itemset_query(const RuleQuery& query);
  Allowed allowed(const std::optional<std::vector<int64_t>>& include, const std::optional<std::vector<int64_t>>& exclude);
  bool is_allowed(const Allowed& side, std::span<const uint32_t> ranks) const;
  bool time_is_up() const;
  void find_itemsets();
  void search();
  void split(uint64_t most, RuleBatch& batch);
  void begin_itemset();
  bool begin_size();
  void next_rhs();
  void offer(RuleBatch& batch);
  void hand_over_best(RuleBatch& batch);

  RuleQuery query_;
  ExecutionOptions options_;
  ItemsetRun run_;
  Stopwatch watch_;
  GrowingBuffer<ItemsetStep> steps_;
  std::optional<ItemsetSupports> supports_;
  Allowed sides_[2];
  std::optional<BestRules> best_;
  size_t handed_over_ = 0;  // of the best
  size_t longest_ = 0;      // itemset
  ItemsetPrefix prefix_;
  size_t at_ = 0;  // itemsets taken
  uint64_t results_ = 0;
  Truncation truncated_ = Truncation::kNone;
  bool searched_ = false;
  // The split at hand.
  bool splitting_ = false;
  std::vector<uint32_t> ranks_;      // of the itemset, by value
  std::vector<uint32_t> places_;     // in ranks_, of the rhs
  std::vector<uint32_t> lhs_, rhs_;  // ranks
  std::vector<int64_t> items_;       // of a rule for the best
};

}  // namespace batmap
