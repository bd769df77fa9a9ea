// Reads two columns, and integers beside them, from the pages of a table (heap_rows.h), or of the tables below an Append:
// partitions, shards, or the parts of a UNION ALL. The Append decides which of its scans comes next, as for its own rows, so
// scans are left out while the plan runs, and parallel workers share them, as the server does it. A Result above the Append may
// put columns into another order.
#pragma once

#include "extension/input/heap_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct TableRows {
  PlanState* top;       // the node that is read
  AppendState* append;  // nullptr: there is one scan
  HeapRows* scans;      // [child of the Append]
};

/// What the planner takes too much for a path whose rows are read this way: no row passes through its nodes.
/// @return 0 if its rows are not read this way
Cost table_rows_saving(PlannerInfo* root, const Path* path);

/// As find_heap_rows(), for a scan or for an Append all of whose children can be read so.
/// @param rows  set, in memory of the current context, if so; else unchanged
bool find_table_rows(PlanState* node, const KeyEncoder* encoders, TableRows& rows, int first = 0, int factors = 0);

/// As read_heap_page().
TidItem* read_table_page(const TableRows& rows, TidItem* out, int64_t* factors = nullptr);

}  // namespace batmap::pg
