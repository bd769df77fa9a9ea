// Association rules: from every frequent itemset, the rules that split it in two. The supports of both sides are those of
// itemsets, which are frequent too. Cost: 12 bytes and about 50 more for each frequent itemset; two look-ups a rule.
// Source: the task is that of Agrawal, Srikant, VLDB 1994; splitting by look-up is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "itemsets/itemset_run.h"
#include "itemsets/itemset_supports.h"

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
  std::optional<int64_t> max_results;

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
  /// Finds the frequent itemsets. For the parameters see ItemsetRun. @throws Error, std::bad_alloc
  RuleRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RuleQuery& query,
          const ExecutionOptions& options);

  /// The next rules, after about a millisecond. Order: itemsets as ItemsetRun gives them; of one itemset the shorter rhs
  /// first, then by the smaller items of the rhs.
  /// @param batch  overwritten; may be empty although there is more to come
  /// @return false when there are no more, and `batch` is empty
  bool next(RuleBatch& batch);

  const ItemsetReport& report() const { return run_.report(); }
  uint64_t results() const { return results_; }
  bool truncated() const { return truncated_; }

 private:
  enum Side { kLhs, kRhs };
  struct Allowed {
    Buffer<bool> excluded;  // [ranks]
    Buffer<bool> included;  // [ranks] empty: any item will do
  };

  static ItemsetQuery itemset_query(const RuleQuery& query);
  Allowed allowed(const std::optional<std::vector<int64_t>>& include, const std::optional<std::vector<int64_t>>& exclude);
  bool is_allowed(const Allowed& side, std::span<const uint32_t> ranks) const;
  void split(const ItemsetStep& step, RuleBatch& batch);
  void offer(uint32_t support, RuleBatch& batch);

  RuleQuery query_;
  ExecutionOptions options_;
  ItemsetRun run_;
  GrowingBuffer<ItemsetStep> steps_;
  std::optional<ItemsetSupports> supports_;
  Allowed sides_[2];
  ItemsetPrefix prefix_;
  size_t at_ = 0;  // the next step
  uint64_t results_ = 0;
  bool truncated_ = false;
  std::vector<uint32_t> ranks_;      // of the itemset at hand, by value
  std::vector<uint32_t> places_;     // in ranks_, of the rhs
  std::vector<uint32_t> lhs_, rhs_;  // ranks
};

}  // namespace batmap
