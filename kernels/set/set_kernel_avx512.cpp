// The kernel with one 512-bit register: a plane is compared in one ternary operation. See set_kernel.h for the contract.
#include "set/set_kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>

#include "core/cpu.h"
#include "set/permutation.h"

BATMAP_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")

namespace batmap {

namespace {

struct Bits {
  __m512i v;

  static Bits load(const void* from) { return {_mm512_loadu_si512(from)}; }
  void store(void* to) const { _mm512_storeu_si512(to, v); }
  static Bits all_if(bool c) { return {_mm512_set1_epi32(c ? -1 : 0)}; }
  static Bits lanes(uint32_t lane) { return {_mm512_set1_epi32(static_cast<int>(lane))}; }
  Bits operator&(Bits b) const { return {_mm512_and_si512(v, b.v)}; }
  Bits operator|(Bits b) const { return {_mm512_or_si512(v, b.v)}; }
  Bits operator^(Bits b) const { return {_mm512_xor_si512(v, b.v)}; }
  static Bits match(Bits m, Bits a, Bits b) { return {_mm512_ternarylogic_epi64(m.v, a.v, b.v, 0x90)}; }
  bool any() const { return _mm512_test_epi64_mask(v, v) != 0; }
  uint64_t popcount() const {
    alignas(64) uint64_t sums[8];
    _mm512_store_si512(sums, _mm512_popcnt_epi64(v));
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  static bool has_lane(Bits v, uint32_t lane) { return _mm512_cmpeq_epi32_mask(v.v, lanes(lane).v) != 0; }
  static Bits narrow(const uint64_t* from) {
    const __m256i low = _mm512_maskz_cvtepi64_epi32(0xff, _mm512_loadu_si512(from));
    const __m256i high = _mm512_maskz_cvtepi64_epi32(0xff, _mm512_loadu_si512(from + 8));
    return {_mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(low), high, 1)};
  }
  void widen(uint64_t* to) const {
    _mm512_storeu_si512(to, _mm512_maskz_cvtepu32_epi64(0xff, _mm512_maskz_extracti64x4_epi64(0xf, v, 0)));
    _mm512_storeu_si512(to + 8, _mm512_maskz_cvtepu32_epi64(0xff, _mm512_maskz_extracti64x4_epi64(0xf, v, 1)));
  }
  static Bits up(Bits a, int n) { return {_mm512_maskz_sll_epi32(0xffff, a.v, _mm_cvtsi32_si128(n))}; }
  static Bits down(Bits a, int n) { return {_mm512_maskz_srl_epi32(0xffff, a.v, _mm_cvtsi32_si128(n))}; }
  static Bits times(Bits a, Bits b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
};

#include "set/set_kernel_body.h"

}  // namespace

constinit const SetKernel kSetKernelAvx512 = this_kernel("avx512", kCpuAvx512, kCompactKernelAvx512);

}  // namespace batmap

BATMAP_TARGET_END

#endif
