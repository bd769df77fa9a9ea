// Mask kernels with AVX2 and BMI2: PEXT packs a mask, and eight entries are added at once. See mask_kernel.h.
#include "itemsets/forms/mask_kernel_avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/cpu.h"

BATMAP_TARGET_BEGIN("avx2,bmi,bmi2,popcnt")

namespace batmap {

void pack_bmi2(const uint64_t* masks, size_t size, uint64_t items, uint8_t* indexes) {
  for (size_t k = 0; k < size; ++k) indexes[k] = static_cast<uint8_t>(_pext_u64(masks[k], items));
}

void project_bmi2(const WeightedMasks& transactions, uint64_t with, uint64_t items, uint32_t* table) {
  for (size_t t = 0; t < transactions.size; ++t) {
    const uint64_t mask = transactions.masks[t];
    // No branch: it cannot be predicted which transactions have the bits.
    const uint32_t weight = (mask & with) == with ? transactions.weights[t] : 0;
    table[_pext_u64(mask, items)] += weight;
  }
}

void sum_supersets_avx2(uint32_t* table, int items) {
  const size_t size = size_t{1} << items;
  // The three lowest items are bits of the index within a vector. A table of fewer than eight entries is followed by zeros.
  for (size_t k = 0; k < size; k += 8) {
    auto* const at = reinterpret_cast<__m256i*>(table + k);
    __m256i v = _mm256_load_si256(at);
    v = _mm256_add_epi32(v, _mm256_srli_epi64(v, 32));
    v = _mm256_add_epi32(v, _mm256_srli_si256(v, 8));
    v = _mm256_add_epi32(v, _mm256_permute2x128_si256(v, v, 0x81));
    _mm256_store_si256(at, v);
  }
  for (size_t bit = 8; bit < size; bit *= 2)
    for (size_t block = 0; block < size; block += 2 * bit)
      for (size_t k = block; k < block + bit; k += 8) {
        auto* const at = reinterpret_cast<__m256i*>(table + k);
        const __m256i more = _mm256_load_si256(reinterpret_cast<const __m256i*>(table + k + bit));
        _mm256_store_si256(at, _mm256_add_epi32(_mm256_load_si256(at), more));
      }
}

void intersect_popcnt(const uint64_t* rows, size_t count, size_t words, const uint64_t* with, uint64_t* out,
                      uint32_t* supports) {
  if (words == 1) {
    for (size_t k = 0; k < count; ++k) supports[k] = static_cast<uint32_t>(_mm_popcnt_u64(out[k] = rows[k] & *with));
    return;
  }
  for (size_t k = 0; k < count; ++k) {
    uint32_t support = 0;
    for (size_t w = 0; w < words; ++w, ++rows, ++out)
      support += static_cast<uint32_t>(_mm_popcnt_u64(*out = *rows & with[w]));
    supports[k] = support;
  }
}

}  // namespace batmap

BATMAP_TARGET_END

#endif
