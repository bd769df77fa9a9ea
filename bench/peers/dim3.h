// The peer DIM3 (Huang and Chen, "Density-optimized Intersection-free Mapping and Matrix Multiplication for Join-Project
// Operations", VLDB 2022), from a checkout of its public sources. See dim3.cpp.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace batmap::bench {

/// Rows (a, b) of the left, or (c, b) of the right.
using Dim3Rows = std::vector<std::pair<int, int>>;

struct Dim3Answer {
  size_t pairs = 0;  // distinct (a, c); 0: the program has no such variant
  double seconds = 0;
};

/// All (a, c) that share a b. @param threads  1 or 2
Dim3Answer dim3_find(const Dim3Rows& left, const Dim3Rows& right, int threads);
/// The same with the number of shared b; on one thread.
Dim3Answer dim3_count(const Dim3Rows& left, const Dim3Rows& right);

}  // namespace batmap::bench
