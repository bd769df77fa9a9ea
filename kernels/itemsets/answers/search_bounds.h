// How far a search goes, which may change while it runs: the k best itemsets need less and less.
#pragma once

#include <atomic>
#include <cstdint>

namespace batmap {

struct SearchBounds {
  std::atomic<uint32_t> min_count{1};
  // Of itemsets of exactly min_count transactions, those of more items are no answers: of a block of perfect extensions,
  // whose subsets all have one support, only the short ones are looked at.
  std::atomic<uint32_t> longest_tie{UINT32_MAX};

  uint32_t least() const { return min_count.load(std::memory_order_relaxed); }
  /// The longest answers of that support.
  uint32_t longest(uint32_t support) const {
    return support > least() ? UINT32_MAX : longest_tie.load(std::memory_order_relaxed);
  }
  /// Is an itemset an answer, or are there any below it?
  bool reaches(uint32_t length, uint32_t support) const { return support >= least() && length <= longest(support); }
};

}  // namespace batmap
