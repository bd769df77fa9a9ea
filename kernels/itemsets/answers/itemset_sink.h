// How itemsets leave a search: as steps of a walk over their common prefixes.
//
// A step says "the itemset of the first length - 1 items of the step before, and this item". An itemset so costs twelve
// bytes whatever its length, and a reader that writes text or sums up keeps what it has made of the prefix. Items are
// ranks (relation/kept_items.h). Steps come in batches; a reader's prefix lives on from batch to batch.
#pragma once

#include <cstdint>
#include <span>

namespace batmap {

struct ItemsetStep {
  uint32_t item;     // the last of the itemset
  uint32_t length;   // >= 1
  uint32_t support;  // 0: no answer, only a prefix of answers to come
};

class ItemsetSink {
 public:
  virtual ~ItemsetSink() = default;
  /// @param steps  valid during the call
  virtual void take(std::span<const ItemsetStep> steps) = 0;
};

}  // namespace batmap
