// AND + popcount with AVX-512 VPOPCNTDQ. Blocks of 4 rows x 4 columns keep sixteen accumulators in registers,
// so eight loads serve sixteen 512-bit words. See and_popcount.h for the contract.
#include "bits/and_popcount.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")

namespace batmap {

namespace {

inline uint32_t sum_lanes(__m512i v) {
  alignas(64) uint64_t lanes[8];
  _mm512_store_si512(lanes, v);
  return static_cast<uint32_t>(lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7]);
}

template <int kRows, int kColumns>
inline void count_block(const AndPopcountTile& tile, size_t r, size_t c) {
  __m512i sums[kRows][kColumns];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) sums[i][j] = _mm512_setzero_si512();
  const uint64_t* rows = tile.rows + r * tile.row_stride;
  const uint64_t* columns = tile.columns + c * tile.column_stride;
  for (size_t w = 0; w < tile.words; w += 8) {
    __m512i column[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j)
      column[j] = _mm512_loadu_si512(columns + static_cast<size_t>(j) * tile.column_stride + w);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const __m512i row = _mm512_loadu_si512(rows + static_cast<size_t>(i) * tile.row_stride + w);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j)
        sums[i][j] = _mm512_add_epi64(sums[i][j], _mm512_popcnt_epi64(_mm512_and_si512(row, column[j])));
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      tile.counts[(r + static_cast<size_t>(i)) * tile.count_stride + c + static_cast<size_t>(j)] += sum_lanes(sums[i][j]);
}

template <int kRows>
inline void count_rows(const AndPopcountTile& tile, size_t r) {
  size_t c = 0;
  for (; c + 4 <= tile.column_count; c += 4) count_block<kRows, 4>(tile, r, c);
  for (; c < tile.column_count; ++c) count_block<kRows, 1>(tile, r, c);
}

}  // namespace

void and_popcount_avx512(const AndPopcountTile& tile) {
  size_t r = 0;
  for (; r + 4 <= tile.row_count; r += 4) count_rows<4>(tile, r);
  for (; r < tile.row_count; ++r) count_rows<1>(tile, r);
}

}  // namespace batmap

BATMAP_TARGET_END

#endif
