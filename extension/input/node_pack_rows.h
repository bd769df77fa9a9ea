// The plan node "BatmapPackRows". It packs rows of a key and an item into chunks (relation/chunk.h): one
// tuple with a bytea holds up to 4,096 rows. Below a Gather the workers pack, and few tuples pass
// through the queue.
#pragma once

#include "extension/input/key_column.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The code of NULL for items of 16 or 32 bits.
inline constexpr int64_t kNullItem = INT64_MAX;

/// Rows of two columns whose values are their own keys.
struct RowColumns {
  KeyKind key;
  KeyKind item;
  int null_items;      // 0: rows whose item is NULL are left out; 1: their item is kNullItem
  int key_column = 0;  // the other column is the item

  /// @param values, nulls  [2] of a row
  /// @return false if the row is left out
  bool read(const Datum* values, const bool* nulls, int64_t& key_value, int64_t& item_value) const {
    const int item_column = 1 - key_column;
    if (nulls[key_column] || (nulls[item_column] && null_items == 0)) return false;
    key_value = key_of({key, nullptr}, values[key_column]);
    if (nulls[item_column] && item == KeyKind::kInt8) elog(ERROR, "NULL in a column that is NOT NULL");
    item_value = nulls[item_column] ? kNullItem : key_of({item, nullptr}, values[item_column]);
    return true;
  }
};

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
