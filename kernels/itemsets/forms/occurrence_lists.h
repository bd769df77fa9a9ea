// For every item of a database of lists, where it occurs, so that the items before and behind can be read. Nothing is copied
// or merged. 16 bytes an occurrence. Source: occurrence deliver, Uno, Kiyomi, Arimura (LCM, FIMI 2004).
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "itemsets/forms/transaction_lists.h"

namespace batmap {

/// In a transaction with the items [begin, end) of TransactionLists::data().
struct ItemOccurrence {
  uint32_t begin;
  uint32_t at;
  uint32_t end;
  uint32_t weight;
};

class OccurrenceLists {
 public:
  OccurrenceLists() = default;
  /// Of the items below `items`.
  OccurrenceLists(const TransactionLists& lists, size_t items, const ExecutionOptions& options);
  /// In the transactions of `others` and behind these.
  /// @param place  [items] which of the `wanted` lists an item's occurrences go to, counted from 1; 0: none
  OccurrenceLists(const TransactionLists& lists, std::span<const ItemOccurrence> others, std::span<const uint32_t> place,
                  size_t wanted, const ExecutionOptions& options);

  std::span<const ItemOccurrence> list(size_t k) const {
    return {occurrences_.data() + begin_[k], begin_[k + 1] - begin_[k]};
  }

 private:
  Buffer<uint64_t> begin_;
  Buffer<ItemOccurrence> occurrences_;
};

}  // namespace batmap
