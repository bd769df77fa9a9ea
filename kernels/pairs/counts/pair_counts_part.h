// Pair counts of one part of the transactions, for parts that are counted apart and added up. The rows may be in
// files. All pairs are counted; or those that a part may not leave out; or those of given candidates.
//
// A pair in at least the share s of all transactions is in at least the share s of those of some part. So the sum of
// what parts find with one `min_support` names all pairs that are frequent in the whole. Its counts are then lower
// bounds, and a second round counts these candidates. Source: Savasere, Omiecinski & Navathe (1995).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/options.h"
#include "core/run_record.h"
#include "pairs/pair_run.h"
#include "relation/row_log.h"

namespace batmap {

struct PairPartQuery {
  // At most one of the two; neither: all pairs. Also items in fewer transactions are left out.
  std::optional<int64_t> min_count;
  std::optional<double> min_support;
  std::optional<std::vector<int64_t>> include;
  std::optional<std::vector<int64_t>> exclude;
  // A finished value with integer items, not owned, in place of the four above: its pairs and items are counted.
  const std::byte* candidates = nullptr;
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

/// Appends the counts to `out`, as one finished value (pair_counts.h).
/// Cost: that of a PairRun. Memory: 16 bytes a pair; or 32 to 64 bytes a candidate.
/// @param rows  sealed
/// @throws Error{kTooLarge, kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
RunRecord count_pairs_of_part(const RowLog& rows, const PairPartQuery& query, GrowingBuffer<std::byte>& out,
                              const ExecutionOptions& options);

}  // namespace batmap
