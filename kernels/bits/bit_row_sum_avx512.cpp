// Sums of bit rows, 512 columns at a time; an adder is two ternary operations. See bit_row_sum.h.
#include "bits/bit_row_sum.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")

namespace batmap {

namespace {

#include "bits/bit_row_sum_kernel.h"

struct Avx512 {
  using Value = __m512i;
  static constexpr size_t kWords = 8;
  static inline Value load(const uint64_t* at) { return _mm512_loadu_si512(at); }
  static inline void store(uint64_t* at, Value value) { _mm512_storeu_si512(at, value); }
  static inline void add(Value& high, Value& low, Value a, Value b, Value c) {
    high = _mm512_ternarylogic_epi64(a, b, c, 0xe8);  // majority
    low = _mm512_ternarylogic_epi64(a, b, c, 0x96);   // parity
  }
};

}  // namespace

void add_bit_rows_avx512(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count) {
  add_rows_by_groups<Avx512>(sum, bits, stride, rows, count);
}

}  // namespace batmap

BATMAP_TARGET_END

#endif
