// CPU feature detection by the compiler's own support routine, which also checks what the operating system enables.
#include "core/cpu.h"

#include <unistd.h>

namespace batmap {

uint32_t cpu_features() {
  static const uint32_t features = [] {
    uint32_t found = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("popcnt")) found |= kCpuPopcnt;
    if (__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
      found |= kCpuAvx2;
    if ((found & kCpuAvx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2") &&
        __builtin_cpu_supports("avx512vpopcntdq"))
      found |= kCpuAvx512;
    if (__builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2")) found |= kCpuFastBmi2;
#elif defined(__aarch64__)
    found |= kCpuNeon;  // part of the architecture
#endif
    return found;
  }();
  return features;
}

uint64_t cache_bytes() {
  static const uint64_t bytes = [] {
    long found = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    found = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return found > 0 ? static_cast<uint64_t>(found) : uint64_t{32} << 20;
  }();
  return bytes;
}

}  // namespace batmap
