// The table of AND + popcount kernels, and the portable kernel. See and_popcount.h.
#include "bits/and_popcount.h"

#include <bit>
#include <cstring>

#include "core/cpu.h"

namespace batmap {

namespace {

constexpr AndPopcountKernel kKernels[] = {
#if defined(__x86_64__)
    {"avx512", kCpuAvx512, and_popcount_avx512, add_bit_rows_avx512, 16.5, 3.0},
    {"avx2", kCpuAvx2, and_popcount_avx2, add_bit_rows_avx2, 6.0, 2.4},
#elif defined(__aarch64__)
    {"neon", kCpuNeon, and_popcount_neon, add_bit_rows_neon, 3.0, 1.6},  // guessed from the number of instructions
#endif
    {"scalar", 0, and_popcount_scalar, add_bit_rows_scalar, 0.4, 1.0},
};

/// The word that begins here, at any alignment.
uint64_t word_at(const uint64_t* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

bool runs_here(const AndPopcountKernel& kernel) { return (cpu_features() & kernel.needs) == kernel.needs; }

}  // namespace

std::span<const AndPopcountKernel> and_popcount_kernels() { return kKernels; }

const AndPopcountKernel& best_and_popcount() {
  for (const AndPopcountKernel& kernel : kKernels)
    if (runs_here(kernel)) return kernel;
  return kKernels[std::size(kKernels) - 1];
}

const AndPopcountKernel* find_and_popcount(std::string_view name) {
  if (name == "auto") return &best_and_popcount();
  for (const AndPopcountKernel& kernel : kKernels)
    if (name == kernel.name) return runs_here(kernel) ? &kernel : nullptr;
  return nullptr;
}

std::string and_popcount_names() {
  std::string names = "auto";
  for (const AndPopcountKernel& kernel : kKernels)
    if (runs_here(kernel)) names.append(", ").append(kernel.name);
  return names;
}

void and_popcount_scalar(const AndPopcountTile& tile) {
  for (size_t r = 0; r < tile.row_count; ++r) {
    const uint64_t* row = tile.rows + r * tile.row_stride;
    for (size_t c = 0; c < tile.column_count; ++c) {
      const uint64_t* column = tile.columns + c * tile.column_stride;
      uint32_t count = 0;
      for (size_t w = 0; w < tile.words; ++w)
        count += static_cast<uint32_t>(std::popcount(word_at(row + w) & word_at(column + w)));
      tile.counts[r * tile.count_stride + c] += count;
    }
  }
}

}  // namespace batmap
