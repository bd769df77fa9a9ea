// A hash table of itemsets and their supports. Source: ours; the sums are Zobrist's hashing (1970).
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"

namespace batmap {

// An itemset is identified by the sum of 128 pseudo-random bits of each of its items. The probability that two
// of n itemsets have the same sum is n^2 / 2^129, below 10^-20 for a billion itemsets.
using ItemsetSignature = unsigned __int128;

namespace detail {
inline uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
}  // namespace detail

/// @param item  a Rank or a RootItem; the sums of one table are made of one kind
template <ItemNumber Number>
inline ItemsetSignature signature_of(Number item) {
  const uint64_t number = 2 * uint64_t{index_of(item)};
  return ItemsetSignature{detail::mix(number)} << 64 | detail::mix(number + 1);
}

/// The itemset of the latest of a series of steps.
class ItemsetPrefix {
 public:
  void step(const ItemsetStep& step) {
    items_.resize(step.length - 1);
    items_.push_back(step.item);
    sums_.resize(step.length);
    sums_.push_back(sums_.back() + signature_of(step.item));
  }
  ItemsetSignature sum() const { return sums_.back(); }
  const std::vector<Rank>& items() const { return items_; }

 private:
  std::vector<Rank> items_;
  std::vector<ItemsetSignature> sums_{0};  // of the first 0, 1, ... items
};

/// A hash table that grows: 32 bytes a slot, and at most four of five slots are used.
class ItemsetSupports {
 public:
  struct Entry {
    ItemsetSignature sum;
    uint32_t support;  // 0: free
    uint32_t index;    // index of its step
  };

  /// @param expected  number of itemsets that fit without growing
  ItemsetSupports(MemoryMeter& meter, size_t expected)
      : meter_(&meter), slots_(meter, std::bit_ceil(expected + expected / 4 + 2), Fill::kZero) {}

  /// Adds an itemset that the table does not have yet.
  void insert(ItemsetSignature sum, uint32_t support, size_t index) {
    if (5 * (used_ + 1) > 4 * slots_.size()) grow();
    ++used_;
    slots_[slot(sum)] = {sum, support, static_cast<uint32_t>(index)};
  }
  /// The entry of an itemset. It has support 0 if the itemset was not inserted.
  const Entry& find(ItemsetSignature sum) const { return slots_[slot(sum)]; }

 private:
  size_t slot(ItemsetSignature sum) const {
    size_t at = static_cast<size_t>(sum) & (slots_.size() - 1);
    while (slots_[at].support != 0 && slots_[at].sum != sum) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    Buffer<Entry> before = std::move(slots_);
    slots_ = Buffer<Entry>(*meter_, 2 * before.size(), Fill::kZero);
    for (const Entry& entry : before)
      if (entry.support != 0) slots_[slot(entry.sum)] = entry;
  }

  MemoryMeter* meter_;
  Buffer<Entry> slots_;
  size_t used_ = 0;
};

}  // namespace batmap
