// Reads two columns of a plain sequential scan, and integers beside them, page by page from the tuples of its table: without slot,
// projection or expression context, and without a list of the tuples where all of a page are visible, nor a branch for
// each of them where all have one length and one form of header. That takes
// a quarter of the time of sum(tid), sum(item) (bench/sql/run.sh, part scan). The scan node stays in the plan
// and keeps its scan, and parallel workers share that scan as usual. Pages are pinned, pruned and locked as in
// the server's own scan. A tuple may have NULLs behind the columns that are read. Virtual
// generated columns (from version 18 on) are NULL in every tuple and take no room.
#pragma once

#include <cstdint>

#include "extension/input/key_encoder.h"
#include "relation/chunk.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct HeapRows {
  static constexpr int kMaxFactors = 4;
  static constexpr int64_t kNoFactor = INT64_MIN;  // in place of NULL

  struct Column {
    AttrNumber number;
    int offset;  // in a tuple without NULLs up to this column, but for virtual columns
    int16 length;
  };

  SeqScanState* scan;
  const KeyEncoder* encoders;  // [2] of the tid and of the item
  Column columns[2];           // likewise
  Column factors[kMaxFactors];
  int factor_count;
  int min_columns;  // a tuple with fewer columns lacks one of them
  int min_bytes;    // of the data of a tuple without NULLs that has all
  /// The bitmap of such a tuple that has NULLs elsewhere, for the columns up to min_columns: a bit for each that is there.
  uint8_t present[8];
  int present_bytes;     // 0: of more columns than that
  uint8_t present_mask;  // of the last byte
  /// Decodes the visible tuples of the page at which the scan stands. @return the end of the rows in `out`
  TidItem* (*decode)(const HeapRows& rows, HeapScanDesc scan, TidItem* out, int64_t* factors);
};

/// Does the planner's path lead to a scan that can be read this way? Only for its cost.
bool is_heap_rows_path(PlannerInfo* root, const Path* path);

/// @param encoders   [2] of the tid and of the item; kept
/// @param rows       set to the start of the scan if the node can be read this way; else unchanged
/// @param first      of `factors` columns of the node, integers, that are read beside the two; at most kMaxFactors
/// @param positions  [2 + factors] where the columns are in the output of the node; nullptr: it has these in their order
/// @return whether it can: it scans a heap table without conditions for two columns whose values are their own keys, and for the
/// factors; no column of variable length comes before them (virtual ones do not count); no factor is an int8 that may be NULL;
/// and nobody counts its rows (EXPLAIN ANALYZE)
bool find_heap_rows(PlanState* node, const KeyEncoder* encoders, HeapRows& rows, int first, int factors,
                    const int* positions);

/// Reads the next page. A rescan of the node starts from the first page again. Checks for interrupts.
/// @param out      room for MaxHeapTuplesPerPage rows
/// @param factors  room for their factors, row by row
/// @return the end of the rows in `out`; nullptr after the last page: must not be called again then
TidItem* read_heap_page(const HeapRows& rows, TidItem* out, int64_t* factors = nullptr);

}  // namespace batmap::pg
