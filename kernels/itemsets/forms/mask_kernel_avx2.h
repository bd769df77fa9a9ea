// Mask kernels with AVX2 and BMI2, for the table in mask_kernel.cpp.
#pragma once

#include "itemsets/forms/mask_kernel.h"

#if defined(__x86_64__)
namespace batmap {
void pack_bmi2(const uint64_t* masks, size_t size, uint64_t items, uint8_t* indexes);
void project_bmi2(const WeightedMasks& transactions, uint64_t with, uint64_t items, uint32_t* table);
void sum_supersets_avx2(uint32_t* table, int items);
void intersect_popcnt(const uint64_t* rows, size_t count, size_t words, const uint64_t* with, uint64_t* out,
                      uint32_t* supports);
}  // namespace batmap
#endif
