// Two columns of a plain sequential scan, read from the tuples of its table with nothing in between: no slot, no projection,
// no expression context. A row so costs half of what it costs through the executor. The node of the scan stays in the plan
// and keeps its scan, which workers share as they do otherwise.
#pragma once

#include "extension/pg.h"

namespace batmap::pg {

struct HeapRows {
  struct Column {
    AttrNumber number;
    int offset;  // in a tuple without NULL
    int16 length;
  };

  SeqScanState* scan;
  Column columns[2];
  int least_columns;  // of a tuple that has them both
  Datum values[2];    // of the row at hand
  bool nulls[2];
};

/// @return whether a node's rows can be read so: it scans a heap table, without conditions, for two columns of numbers that
/// have no column of variable length before them, and nobody counts its rows (EXPLAIN ANALYZE)
bool find_heap_rows(PlanState* node, HeapRows& rows);

/// @return false after the last row; not to be called again then. Can be cancelled at every page
inline bool next_heap_row(HeapRows& rows) {
  ScanState& scan = rows.scan->ss;
  if (scan.ss_currentScanDesc == nullptr)  // else it is one of a parallel scan
    scan.ss_currentScanDesc = table_beginscan(scan.ss_currentRelation, scan.ps.state->es_snapshot, 0, nullptr);
  const HeapTuple tuple = heap_getnext(scan.ss_currentScanDesc, ForwardScanDirection);
  if (tuple == nullptr) return false;
  const HeapTupleHeader header = tuple->t_data;
  if (HeapTupleNoNulls(tuple) && HeapTupleHeaderGetNatts(header) >= rows.least_columns) {
    const char* const data = reinterpret_cast<const char*>(header) + header->t_hoff;
    for (int k = 0; k < 2; ++k) rows.values[k] = fetch_att(data + rows.columns[k].offset, true, rows.columns[k].length);
    rows.nulls[0] = rows.nulls[1] = false;
  } else {
    const TupleDesc descriptor = RelationGetDescr(scan.ss_currentRelation);
    for (int k = 0; k < 2; ++k) rows.values[k] = heap_getattr(tuple, rows.columns[k].number, descriptor, &rows.nulls[k]);
  }
  return true;
}

}  // namespace batmap::pg
