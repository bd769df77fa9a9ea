// The plan node "BatmapPackRows": packs rows of a key and an item into chunks (relation/chunk.h), 4,096 rows to a tuple of
// one bytea. Below a Gather it lets the workers do the packing and leaves little for the queue to carry.
#pragma once

#include "extension/input/key_column.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Stands for NULL where items are of 16 or 32 bits.
inline constexpr int64_t kNullItem = INT64_MAX;

/// Rows of two columns whose values stand for themselves.
struct RowColumns {
  KeyKind key;
  KeyKind item;
  int null_items;      // 0: rows without an item are left out; 1: they have kNullItem
  int key_column = 0;  // the item is in the other

  /// @param values, nulls  [2] of a row
  /// @return whether the row counts
  bool read(const Datum* values, const bool* nulls, int64_t& key_value, int64_t& item_value) const {
    const int item_column = 1 - key_column;
    if (nulls[key_column] || (nulls[item_column] && null_items == 0)) return false;
    key_value = key_of({key, nullptr}, values[key_column]);
    if (nulls[item_column] && item == KeyKind::kInt8) elog(ERROR, "NULL in a column that is NOT NULL");
    item_value = nulls[item_column] ? kNullItem : key_of({item, nullptr}, values[item_column]);
    return true;
  }
};

/// The same rows as `rows`, a path with the two columns alone, packed. It may be partial.
Path* pack_rows_path(PlannerInfo* root, RelOptInfo* rel, Path* rows, const RowColumns& columns);

/// The same of a finished plan, one that gives the two columns and no others.
Plan* pack_rows_plan(Plan* rows, const RowColumns& columns);

/// Makes a Gather of rows one of chunks. @param pack  over what it has gathered
void gather_chunks(Gather* gather, Plan* pack);

/// The plan whose rows are packed, somewhere along the way down from `plan`; nullptr: there is none
const Plan* packed_rows_plan(const Plan* plan);

/// At load, once.
void register_pack_rows_node();

}  // namespace batmap::pg
