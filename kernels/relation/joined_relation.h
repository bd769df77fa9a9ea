// Two relations R(a, b) and S(b, c) as one relation, which join-project counts. Its transactions are the b that
// occur in both. Its items are the a of R and the c of S, which stay apart even if their values are equal.
// Source: ours; to see join-project as a rectangle of pair support follows Amossen & Pagh 2011, section I.
//
// Cost: two passes over R (three if R is in files and its items are hashed) and one over S; 3 to 6 bytes for each
// row that is kept, and 12 for each code of an a or c. If there are many b, their rows are dealt out to chunks by ranges
// of b, through 1 MiB. Sides in files are joined partition by partition: partitions with the same number have the same b.
// Rows whose b is on one side only are dropped; duplicates stay in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"
#include "relation/row_log.h"

namespace batmap {

/// One side as it was read: its tids are the b, its items the a or the c.
struct JoinSide {
  std::vector<ChunkView> chunks;
  std::span<const uint32_t> item_rank;        // see EncodedRelation
  const RowPartitions* partitions = nullptr;  // set if the rows are in files; chunks is empty then
};

/// The rows of a sealed log, in memory or in files.
inline JoinSide side_of(const RowLog& log, std::span<const uint32_t> item_rank) {
  return {log.partitions() == nullptr ? log.chunks() : std::vector<ChunkView>(), item_rank, log.partitions()};
}

struct JoinedRelation {
  RowLog log;                  // rows (code of b, code of a or c), sealed; may be in files
  Buffer<uint32_t> item_rank;  // [codes] ranks for EncodedRelation: first the a by value, then the c by value
  Buffer<int64_t> values;      // [codes] the value of each rank
  uint32_t left_items = 0;     // ranks below this are a
};

/// Joins two sides. Sides in files must not be read again.
/// @throws Error{kTooLarge, kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
JoinedRelation join_relations(const JoinSide& left, const JoinSide& right, const ExecutionOptions& options);

}  // namespace batmap
