// The plan node "BatmapPackRows". It packs rows of a key and an item into chunks (relation/chunk.h): one
// tuple with a bytea holds up to 4,096 rows. Below a Gather the workers pack, and few tuples pass
// through the queue.
#pragma once

#include "extension/input/key_column.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Rows of two columns whose values are their own keys.
struct RowColumns {
  KeyKind key;
  KeyKind item;
  int null_items;      // 0: rows whose item is NULL are left out; 1: their item is kNullKey
  int key_column = 0;  // the other column is the item
};

/// What packing adds to the cost of a path: less than nothing if it reads the pages of a table without the executor.
Cost packing_cost(PlannerInfo* root, const Path* rows);

/// A path that packs the rows of `rows`, a path with exactly these two columns. `rows` may be partial.
Path* pack_rows_path(PlannerInfo* root, RelOptInfo* rel, Path* rows, const RowColumns& columns);

/// The same for a finished plan with exactly these two columns.
Plan* pack_rows_plan(Plan* rows, const RowColumns& columns);

/// Turns a Gather of rows into a Gather of chunks. @param pack  the packing node over the plan that
/// the Gather read
void gather_chunks(Gather* gather, Plan* pack);

/// The plan whose rows are packed, if `plan` or a node below it packs; else nullptr.
const Plan* packed_rows_plan(const Plan* plan);

/// Called once, at load.
void register_pack_rows_node();

}  // namespace batmap::pg
