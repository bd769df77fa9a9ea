// The batmap as the paper stores it: one byte a slot, with seven bits of the image and the indicator (Amossen
// & Pagh 2011, II and III-A). Used only for comparison with the bit planes of the engine. Exact, failed
// insertions included (III-C).
//
// Three tables of r slots. r is the smallest power of two that is at least 2n, universe / 127 and a cache
// line. The tables are interleaved in chunks of 64 slots (Fig. 4), so sets with different r can be folded.
// Memory: 3r bytes, so a wide universe alone makes a set large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace byte_slots {

/// Slots of one table.
uint64_t range_for(uint64_t cardinality, uint64_t universe);

struct Value {
  uint64_t universe = 0;
  uint64_t range = 0;
  std::vector<uint8_t>
      slots;  // [range / 64][3][64]; 0 is empty, else the indicator (top bit) and 1 + high bits of the image
  std::vector<uint64_t> failed;  // elements that found no slot, ascending
};

/// @param elements  distinct, below the universe
Value build(std::span<const uint64_t> elements, uint64_t universe);

/// |a AND b| of two sets over one universe.
uint64_t and_cardinality(const Value& a, const Value& b);

}  // namespace byte_slots
