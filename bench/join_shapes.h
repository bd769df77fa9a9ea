// Joins whose sides have as many rows, with values drawn from domains, as by the generator of DIM3 (Huang and Chen, VLDB 2022).
#pragma once

#include <cmath>
#include <cstdint>

#include "bench/instances.h"

namespace batmap::bench {

struct JoinShape {
  const char* name;
  uint64_t rows;   // of each side
  uint64_t items;  // the domains of a and c
  uint64_t keys;   // the domain of b
  double skew;     // b is a uniform number to this power, times the domain
};

// Pairs by paths: 7 million by 15, 64 by 90, 100 by 9,000, 100 by 100; and b of which few have most rows.
inline constexpr JoinShape kJoinShapes[] = {{"small", 1'000'000, 2'900, 66'667, 1},
                                            {"middle", 3'000'000, 11'000, 100'000, 1},
                                            {"dense", 9'500'000, 10'000, 10'000, 1},
                                            {"sparse", 10'000'000, 1'000'000, 1'000'000, 1},
                                            {"skewed", 2'000'000, 10'000, 1'000'000, 4}};

/// Calls emit(key, item) for each row of a side. @param side  0 or 1
template <typename Emit>
void generate_side(const JoinShape& shape, size_t side, Emit emit) {
  Random random(side + 1);
  for (uint64_t row = 0; row < shape.rows; ++row) {
    const double key = std::pow(random.unit(), shape.skew) * static_cast<double>(shape.keys);
    emit(static_cast<int64_t>(key), static_cast<int64_t>(random.below(shape.items)));
  }
}

}  // namespace batmap::bench
