// Itemsets in any order, and of any numbers, become one tree: steps (itemset_sink.h) in which each itemset comes before
// those that begin with it, and siblings ascend. So two trees are merged, and a tree is walked, from front to back.
// Memory: 4 bytes for each item of each itemset, and 24 an itemset. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "core/poll.h"
#include "itemsets/answers/itemset_sink.h"

namespace batmap {

class ItemsetSorter {
 public:
  explicit ItemsetSorter(const ExecutionOptions& options)
      : options_(options), poll_(options.cancel), numbers_(*options.memory), itemsets_(*options.memory) {}

  /// All: @throws Error{kTooLarge, kMemoryLimit, kCancelled}
  /// @param numbers  of the items, in any order, each once
  void add(std::span<const uint32_t> numbers, uint64_t count);
  size_t size() const { return itemsets_.size(); }

  /// Sorts. Call it once, before visit(). Equal itemsets stay beside each other.
  void sort();
  /// Calls visit(length, number, count, index) for each node of the tree, in order. A node that was not added has a count
  /// of 0 and no index; else the index says which itemset it is, in the order of add().
  static constexpr size_t kNone = SIZE_MAX;
  template <typename Visit>
  void visit(Visit visit) const {
    Poll poll(options_.cancel);
    std::span<const uint32_t> before;
    for (const Itemset& itemset : itemsets_.span()) {
      const std::span<const uint32_t> path = numbers(itemset);
      poll.after(path.size() + 1);
      size_t common = 0;
      while (common < before.size() && common < path.size() && before[common] == path[common]) ++common;
      for (size_t at = common; at < path.size(); ++at)
        visit(static_cast<uint32_t>(at + 1), path[at], at + 1 == path.size() ? itemset.count : 0,
              at + 1 == path.size() ? itemset.index : kNone);
      before = path;
    }
  }

 private:
  struct Itemset {
    uint64_t begin;  // in numbers_
    uint64_t count;
    size_t index;
    size_t length;
  };
  std::span<const uint32_t> numbers(const Itemset& itemset) const {
    return {numbers_.begin() + itemset.begin, itemset.length};
  }

  const ExecutionOptions& options_;
  Poll poll_;
  GrowingBuffer<uint32_t> numbers_;
  GrowingBuffer<Itemset> itemsets_;
};

/// The numbers of the items in steps, as a tree: appended to the tree, which then has the itemsets of both.
/// @param tree  sorted as above; replaced @param steps  the same @throws Error{kMemoryLimit, kCancelled}
void merge_trees(GrowingBuffer<ItemsetStep>& tree, std::span<const ItemsetStep> steps, const ExecutionOptions& options);

}  // namespace batmap
