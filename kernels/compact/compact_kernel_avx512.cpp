// The kernel for machines with AVX-512. See compact_kernel.h for the contract.
#include "compact/compact_kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <bit>

#include "compact/compact_format.h"
#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")

namespace batmap {

namespace {

#include "compact/compact_kernel_body.h"
#include "compact/compact_kernel_simd.h"

}  // namespace

constinit const CompactKernel kCompactKernelAvx512 = {count_common, keep_common,         keep_either,
                                                      keep_single,  keep_missing,        count_array_runs,
                                                      count_runs,   and_popcount_avx512, kGallopFrom};

}  // namespace batmap

BATMAP_TARGET_END

#endif
