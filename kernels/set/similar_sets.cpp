// Compares and keeps. See similar_sets.h.
#include "set/similar_sets.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/parameters.h"
#include "core/polled.h"
#include "set/set_intersect.h"

namespace batmap {

namespace {

constexpr size_t kFewSets = 1024;

bool is_better(const SimilarSet& x, const SimilarSet& y) {
  return x.jaccard != y.jaccard ? x.jaccard > y.jaccard : x.id < y.id;
}

}  // namespace

void SimilarSetsQuery::check() const {
  require_fraction("min_jaccard", min_jaccard, "min_jaccard is a fraction; top_k takes a number of sets.");
  if (top_k && *top_k < 1)
    throw Error(ErrorCode::kInvalidParameter, "top_k must be at least 1, not " + std::to_string(*top_k),
                "Give the number of sets that you want, or NULL for all.");
}

SimilarSets::SimilarSets(SetView to, const SimilarSetsQuery& query, const SetKernel& kernel, const ExecutionOptions& options)
    : to_(to),
      query_(query),
      kernel_(kernel),
      options_(options),
      bound_(query.min_jaccard.value_or(0)),
      kept_(*options.memory),
      prune_at_(SIZE_MAX) {
  if (query.top_k) prune_at_ = 2 * static_cast<size_t>(std::min<int64_t>(*query.top_k, INT64_C(1) << 40)) + kFewSets;
}

bool SimilarSets::may_be_one(uint64_t cardinality) const {
  const uint64_t smaller = std::min(cardinality, to_.cardinality());
  const uint64_t larger = std::max(cardinality, to_.cardinality());
  if (larger == 0) return true;
  return smaller > 0 && static_cast<double>(smaller) / static_cast<double>(larger) >= bound_;
}

void SimilarSets::offer(int64_t id, SetView set) {
  ++offered_;
  if (!may_be_one(set.cardinality())) return;
  ++compared_;
  const uint64_t common = and_cardinality(to_, set, kernel_, options_.cancel);
  const uint64_t either = to_.cardinality() + set.cardinality() - common;
  const double jaccard = either == 0 ? 1 : static_cast<double>(common) / static_cast<double>(either);
  if (jaccard == 0 || jaccard < bound_) return;
  kept_.push_back({id, common, jaccard});
  if (kept_.size() >= prune_at_) prune();
}

/// Raises the bound to the k-th best, and drops what is below it. Ties stay, because their order is not known yet.
void SimilarSets::prune() {
  SimilarSet* const kth = kept_.begin() + (*query_.top_k - 1);
  std::nth_element(kept_.begin(), kth, kept_.end(),
                   polled(options_.cancel, [](const SimilarSet& x, const SimilarSet& y) { return x.jaccard > y.jaccard; }));
  bound_ = std::max(bound_, kth->jaccard);
  SimilarSet* const end =
      std::partition(kept_.begin(), kept_.end(), [&](const SimilarSet& set) { return set.jaccard >= bound_; });
  kept_.shrink(static_cast<size_t>(end - kept_.begin()));
  prune_at_ = std::max(prune_at_, 2 * kept_.size());
}

void SimilarSets::finish(std::span<const uint32_t> new_id) {
  if (!new_id.empty())
    for (SimilarSet& set : std::span(kept_.begin(), kept_.size())) set.id = new_id[static_cast<size_t>(set.id)];
  std::sort(kept_.begin(), kept_.end(), polled(options_.cancel, is_better));
  if (query_.top_k && kept_.size() > static_cast<uint64_t>(*query_.top_k)) kept_.shrink(static_cast<size_t>(*query_.top_k));
}

}  // namespace batmap
