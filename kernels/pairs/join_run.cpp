// Translates a join into a pair run. See join_run.h.
#include "pairs/join_run.h"

#include <utility>

namespace batmap {

namespace {

PairQuery query_of(const JoinQuery& query, const JoinedRelation& joined) {
  PairQuery pairs = query.pairs();
  pairs.left_items = joined.left_items;
  pairs.item_values = joined.values.span();
  return pairs;
}

}  // namespace

PairQuery JoinQuery::pairs() const {
  PairQuery pairs;
  pairs.min_count = min_count.value_or(1);
  pairs.distinct_only = distinct_only;
  pairs.supports = false;
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
    : joined_(std::move(joined)), run_(joined_->log, joined_->item_rank.span(), query_of(query, *joined_), options) {
  // A buffer that is moved stays where it is, and so do the values that the run knows.
  values_ = std::move(joined_->values);
  if (!run_.needs_rows() && joined_->log.partitions() == nullptr) joined_.reset();
}

}  // namespace batmap
