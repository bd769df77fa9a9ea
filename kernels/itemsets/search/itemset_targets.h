// Chooses the closed, maximal or generator itemsets from all frequent ones, for searches that know of no
// targets. Every itemset looks up its subsets of one item less and compares the supports. Exact for any search
// that hands over all frequent itemsets. Cost: one look-up for each item of each itemset; 12 bytes and about 40
// more for each itemset. Source: ours, straight from the definitions.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/search/itemset_target.h"

namespace batmap {

/// Collects all steps of a search, then hands them on, in the same order, with the target's itemsets as the answers.
class TargetSink final : public ItemsetSink {
 public:
  /// @param transactions  support of the empty itemset
  TargetSink(ItemsetTarget target, uint32_t transactions, const ExecutionOptions& options)
      : target_(target), transactions_(transactions), options_(options), steps_(*options.memory) {}

  void take(std::span<const ItemsetStep> steps) override;
  /// Call it once, after the search.
  /// @param wanted  gets first item, length and support; an itemset that it refuses remains as a prefix only
  template <typename Wanted>
  void hand_over(ItemsetSink& sink, Wanted wanted) {
    drop_others();
    Rank first{};
    for (ItemsetStep& step : steps_) {
      if (step.length == 1) first = step.item;
      if (!wanted(first, step.length, step.support)) step.support = 0;
    }
    sink.take(steps_.span());
  }

 private:
  void drop_others();

  ItemsetTarget target_;
  uint32_t transactions_;
  const ExecutionOptions& options_;
  GrowingBuffer<ItemsetStep> steps_;
};

}  // namespace batmap
