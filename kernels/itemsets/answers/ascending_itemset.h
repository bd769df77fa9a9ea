// The itemset of each step of a walk, ascending by item value. Steps leave it by the order of ranks; putting the new item in
// its place and taking the old one out is two short moves instead of a sort. 16 bytes an item of the longest itemset.
// Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/memory.h"

namespace batmap {

class AscendingItemset {
 public:
  AscendingItemset(MemoryMeter& meter, size_t longest) : walked_(meter, longest), ascending_(meter, longest) {}

  /// The first length - 1 items of the step before, and this one. Nothing can fail.
  void step(uint32_t length, int64_t item) {
    while (length_ >= length) {
      int64_t* const end = ascending_.data() + length_;
      int64_t* const old = std::lower_bound(ascending_.data(), end, walked_[--length_]);
      std::copy(old + 1, end, old);
    }
    walked_[length_] = item;
    size_t place = length_++;
    for (; place > 0 && ascending_[place - 1] > item; --place) ascending_[place] = ascending_[place - 1];
    ascending_[place] = item;
  }

  std::span<const int64_t> items() const { return {ascending_.data(), length_}; }

 private:
  Buffer<int64_t> walked_;     // [longest] as they came
  Buffer<int64_t> ascending_;  // [longest]
  size_t length_ = 0;
};

}  // namespace batmap
