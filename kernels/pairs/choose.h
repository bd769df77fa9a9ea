// Chooses the method that counts the pairs of a relation: a pure function of sizes, rates and free memory.
//
// Plain numbers describe the job. Time and bytes of every method are estimated, and the fastest that fits
// wins. The constants come from bench/support_bench.cpp; only their ratios matter. Source: ours.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/cpu.h"

namespace batmap {

enum class PairMethod { kHorizontal, kPositional, kBitmap, kBatmap, kMerge };
inline constexpr size_t kPairMethods = 5;

struct PairMethodName {
  PairMethod method;
  const char* name;
};
inline constexpr std::array<PairMethodName, kPairMethods> kPairMethodNames{{
    {PairMethod::kHorizontal, "horizontal"},
    {PairMethod::kPositional, "positional"},
    {PairMethod::kBitmap, "bitmap"},
    {PairMethod::kBatmap, "batmap"},
    {PairMethod::kMerge, "merge"},
}};
const char* pair_method_name(PairMethod method);

/// The sizes of one job of pair support.
struct PairJob {
  uint64_t items = 0;            // items that are kept
  uint64_t leading = 0;          // rows of the triangle or rectangle
  uint64_t first_column = 0;     // see WantedPairs
  uint64_t enough = UINT32_MAX;  // see WantedPairs
  uint64_t tid_slots = 0;
  uint64_t occurrences = 0;            // rows of kept items
  uint64_t leading_occurrences = 0;    // those of leading items
  uint64_t pair_instances = 0;         // see TransactionLengths
  uint64_t min_count = 1;              // of an answer
  uint64_t row_words = 0;              // sum over leading items of (rows of the item) x (partners / 64)
  double bitmap_words_per_ns = 1;      // rate of the AND + popcount kernel
  double positional_words_per_ns = 1;  // rate of its sums of bit rows
  int threads = 1;
  uint64_t memory_bytes = UINT64_MAX;            // free memory of the run
  uint64_t cache_bytes = batmap::cache_bytes();  // of the machine
};

struct PairEstimate {
  double milliseconds = 0;
  uint64_t bytes = 0;
  bool fits = false;
};

struct PairChoice {
  PairMethod method = PairMethod::kHorizontal;
  std::array<PairEstimate, kPairMethods> estimates{};
  std::string reason;
};

PairEstimate estimate_pairs(PairMethod method, const PairJob& job);

/// The fastest method that fits. If none fits, the one that needs the least memory; its run then throws kMemoryLimit.
PairChoice choose_pair_method(const PairJob& job);
/// The same of estimates, one for each method.
PairChoice choose_among(const std::array<PairEstimate, kPairMethods>& estimates);

}  // namespace batmap
