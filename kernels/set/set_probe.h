// Looks up single elements in a stored set; shared by membership, validation and batched probing. A slot is
// spread over the b + 2 planes of its block, and each plane is one cache line. An unsuccessful look-up needs
// two planes on average to find out, since the valid plane and the low key bits come first. Source: ours.
#pragma once

#include "set/set_view.h"

namespace batmap {

/// One slot, and the key that is looked up.
struct SlotProbe {
  const std::byte* byte;  // the byte of the valid plane that has the slot's bit
  unsigned bit;           // number of the bit in this byte
  uint64_t key;
  int key_bits;

  unsigned plane(int i) const { return std::to_integer<unsigned>(byte[static_cast<size_t>(i) * kPlaneBytes]) >> bit & 1; }
  bool valid() const { return plane(0) != 0; }
  bool indicator() const { return plane(key_bits + 1) != 0; }

  /// Whether the slot is valid and has the key.
  bool holds_key() const {
    // Four planes without a branch: they end 95 of 100 unsuccessful look-ups.
    const auto differs = [this](int k) { return plane(k + 1) ^ static_cast<unsigned>(key >> k & 1); };
    if ((plane(0) ^ 1) | differs(0) | differs(1) | differs(2)) return false;
    for (int k = 3; k < key_bits; ++k)
      if (differs(k)) return false;
    return true;
  }
  /// Prefetches the lines that nearly every look-up reads.
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

/// Whether x is one of `count` ascending values element(i). Binary search without branches.
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
