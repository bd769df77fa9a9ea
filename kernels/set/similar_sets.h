// Keeps the sets that are most like a given one, while sets come by one by one. A set is compared only if its size lets it
// be near enough: the Jaccard index of sets of a <= b elements is at most a / b. The bound is the given one or, once k sets are
// kept, that of the k-th best.
//
// Memory: 24 bytes for each set that is kept; at most about twice k and those that tie with the k-th. Source: ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/options.h"
#include "set/set_kernel.h"
#include "set/set_view.h"

namespace batmap {

struct SimilarSetsQuery {
  std::optional<double> min_jaccard;  // none: all that share an element, or are both empty
  std::optional<int64_t> top_k;       // none: all

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

struct SimilarSet {
  int64_t id;
  uint64_t common;  // elements
  double jaccard;
};

class SimilarSets {
 public:
  /// @param to       must outlive this object
  /// @param options  its meter must outlive this object
  SimilarSets(SetView to, const SimilarSetsQuery& query, const SetKernel& kernel, const ExecutionOptions& options);

  /// May a set of so many elements be an answer?
  bool may_be_one(uint64_t cardinality) const;
  /// @throws Error{kCancelled, kMemoryLimit}
  void offer(int64_t id, SetView set);

  /// Orders the answers: the nearest first, then by id. Call it once.
  /// @param new_id  replaces the ids, which then count from 0; empty: ids stay
  void finish(std::span<const uint32_t> new_id);
  /// After finish().
  std::span<const SimilarSet> answers() const { return kept_.span(); }

  uint64_t offered() const { return offered_; }
  uint64_t compared() const { return compared_; }

 private:
  void prune();

  SetView to_;
  SimilarSetsQuery query_;
  const SetKernel& kernel_;
  ExecutionOptions options_;
  double bound_;
  GrowingBuffer<SimilarSet> kept_;
  size_t prune_at_;
  uint64_t offered_ = 0;
  uint64_t compared_ = 0;
};

}  // namespace batmap
