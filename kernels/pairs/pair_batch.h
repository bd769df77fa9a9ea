// What a run of pairs hands over: the pairs, and beside them the supports of their items if the question asks for them. The
// two are apart, because most questions of a join need only the first, which is read by a loop over three words. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/memory.h"

namespace batmap {

constexpr uint64_t kBatchRows = 4096;  // answers that are handed over at once

/// One answer. Items are values, not ranks.
struct PairRow {
  int64_t item_a;
  int64_t item_b;
  uint64_t support;
  uint64_t support_a;
  uint64_t support_b;
};

/// The part of an answer that every question needs.
struct ItemPair {
  int64_t item_a;
  int64_t item_b;
  uint64_t support;
};

/// The other part: the supports of the two items.
struct PairSupports {
  uint64_t a;
  uint64_t b;
};

/// Answers in the memory of a run. They are valid until the run is asked for the next ones.
class PairBatch {
 public:
  PairBatch() = default;
  /// @param supports  empty: they were not asked for; then rows have supports of 0
  explicit PairBatch(std::span<const ItemPair> pairs, std::span<const PairSupports> supports = {})
      : pairs_(pairs), supports_(supports) {}

  size_t size() const { return pairs_.size(); }
  bool empty() const { return pairs_.empty(); }
  std::span<const ItemPair> pairs() const { return pairs_; }
  std::span<const PairSupports> supports() const { return supports_; }

  PairBatch part(size_t first, size_t count) const {
    return PairBatch(pairs_.subspan(first, count), supports_.empty() ? supports_ : supports_.subspan(first, count));
  }

  PairRow operator[](size_t k) const {
    const ItemPair& pair = pairs_[k];
    const PairSupports supports = supports_.empty() ? PairSupports{0, 0} : supports_[k];
    return {pair.item_a, pair.item_b, pair.support, supports.a, supports.b};
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PairRow;
    using difference_type = std::ptrdiff_t;
    using pointer = const PairRow*;
    using reference = PairRow;

    Iterator(const PairBatch& batch, size_t at) : batch_(&batch), at_(at) {}
    PairRow operator*() const { return (*batch_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const PairBatch* batch_;
    size_t at_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  std::span<const ItemPair> pairs_;
  std::span<const PairSupports> supports_;
};

/// Owns answers.
class PairList {
 public:
  PairList(MemoryMeter& meter, bool has_supports) : pairs_(meter), supports_(meter), has_supports_(has_supports) {}

  static constexpr size_t bytes_of_row(bool has_supports) {
    return sizeof(ItemPair) + (has_supports ? sizeof(PairSupports) : 0);
  }

  void push_back(const PairRow& row) {
    pairs_.push_back({row.item_a, row.item_b, row.support});
    if (has_supports_) supports_.push_back({row.support_a, row.support_b});
  }
  struct Room {
    ItemPair* pairs;
    PairSupports* supports;  // nullptr: they are not asked for
  };
  /// Makes an empty list one of `count` rows, which the caller then writes.
  Room fill(size_t count) {
    const Room room{pairs_.room_for_all(count), has_supports_ ? supports_.room_for_all(count) : nullptr};
    pairs_.add(count);
    if (has_supports_) supports_.add(count);
    return room;
  }
  void clear() noexcept {
    pairs_.shrink(0);
    supports_.shrink(0);
  }
  size_t size() const { return pairs_.size(); }
  PairBatch batch() const { return PairBatch(pairs_.span(), supports_.span()); }

 private:
  GrowingBuffer<ItemPair> pairs_;
  GrowingBuffer<PairSupports> supports_;
  bool has_supports_;
};

}  // namespace batmap
