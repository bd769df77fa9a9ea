// Pairs at or above the threshold. All blocks of a kernel append them to one array, in no order. When the array
// is full, pairs are still counted, so that the caller learns how much room is needed. Cost: one atomic
// addition for each warp and register with any pair. Or their counts are written to a triangle of all pairs.
#pragma once

#include <cstdint>

namespace batmap::cuda {

/// Bits that numbers below `size` need, at least one.
inline int bits_for(uint64_t size) {
  int bits = 1;
  while (bits < 64 && size > uint64_t{1} << bits) ++bits;
  return bits;
}

/// The sum over a warp, valid in its first lane. Call it with whole warps.
__device__ inline uint32_t warp_sum(uint32_t value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

/// The counts of all pairs of some items, a < b, row by row.
struct CountTriangle {
  uint32_t* counts;
  uint64_t items;

  static uint64_t size(uint64_t items) { return items * (items - 1) / 2; }
  __device__ uint32_t& of(uint64_t a, uint64_t b) const { return counts[a * (2 * items - a - 1) / 2 + b - a - 1]; }
};

/// Where the pairs go: to the triangle, if there is one. A key is (a << column_bits) | b.
struct FoundPairs {
  unsigned long long* size;
  unsigned long long capacity;
  uint64_t* keys;
  uint32_t* counts;
  int column_bits;
  CountTriangle triangle;
};

/// See relation/wanted_pairs.h. Ranks are those of the whole job.
struct WantedOnDevice {
  uint32_t items;
  uint32_t first_row;  // rows of this call
  uint32_t last_row;
  uint32_t first_column;
  uint32_t threshold;

  __device__ bool has(uint32_t a, uint32_t b) const {
    return a >= first_row && a < last_row && b < items && b > a && b >= first_column;
  }
};

/// Appends the pairs of a warp. Call it with whole warps. @param is_found  whether this lane has one
__device__ inline void append_pair(const FoundPairs& found, bool is_found, uint32_t a, uint32_t b, uint32_t count) {
  if (found.triangle.counts != nullptr) {
    if (is_found) found.triangle.of(a, b) = count;
    return;
  }
  const unsigned lanes = __ballot_sync(0xffffffffu, is_found);
  if (lanes == 0) return;
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  const int leader = __ffs(static_cast<int>(lanes)) - 1;
  unsigned long long at = 0;
  if (static_cast<int>(lane) == leader) at = atomicAdd(found.size, static_cast<unsigned long long>(__popc(lanes)));
  at = __shfl_sync(0xffffffffu, at, leader) + static_cast<unsigned>(__popc(lanes & ((1u << lane) - 1)));
  if (!is_found || at >= found.capacity) return;
  found.keys[at] = (static_cast<uint64_t>(a) << found.column_bits) | b;
  found.counts[at] = count;
}

}  // namespace batmap::cuda
