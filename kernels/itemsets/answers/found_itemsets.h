// Itemsets that a search has found, looked up by their root items: an inverted index. 8 bytes an item. Source: textbook.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/item_numbers.h"

namespace batmap {

/// Keeps only the numbers that `others` has, too. Both ascend. @return how many are left
template <typename Number>
inline size_t keep_common(std::span<Number> numbers, std::span<const std::type_identity_t<Number>> others) {
  size_t kept = 0;
  auto other = others.begin();
  for (const Number number : numbers) {
    while (other != others.end() && *other < number) ++other;
    if (other == others.end()) break;
    if (*other == number) numbers[kept++] = number;
  }
  return kept;
}

class FoundItemsets {
 public:
  /// @param items  number of root items
  FoundItemsets(MemoryMeter& meter, size_t items) : items_(meter), begin_(meter) {
    begin_.push_back(0);
    with_.reserve(items);
    for (size_t item = 0; item < items; ++item) with_.emplace_back(meter);
  }

  void add(std::span<const RootItem> items) {
    const auto id = static_cast<uint32_t>(begin_.size() - 1);
    std::copy(items.begin(), items.end(), items_.room(items.size()));
    items_.add(items.size());
    begin_.push_back(items_.size());
    for (const RootItem item : items) with_[index_of(item)].push_back(id);
  }

  std::span<const RootItem> items(uint32_t id) const {
    return {items_.begin() + begin_[id], static_cast<size_t>(begin_[id + 1] - begin_[id])};
  }
  /// How many entries of the index visit_supersets() may read.
  size_t entries(std::span<const RootItem> items_wanted) const {
    size_t sum = 0;
    for (const RootItem item : items_wanted) sum += with(item).size();
    return sum;
  }
  /// Calls visit(items) for each itemset that contains all of `items_wanted`.
  template <typename Visit>
  void visit_supersets(std::span<const RootItem> items_wanted, Visit visit) {
    if (items_wanted.empty()) {
      for (uint32_t id = 0; id + 1 < begin_.size(); ++id) visit(items(id));
      return;
    }
    const RootItem rarest = *std::ranges::min_element(items_wanted, {}, [this](RootItem item) { return with(item).size(); });
    ids_.assign(with(rarest).begin(), with(rarest).end());
    for (const RootItem item : items_wanted)
      if (item != rarest && !ids_.empty()) ids_.resize(keep_common(std::span(ids_), with(item)));
    for (const uint32_t id : ids_) visit(items(id));
  }

 private:
  std::span<const uint32_t> with(RootItem item) const { return with_[index_of(item)].span(); }

  GrowingBuffer<RootItem> items_;
  GrowingBuffer<uint64_t> begin_;
  std::vector<GrowingBuffer<uint32_t>> with_;  // [root items] ids of the itemsets that have it
  std::vector<uint32_t> ids_;
};

}  // namespace batmap
