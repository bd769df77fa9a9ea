// The kernel for machines with AVX2. See compact_kernel.h for the contract.
#include "compact/compact_kernel.h"

#if defined(__x86_64__)

#include <cstring>
#include <immintrin.h>

#include <bit>

#include "compact/compact_format.h"
#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx2,bmi,bmi2,popcnt")

namespace batmap {

namespace {

#include "compact/compact_kernel_body.h"
#include "compact/compact_kernel_simd.h"

/// Sixteen elements (compact_merge_body.h).
struct Lanes {
  static constexpr size_t kCount = 16;
  using Register = __m256i;

  static Register load(const std::byte* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static Register load_part(const std::byte* from, size_t count) {
    alignas(32) uint16_t part[kCount];
    _mm256_store_si256(reinterpret_cast<__m256i*>(part), _mm256_set1_epi16(-1));
    std::memcpy(part, from, 2 * count);
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(part));
  }
  static Register all(uint16_t element) { return _mm256_set1_epi16(static_cast<int16_t>(element)); }
  static uint16_t last(Register x) { return static_cast<uint16_t>(_mm256_extract_epi16(x, 15)); }
  static Register next(Register x) { return _mm256_add_epi16(x, _mm256_set1_epi16(1)); }

  static void merge(Register& x, Register& y) {
    const Register back_in_halves =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
    const Register back = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, back_in_halves), 0x4e);
    x = sort_bitonic(_mm256_min_epu16(y, back));
    y = sort_bitonic(_mm256_max_epu16(y, back));
  }

  static Register shifted(Register x, Register before) {
    return _mm256_alignr_epi8(x, _mm256_permute2x128_si256(before, x, 0x21), 14);
  }
  static uint32_t equal(Register x, Register y) {
    const Register is_equal = _mm256_cmpeq_epi16(x, y);
    return static_cast<uint32_t>(
        _mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(is_equal), _mm256_extracti128_si256(is_equal, 1))));
  }
  static uint16_t* put(Register x, uint32_t mask, uint16_t* to) {
    to = put_lanes(_mm256_castsi256_si128(x), mask & 0xff, to);
    return put_lanes(_mm256_extracti128_si256(x, 1), mask >> 8 & 0xff, to);
  }

 private:
  /// Sorts a register that first rises and then falls, or a rotation of one. Source: Batcher 1968.
  static Register sort_bitonic(Register x) {
    Register y = _mm256_permute4x64_epi64(x, 0x4e);
    x = _mm256_blend_epi32(_mm256_min_epu16(x, y), _mm256_max_epu16(x, y), 0xf0);
    y = _mm256_shuffle_epi32(x, 0x4e);
    x = _mm256_blend_epi32(_mm256_min_epu16(x, y), _mm256_max_epu16(x, y), 0xcc);
    y = _mm256_shuffle_epi32(x, 0xb1);
    x = _mm256_blend_epi32(_mm256_min_epu16(x, y), _mm256_max_epu16(x, y), 0xaa);
    const Register swapped =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    y = _mm256_shuffle_epi8(x, swapped);
    return _mm256_blend_epi16(_mm256_min_epu16(x, y), _mm256_max_epu16(x, y), 0xaa);
  }
};

#include "compact/compact_merge_body.h"

void mark_elements(const std::byte* array, size_t count, uint64_t* words) {
  std::memset(words, 0, kBitmapBlockBytes);
  mark_words_from(array, 0, count, words);
}

void combine_words(SetCombination operation, const std::byte* a, const std::byte* b, uint64_t* words) {
  with_combination(operation, [&](auto combined) {
    auto* const out = reinterpret_cast<std::byte*>(words);
    for (size_t at = 0; at < kBitmapBlockBytes; at += sizeof(__m256i))
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), combined(Lanes::load(a + at), Lanes::load(b + at)));
  });
}

}  // namespace

constinit const CompactKernel kCompactKernelAvx2 = {count_common,    keep_common,       keep_either,   keep_single,
                                                    keep_missing,    count_array_runs,  mark_elements, combine_words,
                                                    count_word_runs, and_popcount_avx2, kGallopFrom,   1024};

}  // namespace batmap

BATMAP_TARGET_END

#endif
