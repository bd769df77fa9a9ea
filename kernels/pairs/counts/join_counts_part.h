// Join counts of one part of the b of a join of two tables R(a, b) and S(b, c), for parts that are counted apart and added up.
// The rows may be in files. All pairs are counted; or those with at least a number of common b; or those of given candidates.
// Why two rounds over the parts are exact: pair_counts_part.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/options.h"
#include "core/run_record.h"
#include "pairs/pair_run.h"
#include "relation/joined_relation.h"

namespace batmap {

struct JoinPartQuery {
  std::optional<int64_t> min_count;  // common b; none: 1
  // Finished join counts, not owned, in place of the threshold: their pairs are counted.
  const std::byte* candidates = nullptr;
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

/// Appends the counts to `out`, as one finished value (pair_counts.h).
/// Cost: that of a PairRun. Memory: 16 bytes a pair, and 32 to 64 bytes a candidate.
/// @throws Error{kTooLarge, kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
RunRecord count_join_of_part(JoinedRelation joined, const JoinPartQuery& query, GrowingBuffer<std::byte>& out,
                             const ExecutionOptions& options);

}  // namespace batmap
