// Which pairs of items are counted, by rank, and how far. A triangle: all pairs of the items before `leading` with later
// ones. A rectangle: the items before `leading` with those from there on, which are another kind of thing (join-project).
#pragma once

#include <algorithm>
#include <cstdint>

namespace batmap {

struct WantedPairs {
  uint32_t leading = 0;          // pairs (a, b), a < b, are wanted for a < leading
  uint32_t first_column = 0;     // and b >= first_column: 0, or, in a rectangle, `leading`
  uint32_t least = 1;            // what has fewer is no answer
  uint32_t enough = UINT32_MAX;  // counts need not be told apart from here on: a method may stop

  bool rectangle() const { return first_column > 0; }
  /// The first partner of `a`.
  uint32_t first_after(uint32_t a) const { return std::max(a + 1, first_column); }
};

}  // namespace batmap
