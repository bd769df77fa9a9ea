// Column sums of bit rows (positional population count): for each column, how many of some rows have the bit
// set. Counters are bit-sliced: plane k holds bit k of 4,096 counters. Sixteen rows go through a tree of
// carry-save adders before one carry moves up. So a row costs about one adder for each vector of columns,
// whatever its bits: five logical operations, two with AVX-512. There is no population count and no scatter.
//
// Source: the adder tree is Harley and Seal's; for columns as in Klarqvist, Mula, Lemire, "Efficient
// computation of positional population counts using SIMD instructions", 2019. Its use for pair support is ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace batmap {

/// Bit-sliced counters of up to 4,096 columns. Planes 0 .. levels - 1 are valid after finish().
struct BitRowSum {
  static constexpr size_t kMaxWords = 64;
  static constexpr int kLevels = 32;
  static constexpr size_t kGroupRows = 16;

  size_t words;     // 64-bit words of columns in use, a multiple of 8
  uint64_t groups;  // groups of sixteen rows added so far
  int levels;       // planes in use
  alignas(64) uint64_t plane[kLevels][kMaxWords];
  alignas(64) uint64_t pending[kLevels][kMaxWords];  // carries of weight 2^k that wait for a second one
  alignas(64) uint64_t no_row[kMaxWords];            // zeros, for the rows missing in the last group

  /// Sets all counters to 0. @param column_words  a multiple of 8, at most kMaxWords
  void start(size_t column_words);

  /// The number of added rows that have the bit of this column set.
  uint32_t count(size_t word, int bit) const {
    uint64_t value = 0;
    for (int level = 0; level < levels; ++level) value |= (plane[level][word] >> bit & 1) << level;
    return static_cast<uint32_t>(value);
  }

  /// The same for all 64 columns of a word; cheaper if many of them are needed.
  void counts(size_t word, uint32_t (&out)[64]) const;

  /// A bit for each of the 64 columns of a word: set in at least `threshold` rows.
  uint64_t columns_reaching(size_t word, uint32_t threshold) const {
    if (static_cast<int>(std::bit_width(threshold)) > levels) return 0;
    uint64_t reached = ~uint64_t{0};
    for (int level = 0; level < levels; ++level)
      reached = threshold >> level & 1 ? plane[level][word] & reached : plane[level][word] | reached;
    return reached;
  }
};

/// Adds rows. May be called repeatedly; all calls but the last must add a multiple of sixteen rows.
/// @param bits    the first word of the columns in row 0; rows are `stride` words long and 64-byte aligned
/// @param rows    [count] indices of rows
using AddBitRows = void (*)(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count);

/// Adds the waiting carries. Call it once, after the last rows.
void finish(BitRowSum& sum);

void add_bit_rows_scalar(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count);
#if defined(__x86_64__)
void add_bit_rows_avx2(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count);
void add_bit_rows_avx512(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count);
#elif defined(__aarch64__)
void add_bit_rows_neon(BitRowSum& sum, const uint64_t* bits, size_t stride, const uint32_t* rows, size_t count);
#endif

}  // namespace batmap
