// The table of mask kernels, and the portable one. See mask_kernel.h.
#include "itemsets/forms/mask_kernel.h"

#include <algorithm>
#include <bit>

#include "core/cpu.h"
#include "itemsets/forms/mask_kernel_avx2.h"

namespace batmap {

namespace {

void pack_scalar(const uint64_t* masks, size_t size, uint64_t items, uint8_t* positions) {
  std::fill_n(positions, size, uint8_t{0});
  int position = 0;
  for (uint64_t rest = items; rest != 0; rest &= rest - 1, ++position)
    for (size_t k = 0; k < size; ++k)
      positions[k] |= static_cast<uint8_t>((masks[k] >> std::countr_zero(rest) & 1) << position);
}

void project_scalar(const WeightedMasks& transactions, uint64_t with, uint64_t items, uint32_t* table) {
  int position[64];
  int positions = 0;
  for (uint64_t rest = items; rest != 0; rest &= rest - 1) position[positions++] = std::countr_zero(rest);
  for (size_t t = 0; t < transactions.size; ++t) {
    const uint64_t mask = transactions.masks[t];
    if ((mask & with) != with) continue;
    uint64_t packed = 0;
    for (int k = 0; k < positions; ++k) packed |= (mask >> position[k] & 1) << k;
    table[packed] += transactions.weights[t];
  }
}

void sum_supersets_scalar(uint32_t* table, int items) {
  const size_t size = size_t{1} << items;
  for (size_t bit = 1; bit < size; bit *= 2)
    for (size_t block = 0; block < size; block += 2 * bit)
      for (size_t k = block; k < block + bit; ++k) table[k] += table[k + bit];
}

void intersect_scalar(const uint64_t* rows, size_t count, size_t words, const uint64_t* with, uint64_t* out,
                      uint32_t* supports) {
  for (size_t k = 0; k < count; ++k) {
    uint32_t support = 0;
    for (size_t w = 0; w < words; ++w, ++rows, ++out)
      support += static_cast<uint32_t>(std::popcount(*out = *rows & with[w]));
    supports[k] = support;
  }
}

constexpr MaskKernel kKernels[] = {
#if defined(__x86_64__)
    {"avx2", kCpuAvx2 | kCpuFastBmi2, pack_bmi2, project_bmi2, sum_supersets_avx2, intersect_popcnt},
#endif
    {"scalar", 0, pack_scalar, project_scalar, sum_supersets_scalar, intersect_scalar},
};

}  // namespace

std::span<const MaskKernel> mask_kernels() { return kKernels; }

const MaskKernel& select_mask_kernel(std::string_view name) {
  if (name != "scalar")
    for (const MaskKernel& kernel : kKernels)
      if ((cpu_features() & kernel.needs) == kernel.needs) return kernel;
  return kKernels[std::size(kKernels) - 1];
}

}  // namespace batmap
