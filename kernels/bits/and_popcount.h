// Kernels that count the common bits of bit rows: counts[r][c] += popcount(rows[r] AND columns[c]).
//
// One table of implementations with the CPU features each needs; the first that this machine has is the default,
// and each can be forced by name. Tests and benchmarks loop over the table.
// Sources: AVX2 by carry-save adders (Mula, Kurz, Lemire, "Faster population counts using AVX2 instructions",
// 2018); AVX-512 by VPOPCNTQ over 4 x 4 register blocks (ours; measured against neighbours in bench/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bits/bit_row_sum.h"

namespace batmap {

/// A tile of bit rows against bit columns over one range of words.
struct AndPopcountTile {
  const uint64_t* rows;  // first word of row 0 in the range; any alignment
  size_t row_stride;     // words from row to row
  size_t row_count;
  const uint64_t* columns;  // first word of column 0 in the range
  size_t column_stride;     // words from column to column
  size_t column_count;
  size_t words;      // length of the range; a multiple of 8
  uint32_t* counts;  // [row_count][count_stride], added to
  size_t count_stride;
};

using AndPopcount = void (*)(const AndPopcountTile& tile);

struct AndPopcountKernel {
  const char* name;
  uint32_t needs;  // CpuFeature mask
  AndPopcount count;
  AddBitRows add_rows;
  double words_per_ns;      // typical rates for the chooser, of tiles in cache and of rows from the last-level
  double row_words_per_ns;  // cache: bench/support_bench.cpp
};

/// All kernels that were compiled in, fastest first; the last one ("scalar") runs everywhere.
std::span<const AndPopcountKernel> and_popcount_kernels();

/// The fastest that this machine can run.
const AndPopcountKernel& best_and_popcount();

/// By name; "auto" is the best. @return nullptr when there is no such kernel or this machine cannot run it
const AndPopcountKernel* find_and_popcount(std::string_view name);

/// "auto, avx2, scalar": what find_and_popcount takes here.
std::string and_popcount_names();

void and_popcount_scalar(const AndPopcountTile& tile);
#if defined(__x86_64__)
void and_popcount_avx2(const AndPopcountTile& tile);
void and_popcount_avx512(const AndPopcountTile& tile);
#endif

}  // namespace batmap
