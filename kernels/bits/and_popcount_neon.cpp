// AND + popcount with NEON, which every 64-bit ARM processor has. It counts the bits of each byte in one instruction, so
// there is no tree of adders. See and_popcount.h for the contract.
#include "bits/and_popcount.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>

namespace batmap {

namespace {

inline uint8x16_t count_and(const uint64_t* a, const uint64_t* b) {
  return vcntq_u8(vreinterpretq_u8_u64(vandq_u64(vld1q_u64(a), vld1q_u64(b))));
}

uint32_t count_pair(const uint64_t* a, const uint64_t* b, size_t words) {
  // Eight words add at most 64 to a sum of 16 bits.
  constexpr size_t kPiece = 8 * (65535 / 64);
  uint32x4_t total = vdupq_n_u32(0);
  for (size_t from = 0; from < words; from += kPiece) {
    const size_t to = std::min(words, from + kPiece);
    uint16x8_t sums = vdupq_n_u16(0);
    for (size_t w = from; w < to; w += 8) {
      const uint8x16_t low = vaddq_u8(count_and(a + w, b + w), count_and(a + w + 2, b + w + 2));
      const uint8x16_t high = vaddq_u8(count_and(a + w + 4, b + w + 4), count_and(a + w + 6, b + w + 6));
      sums = vpadalq_u8(sums, vaddq_u8(low, high));
    }
    total = vpadalq_u16(total, sums);
  }
  return vaddvq_u32(total);
}

}  // namespace

void and_popcount_neon(const AndPopcountTile& tile) {
  for (size_t c = 0; c < tile.column_count; ++c)
    for (size_t r = 0; r < tile.row_count; ++r)
      tile.counts[r * tile.count_stride + c] +=
          count_pair(tile.rows + r * tile.row_stride, tile.columns + c * tile.column_stride, tile.words);
}

}  // namespace batmap

#endif
