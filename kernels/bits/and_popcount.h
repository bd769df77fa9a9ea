// Kernels that count the common bits of bit rows: counts[r][c] += popcount(rows[r] AND columns[c]).
//
// A table of implementations, each with the CPU features that it needs. The default is the first that this
// machine can run; any can be forced by name. Tests and benchmarks loop over the table. Sources: AVX2 by
// carry-save adders (Mula, Kurz, Lemire, "Faster population counts using AVX2 instructions", 2018); AVX-512
// by VPOPCNTQ over 4 x 4 register blocks (ours; measured in bench/ against blocks of other sizes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bits/bit_row_sum.h"

namespace batmap {

/// The words of a row of bits, padded to a multiple of 512 bits.
constexpr uint64_t row_words(uint64_t bits) { return (bits + 511) / 512 * 8; }

/// A tile: bit rows against bit columns, over one range of words.
struct AndPopcountTile {
  const uint64_t* rows;  // first word of the range in row 0; any alignment
  size_t row_stride;     // words from one row to the next
  size_t row_count;
  const uint64_t* columns;  // first word of the range in column 0
  size_t column_stride;     // words from one column to the next
  size_t column_count;
  size_t words;      // length of the range, a multiple of 8
  uint32_t* counts;  // [row_count][count_stride] the counts are added to these
  size_t count_stride;
};

using AndPopcount = void (*)(const AndPopcountTile& tile);

struct AndPopcountKernel {
  const char* name;
  uint32_t needs;  // CpuFeature mask
  AndPopcount count;
  AddBitRows add_rows;
  double words_per_ns;      // rate for the chooser: tiles in cache, from bench/support_bench.cpp
  double row_words_per_ns;  // rate for the chooser: rows in the last-level cache, from there too
};

/// All kernels that were compiled in, fastest first. The last one ("scalar") runs everywhere.
std::span<const AndPopcountKernel> and_popcount_kernels();

/// The fastest kernel that this machine can run.
const AndPopcountKernel& best_and_popcount();

/// The kernel of this name; "auto" is the best.
/// @return nullptr: no such kernel, or this machine cannot run it
const AndPopcountKernel* find_and_popcount(std::string_view name);

/// The names that find_and_popcount() accepts here, as "auto, avx2, scalar".
std::string and_popcount_names();

void and_popcount_scalar(const AndPopcountTile& tile);
#if defined(__x86_64__)
void and_popcount_avx2(const AndPopcountTile& tile);
void and_popcount_avx512(const AndPopcountTile& tile);
#elif defined(__aarch64__)
void and_popcount_neon(const AndPopcountTile& tile);
#endif

}  // namespace batmap
