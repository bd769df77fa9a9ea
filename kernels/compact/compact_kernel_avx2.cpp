// The kernel for machines with AVX2. See compact_kernel.h for the contract.
#include "compact/compact_kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>

#include "compact/compact_format.h"
#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx2,popcnt")

namespace batmap {

namespace {

#include "compact/compact_kernel_body.h"
#include "compact/compact_kernel_simd.h"

}  // namespace

constinit const CompactKernel kCompactKernelAvx2 = {count_common, keep_common,       keep_either,
                                                    keep_single,  keep_missing,      count_array_runs,
                                                    count_runs,   and_popcount_avx2, kGallopFrom};

}  // namespace batmap

BATMAP_TARGET_END

#endif
