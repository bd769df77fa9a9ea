// The horizontal form of a (conditional) database: distinct transactions with weights, and for every item where its partners
// lie. 4 bytes an occurrence and 12 for its tail.
// Source: the tails are those of relation/transactions.h; conditional databases of merged transactions are LCM's (Uno,
// Kiyomi, Arimura, FIMI 2004).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "core/options.h"

namespace batmap {

/// The later items of one occurrence's transaction.
struct WeightedTail {
  uint32_t begin;
  uint32_t length;
  uint32_t weight;
};

class TransactionLists {
 public:
  /// @param transactions  how many will be added, about
  explicit TransactionLists(MemoryMeter& meter, size_t transactions = 0)
      : meter_(&meter),
        items_(meter),
        transactions_(meter),
        slots_(meter, std::bit_ceil(2 * transactions + 64), Fill::kZero) {}

  /// Room for the next transaction. @return where its items go
  uint32_t* room(size_t most) { return items_.room(most); }
  /// Takes the transaction that was written there. One that is there already gains in weight.
  /// @param length  >= 1, items ascending
  void add(size_t length, uint32_t weight);
  /// For tails_of. To be called after the last transaction.
  /// @param items  those below get their tails
  void link(uint32_t items);

  const uint32_t* data() const { return items_.begin(); }
  uint64_t occurrences() const { return items_.size(); }
  /// Those of length 0 are left out.
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
  Buffer<uint32_t> slots_;  // open addressing: place in transactions_ + 1, or 0
  Buffer<uint32_t> tails_begin_;
  Buffer<WeightedTail> tails_;
};

}  // namespace batmap
