// The itemset of each step of a walk, with its items in ascending order of value. Steps arrive in order of
// rank. To insert the new item and to remove old ones moves a few items and needs no sort. Memory: 16 bytes for
// each item of the longest itemset. Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/memory.h"

namespace batmap {

class AscendingItemset {
 public:
  AscendingItemset(MemoryMeter& meter, size_t longest) : walked_(meter, longest), ascending_(meter, longest) {}

  /// Takes the next step: the first length - 1 items of the step before, and this item. Never fails.
  void step(uint32_t length, int64_t item) {
    while (length_ >= length) {
      int64_t* const end = ascending_.data() + length_;
      int64_t* const old = std::lower_bound(ascending_.data(), end, walked_[--length_]);
      std::copy(old + 1, end, old);
    }
    walked_[length_] = item;
    size_t index = length_++;
    for (; index > 0 && ascending_[index - 1] > item; --index) ascending_[index] = ascending_[index - 1];
    ascending_[index] = item;
  }

  std::span<const int64_t> items() const { return {ascending_.data(), length_}; }

 private:
  Buffer<int64_t> walked_;     // [longest] in the order of the steps
  Buffer<int64_t> ascending_;  // [longest]
  size_t length_ = 0;
};

}  // namespace batmap
