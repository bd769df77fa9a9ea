// The bounds of a search. They may narrow while it runs: a search for the k best itemsets raises them.
#pragma once

#include <atomic>
#include <cstdint>

namespace batmap {

struct SearchBounds {
  std::atomic<uint32_t> min_count{1};
  // Itemsets of exactly min_count transactions and more than so many items are not answers. A block of perfect
  // extensions has subsets of one support; of these only the short ones are visited.
  std::atomic<uint32_t> longest_tie{UINT32_MAX};

  uint32_t threshold() const { return min_count.load(std::memory_order_relaxed); }
  /// Length of the longest answers of this support.
  uint32_t longest(uint32_t support) const {
    return support > threshold() ? UINT32_MAX : longest_tie.load(std::memory_order_relaxed);
  }
  /// Can this itemset, or one below it, be an answer?
  bool reaches(uint32_t length, uint32_t support) const { return support >= threshold() && length <= longest(support); }
};

}  // namespace batmap
