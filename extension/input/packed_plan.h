// Plans of queries of two columns whose rows come in chunks (node_pack_rows.h), from parallel workers where the planner
// finds that cheaper.
//
// The query is planned as what it is, two columns of rows; packing is put into the plan that came back. So a neighbour in
// the server may plan it twice, copy the plan, keep it for later, or give one of its own: what came back is looked at, a
// plan in which there is no place for packing gives its rows one by one, and nobody ever sees a plan with columns that the
// query has not.
#pragma once

#include "extension/input/node_pack_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct PackedPlan {
  PlannedStmt* plan;
  bool packed;       // its rows are chunks; else, where there is no place for packing, the rows of the query
  bool in_parallel;  // packed by workers
};

/// @param query  analysed, of two columns; planning scribbles on it
/// @param text   its text, for errors
PackedPlan plan_packed(Query* query, const char* text, const RowColumns& columns);

/// At load, once: what tells the planner the cost of rows that workers pack, in queries that are planned here and in no
/// other.
void install_packed_plans();

}  // namespace batmap::pg
