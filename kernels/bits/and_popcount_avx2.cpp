// AND + popcount with AVX2. Sixteen 256-bit words go through a tree of carry-save adders (five logical operations
// each), so one real population count serves sixteen words. See and_popcount.h for contract and source.
#include "bits/and_popcount.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx2,popcnt")

namespace batmap {

namespace {

inline __m256i load_and(const uint64_t* a, const uint64_t* b) {
  return _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)));
}

/// high, low = the two bits of a + b + c, for each bit position.
inline void carry_save_add(__m256i& high, __m256i& low, __m256i a, __m256i b, __m256i c) {
  const __m256i either = _mm256_xor_si256(a, b);
  high = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(either, c));
  low = _mm256_xor_si256(either, c);
}

/// Population counts of the four 64-bit lanes.
inline __m256i popcount_lanes(__m256i v) {
  const __m256i nibble_counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                                 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low_nibble = _mm256_set1_epi8(0x0f);
  const __m256i low = _mm256_shuffle_epi8(nibble_counts, _mm256_and_si256(v, low_nibble));
  const __m256i high = _mm256_shuffle_epi8(nibble_counts, _mm256_and_si256(_mm256_srli_epi16(v, 4), low_nibble));
  return _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}

inline uint32_t sum_lanes(__m256i v) {
  const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  return static_cast<uint32_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
}

uint32_t count_pair(const uint64_t* a, const uint64_t* b, size_t words) {
  __m256i total = _mm256_setzero_si256();
  size_t w = 0;
  if (words >= 64) {
    __m256i ones = _mm256_setzero_si256();
    __m256i twos = ones, fours = ones, eights = ones;
    __m256i twos_a, twos_b, fours_a, fours_b, eights_a, eights_b, sixteens;
    for (; w + 64 <= words; w += 64) {
      const uint64_t* x = a + w;
      const uint64_t* y = b + w;
      carry_save_add(twos_a, ones, ones, load_and(x, y), load_and(x + 4, y + 4));
      carry_save_add(twos_b, ones, ones, load_and(x + 8, y + 8), load_and(x + 12, y + 12));
      carry_save_add(fours_a, twos, twos, twos_a, twos_b);
      carry_save_add(twos_a, ones, ones, load_and(x + 16, y + 16), load_and(x + 20, y + 20));
      carry_save_add(twos_b, ones, ones, load_and(x + 24, y + 24), load_and(x + 28, y + 28));
      carry_save_add(fours_b, twos, twos, twos_a, twos_b);
      carry_save_add(eights_a, fours, fours, fours_a, fours_b);
      carry_save_add(twos_a, ones, ones, load_and(x + 32, y + 32), load_and(x + 36, y + 36));
      carry_save_add(twos_b, ones, ones, load_and(x + 40, y + 40), load_and(x + 44, y + 44));
      carry_save_add(fours_a, twos, twos, twos_a, twos_b);
      carry_save_add(twos_a, ones, ones, load_and(x + 48, y + 48), load_and(x + 52, y + 52));
      carry_save_add(twos_b, ones, ones, load_and(x + 56, y + 56), load_and(x + 60, y + 60));
      carry_save_add(fours_b, twos, twos, twos_a, twos_b);
      carry_save_add(eights_b, fours, fours, fours_a, fours_b);
      carry_save_add(sixteens, eights, eights, eights_a, eights_b);
      total = _mm256_add_epi64(total, popcount_lanes(sixteens));
    }
    total = _mm256_slli_epi64(total, 1);
    total = _mm256_add_epi64(total, popcount_lanes(eights));
    total = _mm256_slli_epi64(total, 1);
    total = _mm256_add_epi64(total, popcount_lanes(fours));
    total = _mm256_slli_epi64(total, 1);
    total = _mm256_add_epi64(total, popcount_lanes(twos));
    total = _mm256_slli_epi64(total, 1);
    total = _mm256_add_epi64(total, popcount_lanes(ones));
  }
  for (; w + 4 <= words; w += 4) total = _mm256_add_epi64(total, popcount_lanes(load_and(a + w, b + w)));
  return sum_lanes(total);
}

}  // namespace

void and_popcount_avx2(const AndPopcountTile& tile) {
  for (size_t c = 0; c < tile.column_count; ++c)
    for (size_t r = 0; r < tile.row_count; ++r)
      tile.counts[r * tile.count_stride + c] +=
          count_pair(tile.rows + r * tile.row_stride, tile.columns + c * tile.column_stride, tile.words);
}

}  // namespace batmap

BATMAP_TARGET_END

#endif
