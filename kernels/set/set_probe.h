// Looking up single elements in a stored set: the pieces that membership, validation and batched probing share.
// A slot is spread over the b + 2 planes of its block, each of which is one cache line; a look-up that fails reads two on
// average, since the valid plane and the low key bits come first.
#pragma once

#include "set/set_view.h"

namespace batmap {

/// One slot and the key that is asked for.
struct SlotProbe {
  const std::byte* byte;  // of the valid plane
  unsigned bit;           // in it
  uint64_t key;
  int key_bits;

  unsigned plane(int i) const { return std::to_integer<unsigned>(byte[static_cast<size_t>(i) * kPlaneBytes]) >> bit & 1; }
  bool valid() const { return plane(0) != 0; }
  bool indicator() const { return plane(key_bits + 1) != 0; }

  /// Valid, and the key is the one asked for.
  bool holds_key() const {
    // Four planes without a branch: by then 95 of 100 look-ups that fail have failed.
    const auto differs = [this](int k) { return plane(k + 1) ^ static_cast<unsigned>(key >> k & 1); };
    if ((plane(0) ^ 1) | differs(0) | differs(1) | differs(2)) return false;
    for (int k = 3; k < key_bits; ++k)
      if (differs(k)) return false;
    return true;
  }
  /// Asks for the lines that nearly every look-up reads.
  void prefetch() const {
    for (size_t i = 0; i < 4; ++i) __builtin_prefetch(byte + i * kPlaneBytes);
  }
};

/// The slot of a batmap's table (0, 1, 2) for an image pi_table(x).
inline SlotProbe slot_of(const SetView& set, int table, uint64_t image) {
  const BatmapShape shape = set.shape();
  const uint64_t position = image & (shape.slots() - 1);
  const auto in_block = static_cast<unsigned>(position % kBlockSlots);
  return {set.block(table, position) + in_block / 8, in_block % 8, image >> shape.range_bits, shape.key_bits};
}

/// Position of x in an ascending sequence of `count` given by element(i), or `count`; halving without branches.
template <typename Element>
bool ascending_contains(uint64_t count, uint64_t x, Element element) {
  if (count == 0) return false;
  uint64_t first = 0;
  for (uint64_t half = count / 2; count > 1; half = count / 2) {
    first += element(first + half) <= x ? half : 0;
    count -= half;
  }
  return element(first) == x;
}

inline bool array_contains(const SetView& set, uint64_t x) {
  return ascending_contains(set.cardinality(), x, [&](uint64_t i) { return set.array_element(i); });
}
inline bool stash_contains(const SetView& set, uint64_t x) {
  return ascending_contains(set.stash(), x, [&](uint64_t i) { return set.stash_element(i); });
}

}  // namespace batmap
