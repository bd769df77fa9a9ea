// Reads two columns of a plain sequential scan directly from the tuples of its table: without slot,
// projection or expression context. A row costs less than half of what it costs through the executor. The
// scan node stays in the plan and keeps its scan; parallel workers share that scan as usual, and it says
// which tuples of a page are visible.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

struct HeapRows {
  struct Column {
    AttrNumber number;
    int offset;  // in a tuple without NULLs
    int16 length;
  };

  SeqScanState* scan;
  Column columns[2];
  int min_columns;                   // a tuple with fewer columns lacks one of the two
  Page page;                         // the current page, pinned by the scan
  const OffsetNumber* next_visible;  // of the tuples of the page
  const OffsetNumber* visible_end;
  Datum values[2];  // of the current row
  bool nulls[2];
};

/// @param rows  set to the start of the scan if the node can be read this way; else unchanged
/// @return whether it can: it scans a heap table without conditions for two columns of numbers, no column of
/// variable length comes before them, and nobody counts its rows (EXPLAIN ANALYZE)
bool find_heap_rows(PlanState* node, HeapRows& rows);

/// Moves to the next page that has visible tuples. @return false after the last one. Checks for interrupts
bool next_heap_page(HeapRows& rows);
/// Starts the scan again.
inline void rescan_heap_rows(HeapRows& rows) { rows.next_visible = rows.visible_end = nullptr; }

/// @return false after the last row; must not be called again then
inline bool next_heap_row(HeapRows& rows) {
  if (rows.next_visible == rows.visible_end && !next_heap_page(rows)) return false;
  HeapTupleData tuple;
  const OffsetNumber at = *rows.next_visible++;  // the macros evaluate it more than once with assertions
  tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(rows.page, PageGetItemId(rows.page, at)));
  if (HeapTupleNoNulls(&tuple) && HeapTupleHeaderGetNatts(tuple.t_data) >= rows.min_columns) {
    const char* const data = reinterpret_cast<const char*>(tuple.t_data) + tuple.t_data->t_hoff;
    for (int k = 0; k < 2; ++k) rows.values[k] = fetch_att(data + rows.columns[k].offset, true, rows.columns[k].length);
    rows.nulls[0] = rows.nulls[1] = false;
  } else {
    const TupleDesc descriptor = RelationGetDescr(rows.scan->ss.ss_currentRelation);
    for (int k = 0; k < 2; ++k) rows.values[k] = heap_getattr(&tuple, rows.columns[k].number, descriptor, &rows.nulls[k]);
  }
  return true;
}

}  // namespace batmap::pg
