// Two columns of a plain sequential scan, read from the tuples of its table with nothing in between: no slot, no projection,
// no expression context. A row so costs less than half of what it costs through the executor. The node of the scan stays in
// the plan and keeps its scan, which workers share as they do otherwise and which says which tuples of a page are visible.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

struct HeapRows {
  struct Column {
    AttrNumber number;
    int offset;  // in a tuple without NULL
    int16 length;
  };

  SeqScanState* scan;
  Column columns[2];
  int least_columns;                 // of a tuple that has them both
  Page page;                         // the one at hand, pinned by the scan
  const OffsetNumber* next_visible;  // of its tuples
  const OffsetNumber* visible_end;
  Datum values[2];  // of the row at hand
  bool nulls[2];
};

/// @param rows  where its rows can be read so: at the start of the scan; else unchanged
/// @return whether a node's rows can be read so: it scans a heap table, without conditions, for two columns of numbers that
/// have no column of variable length before them, and nobody counts its rows (EXPLAIN ANALYZE)
bool find_heap_rows(PlanState* node, HeapRows& rows);

/// Goes on to the next page that has visible tuples. @return false after the last one. Can be cancelled
bool next_heap_page(HeapRows& rows);
/// The scan begins again.
inline void rescan_heap_rows(HeapRows& rows) { rows.next_visible = rows.visible_end = nullptr; }

/// @return false after the last row; not to be called again then
inline bool next_heap_row(HeapRows& rows) {
  if (rows.next_visible == rows.visible_end && !next_heap_page(rows)) return false;
  HeapTupleData tuple;
  const OffsetNumber at = *rows.next_visible++;  // the macros look at it more than once where the server has assertions
  tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(rows.page, PageGetItemId(rows.page, at)));
  if (HeapTupleNoNulls(&tuple) && HeapTupleHeaderGetNatts(tuple.t_data) >= rows.least_columns) {
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
