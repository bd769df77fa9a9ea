// The portable kernel. See compact_kernel.h.
#include "compact/compact_kernel.h"

#include <bit>

#include "compact/compact_format.h"

namespace batmap {

namespace {

#include "compact/compact_kernel_body.h"

}  // namespace

constinit const CompactKernel kCompactKernelScalar = {count_rest, keep_rest, count_runs, and_popcount_scalar};

uint32_t CompactKernel::count_words(const std::byte* a, const std::byte* b) const {
  uint32_t count = 0;
  and_popcount({.rows = reinterpret_cast<const uint64_t*>(a),
                .row_stride = 0,
                .row_count = 1,
                .columns = reinterpret_cast<const uint64_t*>(b),
                .column_stride = 0,
                .column_count = 1,
                .words = kBitmapBlockWords,
                .counts = &count,
                .count_stride = 0});
  return count;
}

}  // namespace batmap
