// Answers questions about the counts of a kept table: what was merged last, and what changed since.
#pragma once

#include <optional>

#include "extension/kept/kept_table.h"
#include "pairs/counts/kept_counts.h"
#include "pairs/counts/pair_counts_run.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Room for what a question reads and counts before it answers. To be made before the stream that answers: what was made last
/// in a context is destroyed first, and the threads of the stream read what lies here.
struct KeptRoom;
KeptRoom* reserve_kept_room(MemoryContext context);

/// What answers a question over a kept table in the active snapshot. It lives as long as the context that it was read in.
struct KeptAnswer {
  const char* table;
  struct varlena* value;  // the counts of some items, or counts of texts; nullptr: what follows
  const KeptCounts* counts;
  const StoredChunk* chunks;
  size_t chunk_count;
  uint64 pairs;  // in all chunks
};

/// @param items  an array of int8 whose pairs are wanted; nullptr: all are @param room  in `context`
/// @raises as kept_table_to_read(); 42804 if the items are texts and some are wanted; 40001; XX001
KeptAnswer read_kept_answer(Oid table, ArrayType* items, MemoryContext context, KeptRoom* room);

/// Answers a question over all chunks. Counts that do not match the rows are an error that names the table.
class KeptPairsRun {
 public:
  KeptPairsRun(const KeptAnswer& answer, const PairQuery& query, const ExecutionOptions& options);
  bool next(PairBatch& batch);
  const RunRecord& record() const { return run_->record(); }

 private:
  const char* table_;
  std::optional<PairCountsRun> run_;
};

/// The counts of all items of a kept table in a snapshot, in the current memory context. Rights are not checked.
/// @param table      locked by the caller
/// @param[out] why   they cannot be used, if nothing is returned: they are newer than the snapshot, for example
struct varlena* kept_counts_or_none(Oid table, Snapshot snapshot, const char*& why);

}  // namespace batmap::pg
