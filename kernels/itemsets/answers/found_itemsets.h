// Itemsets that a search has found, looked up by their items: an inverted index. 8 bytes an item. Source: textbook.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"

namespace batmap {

/// Keeps only the numbers that `others` has, too. Both ascend. @return how many are left
inline size_t keep_common(std::span<uint32_t> numbers, std::span<const uint32_t> others) {
  size_t kept = 0;
  auto other = others.begin();
  for (const uint32_t number : numbers) {
    while (other != others.end() && *other < number) ++other;
    if (other == others.end()) break;
    if (*other == number) numbers[kept++] = number;
  }
  return kept;
}

class FoundItemsets {
 public:
  /// @param items  number of different items
  FoundItemsets(MemoryMeter& meter, size_t items) : items_(meter), begin_(meter) {
    begin_.push_back(0);
    with_.reserve(items);
    for (size_t item = 0; item < items; ++item) with_.emplace_back(meter);
  }

  void add(std::span<const uint32_t> items) {
    const auto id = static_cast<uint32_t>(begin_.size() - 1);
    std::copy(items.begin(), items.end(), items_.room(items.size()));
    items_.add(items.size());
    begin_.push_back(items_.size());
    for (const uint32_t item : items) with_[item].push_back(id);
  }

  std::span<const uint32_t> items(uint32_t id) const {
    return {items_.begin() + begin_[id], static_cast<size_t>(begin_[id + 1] - begin_[id])};
  }
  /// Calls visit(items) for each itemset that contains all of `items_wanted`.
  template <typename Visit>
  void visit_supersets(std::span<const uint32_t> items_wanted, Visit visit) {
    if (items_wanted.empty()) {
      for (uint32_t id = 0; id + 1 < begin_.size(); ++id) visit(items(id));
      return;
    }
    const uint32_t rarest = *std::min_element(items_wanted.begin(), items_wanted.end(),
                                              [this](uint32_t a, uint32_t b) { return with_[a].size() < with_[b].size(); });
    ids_.assign(with_[rarest].begin(), with_[rarest].end());
    for (const uint32_t item : items_wanted)
      if (item != rarest && !ids_.empty()) ids_.resize(keep_common(ids_, with_[item].span()));
    for (const uint32_t id : ids_) visit(items(id));
  }

 private:
  GrowingBuffer<uint32_t> items_;
  GrowingBuffer<uint64_t> begin_;
  std::vector<GrowingBuffer<uint32_t>> with_;  // [items] ids of the itemsets that have it
  std::vector<uint32_t> ids_;
};

}  // namespace batmap
