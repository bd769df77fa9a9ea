// How itemsets leave a search: as steps of a walk over their common prefixes.
//
// A step stands for the itemset of the first length - 1 items of the step before, and this item. So an itemset
// costs twelve bytes whatever its length, and a reader that writes text or adds up can keep its work on the prefix.
// Items are ranks (relation/kept_items.h). Steps come in batches; the prefix carries over from batch to batch.
#pragma once

#include <cstdint>
#include <span>

#include "relation/item_numbers.h"

namespace batmap {

struct ItemsetStep {
  Rank item;         // the last item of the itemset
  uint32_t length;   // >= 1
  uint32_t support;  // 0: not an answer, only a prefix of later answers
};

class ItemsetSink {
 public:
  virtual ~ItemsetSink() = default;
  /// @param steps  valid during the call
  virtual void take(std::span<const ItemsetStep> steps) = 0;
};

}  // namespace batmap
