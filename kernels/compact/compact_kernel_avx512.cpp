// The kernel for machines with AVX-512. See compact_kernel.h for the contract.
#include "compact/compact_kernel.h"

#if defined(__x86_64__)

#include <cstring>
#include <immintrin.h>

#include <bit>

#include "compact/compact_format.h"
#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vpopcntdq,avx512vbmi2,bmi,bmi2,popcnt")

namespace batmap {

namespace {

#include "compact/compact_kernel_body.h"
#include "compact/compact_kernel_simd.h"

/// Thirty-two elements (compact_merge_body.h). Many operations have a mask of all lanes: without one, GCC 12 warns of a value that
/// it does not use.
struct Lanes {
  static constexpr size_t kCount = 32;
  using Register = __m512i;

  static Register load(const std::byte* from) { return _mm512_loadu_si512(from); }
  static Register load_part(const std::byte* from, size_t count) {
    return _mm512_mask_loadu_epi16(_mm512_set1_epi16(-1), (uint32_t{1} << count) - 1, from);
  }
  static Register all(uint16_t element) { return _mm512_set1_epi16(static_cast<int16_t>(element)); }
  static uint16_t last(Register x) {
    return static_cast<uint16_t>(_mm_extract_epi16(_mm512_maskz_extracti32x4_epi32(0xf, x, 3), 7));
  }
  static Register next(Register x) { return _mm512_add_epi16(x, _mm512_set1_epi16(1)); }

  static void merge(Register& x, Register& y) {
    const Register back_in_quarters =
        _mm512_maskz_broadcast_i32x4(0xffff, _mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
    const Register back = _mm512_shuffle_epi8(_mm512_maskz_shuffle_i64x2(0xff, x, x, 0x1b), back_in_quarters);
    x = sort_bitonic(_mm512_min_epu16(y, back));
    y = sort_bitonic(_mm512_max_epu16(y, back));
  }

  static Register shifted(Register x, Register before) {
    return _mm512_alignr_epi8(x, _mm512_maskz_alignr_epi64(0xff, x, before, 6), 14);
  }
  static uint32_t equal(Register x, Register y) { return _mm512_cmpeq_epi16_mask(x, y); }
  static uint16_t* put(Register x, uint32_t mask, uint16_t* to) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi16(mask, x));
    return to + __builtin_popcount(mask);
  }

