// Counts given itemsets in a relation by a walk over their tree. Each itemset hands its transactions, from its last item on, to
// the itemsets below it. So a transaction is read once for each itemset that it has and that is no leaf of the tree.
//
// Memory: the linked transactions (relation/transactions.h), and 8 bytes for each transaction of the itemsets on one path
// and their siblings, for each thread. Source: occurrence deliver, of Uno, Asai, Uchida, Arimura (LCM, FIMI 2003), over
// the tree of candidates of Agrawal, Srikant (1994).
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "relation/kept_items.h"

namespace batmap {

/// A tree of candidates. Items are ranks of the kept items of the whole (kept_items.h).
class CandidateTree {
 public:
  /// @param steps  each itemset before those that begin with it, siblings ascending; must outlive this object
  CandidateTree(std::span<const ItemsetStep> steps, const ExecutionOptions& options);

  size_t size() const { return steps_.size(); }
  uint32_t item(size_t node) const { return index_of(steps_[node].item); }
  /// The node behind all those below this one.
  size_t end(size_t node) const { return end_[node]; }
  bool has_below(size_t node) const { return end_[node] > node + 1; }

 private:
  std::span<const ItemsetStep> steps_;
  Buffer<uint32_t> end_;
};

/// Adds the number of transactions of each candidate.
/// @param totals, kept  of the whole, of which the relation is a part
/// @param counts        [tree.size()]
/// @throws Error{kTooLarge, kMemoryLimit, kCancelled}, std::bad_alloc
void count_candidates(const CandidateTree& tree, const EncodedRelation& relation, const ItemTotals& totals,
                      const KeptItems& kept, std::span<uint32_t> counts, const ExecutionOptions& options);

}  // namespace batmap
