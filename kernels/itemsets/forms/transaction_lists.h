// The horizontal form of a (conditional) database: distinct transactions with weights. For each item it has
// tails: the later items in each transaction of the item. 4 bytes an occurrence and 12 for its tail.
// Source: the tails are those of relation/transactions.h; conditional databases of merged transactions are LCM's (Uno,
// Kiyomi, Arimura, FIMI 2004).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "core/options.h"

namespace batmap {

/// The later items in the transaction of one occurrence.
struct WeightedTail {
  uint32_t begin;
  uint32_t length;
  uint32_t weight;
};

class TransactionLists {
 public:
  /// @param transactions  about how many will be added
  explicit TransactionLists(MemoryMeter& meter, size_t transactions = 0)
      : meter_(&meter),
        items_(meter),
        transactions_(meter),
        slots_(meter, std::bit_ceil(2 * transactions + 64), Fill::kZero) {}

  /// Room for the next transaction, of at most `max_items` items. @return where its items go
  uint32_t* room(size_t max_items) { return items_.room(max_items); }
  /// Takes the transaction that was written to room(). An equal one that exists gets its weight.
  /// @param length  >= 1, items ascending
  void add(size_t length, uint32_t weight);
  /// Makes the tails. Call it after the last add().
  /// @param items  the items below this one get tails
  void link(uint32_t items);

  const uint32_t* data() const { return items_.begin(); }
  uint64_t occurrences() const { return items_.size(); }
  /// The tails of an item, without those of length 0.
  std::span<const WeightedTail> tails_of(uint32_t item) const {
    return {tails_.data() + tails_begin_[item], tails_begin_[item + 1] - tails_begin_[item]};
  }

  struct Transaction {
    uint32_t begin;
    uint32_t length;
    uint32_t weight;
    uint32_t hash;
  };
  std::span<const Transaction> transactions() const { return transactions_.span(); }

 private:
  void rehash();

  MemoryMeter* meter_;
  GrowingBuffer<uint32_t> items_;
  GrowingBuffer<Transaction> transactions_;
  Buffer<uint32_t> slots_;  // open addressing: index in transactions_ + 1, or 0
  Buffer<uint32_t> tails_begin_;
  Buffer<WeightedTail> tails_;
};

}  // namespace batmap
