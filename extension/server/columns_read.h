// Which columns of a relation a plan reads.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// The columns that are read by conditions of the relation alone, by expressions that are computed from its rows (those of a
/// subquery below an outer join, too), and further up in the plan. To be called when the paths of relations are made.
inline Bitmapset* columns_read(const RelOptInfo* rel) {
  Bitmapset* columns = nullptr;
  pull_varattnos(reinterpret_cast<Node*>(rel->reltarget->exprs), rel->relid, &columns);
  ListCell* cell;
  foreach (cell, rel->baserestrictinfo)
    pull_varattnos(reinterpret_cast<Node*>(lfirst_node(RestrictInfo, cell)->clause), rel->relid, &columns);
  for (int column = rel->min_attr; column <= rel->max_attr; ++column)
    if (!bms_is_empty(rel->attr_needed[column - rel->min_attr]))
      columns = bms_add_member(columns, column - FirstLowInvalidHeapAttributeNumber);
  return columns;
}

/// @param column  InvalidAttrNumber: the whole row
inline bool is_column_read(const Bitmapset* columns, int column) {
  return bms_is_member(column - FirstLowInvalidHeapAttributeNumber, columns);
}

}  // namespace batmap::pg
