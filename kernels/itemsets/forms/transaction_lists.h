// The horizontal form of a (conditional) database: distinct transactions with weights. For each item it has
// tails: the later items in each transaction of the item. 4 bytes an occurrence and 12 for its tail.
// Source: the tails are those of relation/transactions.h; conditional databases of merged transactions are LCM's (Uno,
// Kiyomi, Arimura, FIMI 2004).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "relation/item_numbers.h"

namespace batmap {

/// The later items in the transaction of one occurrence.
struct WeightedTail {
  uint32_t begin;
  uint32_t length;
  uint32_t weight;
};

/// Equal transactions, merged.
struct MergedTransaction {
  uint32_t begin;
  uint32_t length;
  uint32_t weight;
  uint32_t hash;
};

/// @tparam Item  what the lists call an item: RootItem at the root of a search, NodeItem at a node below it
template <ItemNumber Item>
class TransactionLists {
 public:
  /// @param transactions  about how many will be added
  explicit TransactionLists(MemoryMeter& meter, size_t transactions = 0)
      : meter_(&meter),
        items_(meter),
        transactions_(meter),
        slots_(meter, std::bit_ceil(2 * transactions + 64), Fill::kZero) {}

  /// Room for the next transaction, of at most `max_items` items. @return where its items go
  Item* room(size_t max_items) { return items_.room(max_items); }
  /// Takes the transaction that was written to room(). An equal one that exists gets its weight.
  /// @param length  >= 1, items ascending
  void add(size_t length, uint32_t weight);
  /// Makes the tails. Call it after the last add().
  /// @param end  the items before this one get tails
  void link(Item end, const CancelToken& cancel);

  const Item* data() const { return items_.begin(); }
  uint64_t occurrences() const { return items_.size(); }
  /// The tails of an item, without those of length 0.
  std::span<const WeightedTail> tails_of(Item item) const {
    const uint32_t* const begin = tails_begin_.data() + index_of(item);
    return {tails_.data() + begin[0], begin[1] - begin[0]};
  }
  std::span<const MergedTransaction> transactions() const { return transactions_.span(); }

 private:
  void rehash();

  MemoryMeter* meter_;
  GrowingBuffer<Item> items_;
  GrowingBuffer<MergedTransaction> transactions_;
  Buffer<uint32_t> slots_;        // open addressing: index in transactions_ + 1, or 0
  Buffer<uint32_t> tails_begin_;  // [items + 1]
  Buffer<WeightedTail> tails_;
};

}  // namespace batmap
