// The occurrences of each item in the lists of a root, so that the items before and behind an occurrence can be read.
// Nothing is copied or merged. 16 bytes an occurrence. Source: occurrence deliver, Uno, Kiyomi, Arimura (LCM, FIMI 2004).
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "itemsets/forms/transaction_lists.h"

namespace batmap {

/// An occurrence at index `at` of TransactionLists::data(). Its transaction has the items [begin, end).
struct ItemOccurrence {
  uint32_t begin;
  uint32_t at;
  uint32_t end;
  uint32_t weight;
};

/// An occurrence behind another one, in the same transaction.
struct ListedOccurrence {
  uint32_t list;
  uint32_t at;
};

class OccurrenceLists {
 public:
  OccurrenceLists() = default;
  /// The occurrences of the items before `end`.
  OccurrenceLists(const TransactionLists<RootItem>& lists, RootItem end, const ExecutionOptions& options);
  /// The occurrences behind `others`, in the same transactions.
  /// @param index  [root items] 1 + index of the list that an item's occurrences go to; 0: none
  OccurrenceLists(const TransactionLists<RootItem>& lists, std::span<const ItemOccurrence> others,
                  std::span<const uint32_t> index, size_t wanted, const ExecutionOptions& options);

  /// @param others  ascending in `at` @param listed  occurrences behind `others`, in their order
  OccurrenceLists(std::span<const ItemOccurrence> others, std::span<const ListedOccurrence> listed, size_t wanted,
                  const ExecutionOptions& options);

  std::span<const ItemOccurrence> list(size_t k) const {
    return {occurrences_.data() + begin_[k], begin_[k + 1] - begin_[k]};
  }

 private:
  Buffer<uint64_t> begin_;
  Buffer<ItemOccurrence> occurrences_;
};

}  // namespace batmap
