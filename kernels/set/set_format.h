// The bytes of a set in prepared form, format version 1: constants, choice of the container, and geometry. FORMAT.md explains
// them, and compact/compact_format.h has version 2. The functions depend on cardinality, width and largest element only. Source:
// Amossen & Pagh 2011, sections II and III; bit planes, containers and the stash inside the value are ours.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "compact/compact_format.h"

namespace batmap {

/// How the elements are stored. The first three are those of the prepared form, with their codes.
enum class Container : uint8_t { kArray = 1, kBatmap = 2, kBitmap = 3, kCompact = 4 };

inline constexpr int kPreparedVersion = 1;
inline constexpr int kMaxWidth = 62;            // universe [0, 2^62): every element is a non-negative int64
inline constexpr uint64_t kSmallSet = 256;      // smaller sets are never batmaps; from bench/set_bench.cpp
inline constexpr size_t kSetHeaderBytes = 8;    // prepared form: version | container, width, 48 bits of cardinality
inline constexpr size_t kStashHeaderBytes = 8;  // batmaps: u32 count, u32 zero
inline constexpr int kBlockBits = 9;
inline constexpr uint64_t kBlockSlots = 512;  // slots of a block, all of one table
inline constexpr size_t kPlaneBytes = 64;     // one bit of each slot of a block
inline constexpr int kTables = 3;
inline constexpr size_t kMaxSetBytes = 0x3fffffff - 4;  // a varlena of at most 1 GB, less its header
/// The first bytes of a value of either form that SetView::header() needs.
inline constexpr size_t kSetHeadBytes = kCompactHeadBytes;

/// 2^width. @param width 0 .. 62
constexpr uint64_t universe_of(int width) { return uint64_t{1} << width; }

/// The smallest width with 2^width >= universe. @param universe  1 .. 2^62; 0 counts as 1
constexpr int width_for(uint64_t universe) { return universe <= 1 ? 0 : 64 - std::countl_zero(universe - 1); }

/// The number of slots of a table, and the layout of the planes. Both follow from cardinality and width.
struct BatmapShape {
  int range_bits;  // rho: r = 2^rho slots a table
  int key_bits;    // b = width - rho
  uint64_t slots() const { return uint64_t{1} << range_bits; }
  uint64_t groups() const { return slots() / kBlockSlots; }  // a group: one block of each table
  size_t planes() const { return static_cast<size_t>(key_bits) + 2; }
  size_t block_bytes() const { return planes() * kPlaneBytes; }
  size_t group_bytes() const { return kTables * block_bytes(); }
  uint64_t bytes() const { return groups() * group_bytes(); }
};

/// The shape with r = the smallest power of two >= 2 * cardinality, at least one block. key_bits may be
/// negative; then no batmap exists.
constexpr BatmapShape batmap_shape(uint64_t cardinality, int width) {
  const int range_bits = std::max(kBlockBits, width_for(2 * cardinality));
  return {range_bits, width - range_bits};
}

/// Bytes of an array element. @param width 0 .. 62
constexpr size_t array_element_bytes(int width) { return width <= 32 ? 4 : 8; }

/// Bytes of a bitmap: its words up to that of the largest element, `last`.
constexpr uint64_t bitmap_bytes(uint64_t last) { return 8 * (last / 64 + 1); }

/// The container of every set of this size. Below kSmallSet: an array, unless a bitmap over the whole
/// universe takes fewer bytes. Else: a bitmap if the whole universe takes no more bits than the planes (2^b
/// <= 3 (b + 2), that is b <= 4), and a batmap otherwise.
constexpr Container container_for(uint64_t cardinality, int width) {
  if (cardinality < kSmallSet)
    return cardinality * array_element_bytes(width) <= bitmap_bytes(universe_of(width) - 1) ? Container::kArray
                                                                                            : Container::kBitmap;
  return batmap_shape(cardinality, width).key_bits <= 4 ? Container::kBitmap : Container::kBatmap;
}

/// Bytes of a value with an empty stash; each stash element adds 8.
/// @param last  the largest element; only the size of a bitmap depends on it
constexpr uint64_t encoded_size(uint64_t cardinality, int width, uint64_t last) {
  switch (container_for(cardinality, width)) {
    case Container::kArray: return kSetHeaderBytes + cardinality * array_element_bytes(width);
    case Container::kBitmap: return kSetHeaderBytes + bitmap_bytes(last);
    case Container::kBatmap: return kSetHeaderBytes + kStashHeaderBytes + batmap_shape(cardinality, width).bytes();
    case Container::kCompact: break;  // not a choice of container_for()
  }
  return 0;
}

}  // namespace batmap
