// Recognises that a query wants rows in the order of tags <%> set, and makes the path of the plan node "BatmapNearest".
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// What the node must know.
struct NearestPlan {
  Oid index;   // a GIN index of batmap_gin_ops
  int column;  // of the index, from 1
  Node* set;   // what the index column contains: a column of the table or an expression over it
  Node* query;
  int wanted;  // rows that the query will probably take from the node; 0: unknown
};

/// Adds a path for each index that can answer in the wanted order.
/// @param methods  of the node, which makes its plan from nearest_plan()
void add_nearest_paths(PlannerInfo* root, RelOptInfo* rel, const RangeTblEntry* entry, const CustomPathMethods* methods);

/// The plan of a path.
NearestPlan nearest_plan(const CustomPath* path);

}  // namespace batmap::pg
