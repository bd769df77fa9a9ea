// The inner loops over blocks of compact sets, once for each instruction set. The table of kernels is that of
// set/set_kernel.h, whose rows point here. Source: intersection of sorted arrays by comparing all with all of two
// registers, after Schlegel, Willhalm, Lehner, "Fast sorted-set intersection using SIMD instructions" (2011); merging
// by a network over two registers, after Inoue, Taura, "SIMD- and cache-friendly algorithm for sorting an array of
// structures" (2015).
#pragma once

#include <cstddef>
#include <cstdint>

#include "bits/and_popcount.h"

namespace batmap {

enum class SetCombination { kAnd, kOr, kAndNot, kXor };

/// Kernels write up to so many units behind a result.
inline constexpr size_t kMoreUnits = 96;

struct CompactKernel {
  /// Common elements of two ascending arrays of 16-bit elements, at any alignment.
  size_t (*count_common)(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count);

  /// Writes them to `out`, ascending. @param out  room for a_count and kMoreUnits @return how many
  size_t (*keep_common)(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out);

  /// Writes the elements that at least one has (keep_either), or exactly one (keep_single), ascending.
  /// @param out  room for both counts and kMoreUnits @return how many
  size_t (*keep_either)(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out);
  size_t (*keep_single)(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out);

  /// Writes the elements of a that b lacks, ascending. @param out  room for a_count and kMoreUnits @return how many
  size_t (*keep_missing)(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out);

  /// The runs of consecutive elements in an ascending array that is not empty.
  uint32_t (*count_array_runs)(const uint16_t* elements, size_t count);

  /// Writes 1,024 words with a bit for each element of an ascending array, at any alignment.
  void (*mark_elements)(const std::byte* array, size_t count, uint64_t* words);

  /// Combines two bitmaps of 1,024 words, at any alignment. @param words  may be where one of them is
  void (*combine_words)(SetCombination operation, const std::byte* a, const std::byte* b, uint64_t* words);

  /// The runs of set bits in 1,024 words; `enough` or more where there are that many.
  uint32_t (*count_runs)(const uint64_t* words, uint32_t enough);

  AndPopcount and_popcount;

  /// An array so many times as long as another one is searched for the elements of the shorter one.
  uint32_t gallop_from;

  /// From so many elements up, marking an array and combining two bitmaps is faster than changing a bitmap by each element.
  /// By the portable kernel it is not. Measured with or_agg of random arrays of 140 to 3,277 elements in one process.
  uint32_t mark_from;

  /// The bits that are set in both of two bitmaps of 1,024 words, at any alignment.
  uint32_t count_words(const std::byte* a, const std::byte* b) const;
};

extern const CompactKernel kCompactKernelScalar;
#if defined(__x86_64__)
extern const CompactKernel kCompactKernelAvx2;
extern const CompactKernel kCompactKernelAvx512;
#endif

}  // namespace batmap
