// Which pairs of items are counted, by rank, and how far. A triangle pairs the items before `leading` with
// all later ones. A rectangle pairs the items before `leading` with those from `first_column` on, which are
// another kind (join-project).
#pragma once

#include <algorithm>
#include <cstdint>

namespace batmap {

struct WantedPairs {
  uint32_t leading = 0;          // pairs (a, b), a < b, are wanted if a < leading
  uint32_t first_column = 0;     // and b >= first_column; 0, or `leading` in a rectangle
  uint32_t min_count = 1;        // minimum support of an answer
  uint32_t enough = UINT32_MAX;  // a method may stop counting a pair here

  bool rectangle() const { return first_column > 0; }
  /// The first partner of `a` that is wanted.
  uint32_t first_after(uint32_t a) const { return std::max(a + 1, first_column); }
};

}  // namespace batmap
