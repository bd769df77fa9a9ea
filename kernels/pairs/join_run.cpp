// Translates a join into a pair run. See join_run.h.
#include "pairs/join_run.h"

#include <utility>

namespace batmap {

namespace {

PairQuery query_of(const JoinQuery& query, const JoinedRelation& joined) {
  PairQuery pairs = query.pairs();
  pairs.left_items = joined.left_items;
  return pairs;
}

}  // namespace

PairQuery JoinQuery::pairs() const {
  PairQuery pairs;
  pairs.min_count = min_count.value_or(1);
  pairs.distinct_only = distinct_only;
  pairs.top_k = top_k;
  pairs.per_item_top_k = per_item_top_k;
  pairs.max_results = max_results;
  pairs.bag = bag;
  pairs.ties = ties;
  pairs.method = method;
  pairs.kernels = kernels;
  pairs.device = device;
  return pairs;
}

JoinRun::JoinRun(JoinedRelation joined, const JoinQuery& query, const ExecutionOptions& options)
    : distinct_only_(query.distinct_only),
      min_count_(static_cast<uint64_t>(query.min_count.value_or(1))),
      values_(std::move(joined.values)),
      joined_(std::move(joined)),
      run_(joined_->log, joined_->item_rank.span(), query_of(query, *joined_), options) {
  if (!run_.needs_rows() && joined_->log.partitions() == nullptr) joined_.reset();
}

bool JoinRun::next(std::vector<PairRow>& batch) {
  const bool more = run_.next(batch);
  for (PairRow& row : batch) {
    row.item_a = values_[static_cast<size_t>(row.item_a)];
    row.item_b = values_[static_cast<size_t>(row.item_b)];
    if (distinct_only_) row.support = min_count_;
  }
  return more;
}

}  // namespace batmap
