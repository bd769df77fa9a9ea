// Sums of bit rows, 128 columns at a time. See bit_row_sum.h.
#include "bits/bit_row_sum.h"

#if defined(__aarch64__)

#include <arm_neon.h>

namespace batmap {

namespace {

#include "bits/bit_row_sum_kernel.h"

struct Neon {
  using Value = uint64x2_t;
  static constexpr size_t kWords = 2;
  static inline Value load(const uint64_t* at) { return vld1q_u64(at); }
  static inline void store(uint64_t* at, Value value) { vst1q_u64(at, value); }
  /// Three instructions: where a and b differ, the high bit is that of c, else that of a.
  static inline void add(Value& high, Value& low, Value a, Value b, Value c) {
    const Value either = veorq_u64(a, b);
    high = vbslq_u64(either, c, a);
    low = veorq_u64(either, c);
  }
};

}  // namespace

void add_bit_rows_neon(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count) {
  add_rows_by_groups<Neon>(sum, bits, stride, rows, count);
}

}  // namespace batmap

#endif
