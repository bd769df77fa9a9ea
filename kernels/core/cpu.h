// Which vector instructions this processor and operating system offer, and how large its cache is. A file with kernels for one
// instruction set opens a target region after its includes (BATMAP_TARGET_BEGIN / _END). So no file needs
// compiler flags of its own, and code outside the region still runs on every machine.
#pragma once

#include <cstdint>

namespace batmap {

enum CpuFeature : uint32_t {
  kCpuPopcnt = 1u << 0,
  kCpuAvx2 = 1u << 1,      // with BMI1, BMI2 and POPCNT
  kCpuAvx512 = 1u << 2,    // F, BW, VL, VBMI2 and VPOPCNTDQ together
  kCpuFastBmi2 = 1u << 3,  // PEXT in hardware; false where it is microcode (AMD Zen and Zen 2)
  kCpuNeon = 1u << 4,
};

/// Bit mask of CpuFeature; detected once.
uint32_t cpu_features();

/// Bytes of the last-level cache; a common size if the system does not say it.
uint64_t cache_bytes();

}  // namespace batmap

#define BATMAP_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define BATMAP_TARGET_BEGIN(features) \
  BATMAP_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define BATMAP_TARGET_END BATMAP_PRAGMA(clang attribute pop)
#else
#define BATMAP_TARGET_BEGIN(features) BATMAP_PRAGMA(GCC push_options) BATMAP_PRAGMA(GCC target(features))
#define BATMAP_TARGET_END BATMAP_PRAGMA(GCC pop_options)
#endif
