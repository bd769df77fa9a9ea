// What the nodes of a depth-first search count in: items on lists, pairs of items on masks, and all subsets of few items
// in a table. The search for all itemsets and those for a target share it. Source: see depth_first.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "core/poll.h"
#include "itemsets/forms/leaf_order.h"
#include "itemsets/forms/search_root.h"
#include "itemsets/forms/weighted_bits.h"

namespace batmap {

// Prefetch distance in lists, as in pairs/counters/horizontal_counter.cpp.
inline constexpr size_t kPrefetchAhead = 16;

inline size_t lowest(uint64_t bits) { return static_cast<size_t>(std::countr_zero(bits)); }
/// The bits of the first items, at most 64.
inline uint64_t below(size_t items) { return items == 64 ? ~uint64_t{0} : (uint64_t{1} << items) - 1; }
inline bool contains(uint64_t bits, uint64_t others) { return (others & ~bits) == 0; }
/// Of the root's items on masks, the bits of those before this one.
inline uint64_t masked_before(const SearchRoot& root, RootItem item) {
  return below(index_of(item) - index_of(root.first_masked));
}

/// A part of a transaction, which stands for as many equal ones as its weight.
template <ItemNumber Item>
struct WeightedItems {
  std::span<const Item> items;
  uint32_t weight;
};

/// Adds up the weights of each item.
/// @param counts   [items] added to
/// @param list_at  list_at(k): one of the lists, a WeightedItems
/// @param found    found(item), in any order, for each item that reaches `min_count`
/// @return the sum of the lengths
/// Inlined, so that what list_at() captures stays in registers: else a search of lists takes 1.5 % more instructions.
template <typename ListAt, typename Found>
[[gnu::always_inline]] inline uint64_t count_items(uint32_t* counts, size_t lists, uint32_t min_count, Poll& poll,
                                                   const ListAt& list_at, const Found& found) {
  uint64_t increments = 0;
  for (size_t k = 0; k < lists; ++k) {
    if (k + kPrefetchAhead < lists) __builtin_prefetch(list_at(k + kPrefetchAhead).items.data());
    const WeightedItems list = list_at(k);
    for (const auto item : list.items) {
      const uint32_t count = counts[index_of(item)] += list.weight;
      // True if this increment took the count from below `min_count` to `min_count` or more.
      if (count - min_count < list.weight) [[unlikely]]
        found(item);
    }
    increments += list.items.size();
    if ((k & 0xfff) == 0xfff) poll.after(1u << 16);
  }
  poll.after(increments);
  return increments;
}

/// Sets counts to zero again. If the lists are short, clears only the counts of their items.
/// @param used        all counts that may be above zero
/// @param increments  what count_items() returned
template <typename ListAt>
void clear_counts(uint32_t* counts, std::span<uint32_t> used, uint64_t increments, size_t lists, const ListAt& list_at) {
  constexpr uint64_t kSparseShare = 8;  // fewer increments than one for each so many counters
  if (increments * kSparseShare >= used.size()) return std::fill(used.begin(), used.end(), 0u);
  for (size_t k = 0; k < lists; ++k)
    for (const auto item : list_at(k).items) counts[index_of(item)] = 0;
}

/// The supports of the pairs of candidates, for the nodes on masks of the current path.
class MaskPairs {
 public:
  MaskPairs(const AndPopcountKernel& kernel, const ExecutionOptions& options) : kernel_(kernel), options_(options) {}

  /// How many nodes there are.
  size_t depth() const { return depth_; }
  /// Begins a node. @return [64][64] its table, as the last node at this depth left it
  const uint32_t* push() {
    if (tables_.size() == depth_) tables_.emplace_back(*options_.memory, kMaskItems * kMaskItems);
    return tables_[depth_++].data();
  }
  /// Counts the pairs of the node. Only the rows of its candidates are valid.
  void count(const WeightedMasks& list, uint64_t candidates, Poll& poll) {
    uint32_t* const pairs = tables_[depth_ - 1].data();
    for (uint64_t rest = candidates; rest != 0; rest &= rest - 1)
      std::fill_n(pairs + lowest(rest) * kMaskItems, kMaskItems, 0u);
    count_mask_pairs(list, candidates, kernel_, options_, poll, pairs);
  }
  /// Ends the node.
  void pop() { --depth_; }

 private:
  const AndPopcountKernel& kernel_;
  const ExecutionOptions& options_;
  std::vector<Buffer<uint32_t>> tables_;
  size_t depth_ = 0;
};

/// The supports of all subsets of at most kLeafItems items.
struct LeafTable {
  static constexpr size_t kSize = size_t{1} << kLeafItems;

  uint32_t* clear(int items) {
    std::fill_n(supports, std::max<size_t>(8, size_t{1} << items), 0u);
    return supports;
  }

  alignas(32) uint32_t supports[kSize];
};

}  // namespace batmap
