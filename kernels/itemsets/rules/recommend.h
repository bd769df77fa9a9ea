// Recommendations for a basket: among the association rules whose lhs lies in the basket and whose rhs is one
// other item, the best rule for each such item, and of these the best top_k.
//
// The rules are those that RuleRun would find. But only transactions that meet the basket are read, and only
// subsets of the basket, with one other item each, are counted: for each frequent subset one pass over the
// transactions that hold it. Cost: 4 bytes and about five random accesses a row; one bit for each transaction
// and item of the basket; then the rows of the transactions of each frequent subset. Without max_lhs there are
// up to 2^basket subsets.
//
// Rows in files are read once for their totals, then once for each size of subsets, or more often if the counters of one
// size exceed a share of the work memory. Memory: the rows of one part, and 4 bytes for each subset and other item of a pass.
//
// Source: recommending the rhs of the best rules is what arules' users do with recommenderlab (Hahsler, "recommenderlab",
// arXiv:2205.12371); counting for one basket is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "itemsets/itemset_run.h"
#include "measures/pair_measure.h"
#include "relation/row_log.h"

namespace batmap {

struct RecommendQuery {
  std::optional<std::vector<int64_t>> basket;  // item values, in any order; values that do not occur are ignored
  int64_t top_k = 10;
  // The minimum support of a rule: at most one of the two; neither: 1.
  std::optional<int64_t> min_count;
  std::optional<double> min_support;
  std::optional<double> min_confidence;
  std::optional<double> min_lift;
  std::optional<int64_t> max_lhs;
  PairMeasure measure = PairMeasure::kConfidence;  // ranks the rules
  std::optional<std::vector<int64_t>> include;     // item values that may be recommended
  std::optional<std::vector<int64_t>> exclude;     // item values that may not

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
  /// The threshold as a number of transactions.
  uint64_t min_count_among(uint64_t transactions) const {
    return batmap::min_count_among(transactions, min_count, min_support);
  }
};

struct Recommendation {
  int64_t item;
  double score;      // the measure of the rule
  size_t lhs_begin;  // in RecommendRun::lhs()
  uint32_t lhs_length;
  uint32_t support;
  uint32_t lhs_support;
  uint32_t item_support;
};

class RecommendRun {
 public:
  /// Finds all recommendations. For the parameters see ItemsetRun. "Better" means: larger measure, then larger
  /// support; for rules with the same item then the shorter lhs, then its smaller items; for different items
  /// then the smaller item. A rule whose measure is undefined (0 / 0) is ignored.
  /// @throws Error, std::bad_alloc
  RecommendRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RecommendQuery& query,
               const ExecutionOptions& options);
  /// The same over sealed rows, which may be in files. @throws as above, what the files throw
  RecommendRun(const RowLog& log, std::span<const uint32_t> item_rank, const RecommendQuery& query,
               const ExecutionOptions& options);

  const std::vector<Recommendation>& rows() const { return rows_; }  // best first
  /// Items of the lhs, ascending.
  std::span<const int64_t> lhs(const Recommendation& row) const { return {lhs_.data() + row.lhs_begin, row.lhs_length}; }
  const RunRecord& record() const { return record_; }

 private:
  template <typename Relation>
  void read_totals(const Relation& relation, uint64_t transactions, const RecommendQuery& query);
  void search_in_memory(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RecommendQuery& query,
                        const ExecutionOptions& options);
  void search_in_parts(const RowPartitions& rows, std::span<const uint32_t> item_rank, const RecommendQuery& query,
                       const ExecutionOptions& options);

  uint64_t min_count_ = 1;
  RunRecord record_;
  std::vector<Recommendation> rows_;
  std::vector<int64_t> lhs_;
};

}  // namespace batmap
