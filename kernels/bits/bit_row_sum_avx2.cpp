// Sums of bit rows, 256 columns at a time. See bit_row_sum.h.
#include "bits/bit_row_sum.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx2,popcnt")

namespace batmap {

namespace {

#include "bits/bit_row_sum_kernel.h"

struct Avx2 {
  using Value = __m256i;
  static constexpr size_t kWords = 4;
  static inline Value load(const uint64_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
  static inline void store(uint64_t* at, Value value) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), value); }
  static inline void add(Value& high, Value& low, Value a, Value b, Value c) {
    const Value either = _mm256_xor_si256(a, b);
    high = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(either, c));
    low = _mm256_xor_si256(either, c);
  }
};

}  // namespace

void add_bit_rows_avx2(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count) {
  add_rows_by_groups<Avx2>(sum, bits, stride, rows, count);
}

}  // namespace batmap

BATMAP_TARGET_END

#endif
