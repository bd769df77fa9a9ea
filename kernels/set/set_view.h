// A stored set of either form, read in place. FORMAT.md describes the bytes. Cost: O(1) to open a prepared set, the
// directory of a compact one (compact/compact_view.h); nothing is allocated. Source: ours.
#pragma once

#include <cassert>
#include <span>

#include "compact/compact_view.h"
#include "core/options.h"
#include "set/set_format.h"

namespace batmap {

/// Never owns, trivially copyable. The bytes may be unaligned and must outlive the view. Untrusted bytes must
/// pass validate() first: open() checks the header only.
class SetView {
 public:
  /// Checks that header, sizes and codes are consistent. O(1). @throws Error{kInvalidData}
  static SetView open(std::span<const std::byte> bytes);

  /// A view of a value whose first bytes alone are available: at least kSetHeadBytes, or all of a shorter value.
  /// It knows everything but the elements; contains() and element functions must not be called.
  /// @throws Error{kInvalidData}
  static SetView header(std::span<const std::byte> first_bytes, size_t whole_size);

  /// The universe is [0, 2^width). A compact set has no declared universe: this is the least whole number of blocks,
  /// rounded up to a power of two.
  int width() const { return width_; }
  uint64_t universe() const { return universe_of(width_); }
  uint64_t cardinality() const { return cardinality_; }
  bool empty() const { return cardinality_ == 0; }
  Container container() const { return container_; }
  size_t bytes() const { return bytes_; }
  std::span<const std::byte> span() const { return {data_, bytes_}; }
  bool is_compact() const { return container_ == Container::kCompact; }

  CompactView compact() const {
    assert(is_compact());
    return CompactView::reopen(span(), cardinality_);
  }

  /// Batmaps: number of elements in the stash. 0 for the others.
  uint64_t stash() const { return stash_; }
  /// Batmaps: number of slots of one table (r). 0 for the others.
  uint64_t slots() const { return container_ == Container::kBatmap ? shape().slots() : 0; }

  BatmapShape shape() const {
    assert(container_ == Container::kBatmap);
    return {range_bits_, width_ - range_bits_};
  }
  /// The bytes behind the header: array elements, bitmap words or the stash header.
  const std::byte* payload() const { return data_ + kSetHeaderBytes; }
  /// Arrays: element i, ascending in i.
  uint64_t array_element(uint64_t i) const {
    const std::byte* at = payload() + i * array_element_bytes(width_);
    return width_ <= 32 ? load_le<uint32_t>(at) : load_le<uint64_t>(at);
  }
  /// Batmaps: stash element i, ascending in i.
  uint64_t stash_element(uint64_t i) const { return load_le<uint64_t>(payload() + kStashHeaderBytes + 8 * i); }
  /// Batmaps: the first group of blocks.
  const std::byte* planes() const { return payload() + kStashHeaderBytes + 8 * stash_; }
  /// Batmaps: the block of a table (0, 1, 2) that has a position.
  const std::byte* block(int table, uint64_t position) const {
    const BatmapShape s = shape();
    return planes() + position / kBlockSlots * s.group_bytes() + static_cast<size_t>(table) * s.block_bytes();
  }
  /// Bitmaps: number of 64-bit words up to that of the largest element, at least 1. All elements are below bits().
  uint64_t words() const {
    assert(container_ == Container::kBitmap);
    return (bytes_ - kSetHeaderBytes) / 8;
  }
  uint64_t bits() const { return 64 * words(); }
  uint64_t word(uint64_t i) const { return load_le<uint64_t>(payload() + 8 * i); }

  /// Membership of any x, also outside the universe. Arrays: binary search. Bitmaps: one bit. Batmaps: two of
  /// the three tables (an element has slots in two), then the stash.
  bool contains(uint64_t x) const;

 private:
  const std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  uint64_t cardinality_ = 0;
  uint64_t stash_ = 0;
  int width_ = 0;
  int range_bits_ = 0;
  Container container_ = Container::kArray;
};

/// Checks untrusted bytes in full: elements sorted, distinct and in range; every key in exactly two tables
/// with consistent indicators; stash disjoint from the tables; cardinality; padding; the one container of
/// this size; for the compact form see validate_compact(). O(size), allocates nothing.
/// @throws Error{kInvalidData}, Error{kCancelled}
void validate(std::span<const std::byte> bytes, const CancelToken& cancel = {});

}  // namespace batmap
