// Sorts and merges itemsets. See itemset_sorter.h.
#include "itemsets/counts/itemset_sorter.h"

#include <algorithm>
#include <utility>

#include "core/poll.h"

namespace batmap {

void ItemsetSorter::add(std::span<const uint32_t> numbers, uint64_t count) {
  poll_.after(16 * numbers.size() + 8);  // for the sorting, too
  uint32_t* const own = numbers_.room(numbers.size());
  std::copy(numbers.begin(), numbers.end(), own);
  std::sort(own, own + numbers.size());
  itemsets_.push_back({numbers_.size(), count, itemsets_.size(), numbers.size()});
  numbers_.add(numbers.size());
}

void ItemsetSorter::sort() {
  std::sort(itemsets_.begin(), itemsets_.end(), [this](const Itemset& x, const Itemset& y) {
    poll_.after(std::min(x.length, y.length) + 1);
    return std::ranges::lexicographical_compare(numbers(x), numbers(y));
  });
}

void merge_trees(GrowingBuffer<ItemsetStep>& tree, std::span<const ItemsetStep> steps, const ExecutionOptions& options) {
  GrowingBuffer<ItemsetStep> merged(*options.memory);
  Poll poll(options.cancel);
  const std::span<const ItemsetStep> trees[2] = {tree.span(), steps};
  size_t at[2] = {0, 0};
  while (at[0] < trees[0].size() || at[1] < trees[1].size()) {
    poll.after(8);
    // As in add_two() of itemset_counts.cpp: the longer node lies below one that the other walk has passed.
    const auto key = [&](int k) {
      if (at[k] == trees[k].size()) return uint64_t{UINT32_MAX} << 32 | UINT32_MAX;
      return uint64_t{~trees[k][at[k]].length} << 32 | index_of(trees[k][at[k]].item);
    };
    const uint64_t first = std::min(key(0), key(1));
    ItemsetStep step{};
    for (int k = 0; k < 2; ++k) {
      if (at[k] == trees[k].size() || key(k) != first) continue;
      const ItemsetStep& own = trees[k][at[k]++];
      step = {own.item, own.length, step.support + own.support};
    }
    merged.push_back(step);
  }
  tree = std::move(merged);
}

}  // namespace batmap
