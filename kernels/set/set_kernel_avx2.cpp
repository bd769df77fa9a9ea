// The kernel with pairs of 256-bit registers. See set_kernel.h for the contract.
#include "set/set_kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>

#include "core/cpu.h"
#include "set/permutation.h"

BATMAP_TARGET_BEGIN("avx2,popcnt")

namespace batmap {

namespace {

struct Bits {
  __m256i low;
  __m256i high;

  static Bits load(const void* from) {
    const __m256i* at = static_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
  }
  void store(void* to) const {
    __m256i* at = static_cast<__m256i*>(to);
    _mm256_storeu_si256(at, low);
    _mm256_storeu_si256(at + 1, high);
  }
  static Bits all_if(bool c) {
    const __m256i x = _mm256_set1_epi32(c ? -1 : 0);
    return {x, x};
  }
  static Bits lanes(uint32_t lane) {
    const __m256i x = _mm256_set1_epi32(static_cast<int>(lane));
    return {x, x};
  }
  Bits operator&(Bits b) const { return {_mm256_and_si256(low, b.low), _mm256_and_si256(high, b.high)}; }
  Bits operator|(Bits b) const { return {_mm256_or_si256(low, b.low), _mm256_or_si256(high, b.high)}; }
  Bits operator^(Bits b) const { return {_mm256_xor_si256(low, b.low), _mm256_xor_si256(high, b.high)}; }
  static Bits match(Bits m, Bits a, Bits b) {
    const Bits differ = a ^ b;
    return {_mm256_andnot_si256(differ.low, m.low), _mm256_andnot_si256(differ.high, m.high)};
  }
  bool any() const {
    const __m256i all = _mm256_or_si256(low, high);
    return _mm256_testz_si256(all, all) == 0;
  }
  uint64_t popcount() const {
    const __m256i nibble_counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                                   0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i low_nibble = _mm256_set1_epi8(0x0f);
    const auto byte_counts = [&](__m256i v) {
      return _mm256_add_epi8(_mm256_shuffle_epi8(nibble_counts, _mm256_and_si256(v, low_nibble)),
                             _mm256_shuffle_epi8(nibble_counts, _mm256_and_si256(_mm256_srli_epi16(v, 4), low_nibble)));
    };
    const __m256i sums = _mm256_sad_epu8(_mm256_add_epi8(byte_counts(low), byte_counts(high)), _mm256_setzero_si256());
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return static_cast<uint64_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
  }
  static bool has_lane(Bits v, uint32_t lane) {
    const __m256i x = _mm256_set1_epi32(static_cast<int>(lane));
    const __m256i found = _mm256_or_si256(_mm256_cmpeq_epi32(v.low, x), _mm256_cmpeq_epi32(v.high, x));
    return _mm256_testz_si256(found, found) == 0;
  }
  static __m256i narrow_eight(const uint64_t* from) {
    const __m256 first = _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    const __m256 second = _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 4)));
    const __m256i halves = _mm256_castps_si256(_mm256_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)));
    return _mm256_permute4x64_epi64(halves, _MM_SHUFFLE(3, 1, 2, 0));
  }
  static Bits narrow(const uint64_t* from) { return {narrow_eight(from), narrow_eight(from + 8)}; }
  void widen(uint64_t* to) const {
    __m256i* at = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(at, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(low)));
    _mm256_storeu_si256(at + 1, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(low, 1)));
    _mm256_storeu_si256(at + 2, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(high)));
    _mm256_storeu_si256(at + 3, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(high, 1)));
  }
  static Bits up(Bits a, int n) {
    const __m128i count = _mm_cvtsi32_si128(n);
    return {_mm256_sll_epi32(a.low, count), _mm256_sll_epi32(a.high, count)};
  }
  static Bits down(Bits a, int n) {
    const __m128i count = _mm_cvtsi32_si128(n);
    return {_mm256_srl_epi32(a.low, count), _mm256_srl_epi32(a.high, count)};
  }
  static Bits times(Bits a, Bits b) { return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)}; }
};

#include "set/set_kernel_body.h"

}  // namespace

constinit const SetKernel kSetKernelAvx2 = this_kernel("avx2", kCpuAvx2, kCompactKernelAvx2);

}  // namespace batmap

BATMAP_TARGET_END

#endif