 private:
  /// Sorts a register that first rises and then falls, or a rotation of one. Source: Batcher 1968.
  static Register sort_bitonic(Register x) {
    x = in_order(x, _mm512_maskz_shuffle_i64x2(0xff, x, x, 0x4e), 0xffff0000);
    x = in_order(x, _mm512_maskz_shuffle_i64x2(0xff, x, x, 0xb1), 0xff00ff00);
    x = in_order(x, _mm512_maskz_shuffle_epi32(0xffff, x, _MM_PERM_BADC), 0xf0f0f0f0);
    x = in_order(x, _mm512_maskz_shuffle_epi32(0xffff, x, _MM_PERM_CDAB), 0xcccccccc);
    return in_order(x, _mm512_maskz_rol_epi32(0xffff, x, 16), 0xaaaaaaaa);
  }
  /// The larger one of two elements in the lanes of the mask, the smaller one elsewhere.
  static Register in_order(Register x, Register y, uint32_t larger) {
    return _mm512_mask_max_epu16(_mm512_min_epu16(x, y), larger, x, y);
  }
};

#include "compact/compact_merge_body.h"

/// Sixteen elements at a time, each as a bit of a word of 32 bits. The bits of one word are gathered in the last lane that has it,
/// which alone is written.
void mark_elements(const std::byte* array, size_t count, uint64_t* words) {
  constexpr size_t kMarked = 16;
  std::memset(words, 0, kBitmapBlockBytes);
  __m512i places_before = _mm512_set1_epi32(-1);
  __m512i bits_before = _mm512_setzero_si512();
  size_t i = 0;
  for (; i + kMarked <= count; i += kMarked) {
    const __m256i elements = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(array + 2 * i));
    const __m512i x = _mm512_maskz_cvtepu16_epi32(0xffff, elements);
    const __m512i places = _mm512_maskz_srli_epi32(0xffff, x, 5);
    __m512i bits = _mm512_maskz_rolv_epi32(0xffff, _mm512_set1_epi32(1), x);
    // A bit for each lane with the word of the lane before; for the first lane, that is the last one of the step before.
    const uint32_t same = _mm512_cmpeq_epi32_mask(places, _mm512_maskz_alignr_epi32(0xffff, places, places_before, 15));
    const auto same_here = static_cast<__mmask16>(same & ~1u);
    bits = _mm512_or_si512(bits, _mm512_maskz_alignr_epi32(same & 1, bits, bits_before, 15));
    bits = _mm512_or_si512(bits, _mm512_maskz_alignr_epi32(same_here, bits, bits, 15));
    const auto same_2 = static_cast<__mmask16>(same_here & same_here << 1);
    bits = _mm512_or_si512(bits, _mm512_maskz_alignr_epi32(same_2, bits, bits, 14));
    const auto same_4 = static_cast<__mmask16>(same_2 & same_2 << 2);
    if (same_4 != 0) {
      bits = _mm512_or_si512(bits, _mm512_maskz_alignr_epi32(same_4, bits, bits, 12));
      const auto same_8 = static_cast<__mmask16>(same_4 & same_4 << 4);
      bits = _mm512_or_si512(bits, _mm512_maskz_alignr_epi32(same_8, bits, bits, 8));
    }
    _mm512_mask_i32scatter_epi32(words, static_cast<__mmask16>(~(same >> 1)), places, bits, 4);
    places_before = places;
    bits_before = bits;
  }
  mark_words_from(array, i, count, words);
}

void combine_words(SetCombination operation, const std::byte* a, const std::byte* b, uint64_t* words) {
  with_combination(operation, [&](auto combined) {
    auto* const out = reinterpret_cast<std::byte*>(words);
    for (size_t at = 0; at < kBitmapBlockBytes; at += sizeof(__m512i))
      _mm512_storeu_si512(out + at, combined(Lanes::load(a + at), Lanes::load(b + at)));
  });
}

uint32_t sum_of(__m512i counts) {
  alignas(64) uint64_t parts[8];
  _mm512_store_si512(parts, counts);
  uint64_t sum = 0;
  for (const uint64_t part : parts) sum += part;
  return static_cast<uint32_t>(sum);
}

uint32_t count_runs(const uint64_t* words, uint32_t enough) {
  constexpr size_t kStep = 8;  // registers
  __m512i before = _mm512_setzero_si512();
  __m512i counts = _mm512_setzero_si512();
  uint32_t runs = 0;
  for (size_t w = 0; w < kBitmapBlockWords && runs < enough; w += 8 * kStep) {
    for (size_t i = 0; i < kStep; ++i) {
      const __m512i x = _mm512_loadu_si512(words + w + 8 * i);
      const __m512i highest = _mm512_maskz_srli_epi64(0xff, _mm512_maskz_alignr_epi64(0xff, x, before, 7), 63);
      const __m512i up = _mm512_or_si512(_mm512_maskz_slli_epi64(0xff, x, 1), highest);
      counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(_mm512_maskz_andnot_epi64(0xff, up, x)));
      before = x;
    }
    runs = sum_of(counts);
  }
  return runs;
}

}  // namespace

constinit const CompactKernel kCompactKernelAvx512 = {count_common, keep_common,         keep_either,   keep_single,
                                                      keep_missing, count_array_runs,    mark_elements, combine_words,
                                                      count_runs,   and_popcount_avx512, kGallopFrom,   128};

}  // namespace batmap

BATMAP_TARGET_END

#endif
