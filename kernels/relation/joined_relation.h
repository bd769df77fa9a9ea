// Two relations R(a, b) and S(b, c) as one: what join-project counts. Its transactions are the b that both have, its items
// the a of R and the c of S, which stay apart even where their values are equal. Source: ours; that join-project is a
// rectangle of pair support follows Amossen & Pagh 2011, I.
//
// Cost: two passes over R (three where it is in files and its items are hashed) and one over S; 3 to 6 bytes a row that is
// kept, and 12 a code of an a or c. Sides in files are joined partition by partition: those of one number have the same b.
// Rows of one-sided b are gone; duplicates are still in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"
#include "relation/pair_log.h"

namespace batmap {

/// One side as it was read: tids are b, items are a or c.
struct JoinSide {
  std::vector<ChunkView> chunks;
  std::span<const uint32_t> item_rank;        // see EncodedRelation
  const RowPartitions* partitions = nullptr;  // where the rows are, once they have moved to files
};

/// The rows of a sealed log, wherever they are.
inline JoinSide side_of(const PairLog& log, std::span<const uint32_t> item_rank) {
  return {log.partitions() == nullptr ? log.chunks() : std::vector<ChunkView>(), item_rank, log.partitions()};
}

struct JoinedRelation {
  PairLog log;                 // (code of b, code of a or c), sealed; it may be in files
  Buffer<uint32_t> item_rank;  // [codes] the a in their order, then the c in theirs: for EncodedRelation
  Buffer<int64_t> values;      // [codes] by rank
  uint32_t left_items = 0;     // ranks below it are a
};

/// Sides in files are used up.
/// @throws Error{kTooLarge, kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
JoinedRelation join_relations(const JoinSide& left, const JoinSide& right, const ExecutionOptions& options);

}  // namespace batmap
