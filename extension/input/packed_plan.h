// Plans of queries with two columns whose rows come in chunks (node_pack_rows.h), from parallel workers if
// the planner finds that cheaper.
//
// The query is planned as it is, with two columns, and packing is put into the finished plan. So another
// extension in the server may plan the query twice, copy the plan, keep it, or return a plan of its own. The
// finished plan is checked: if there is nowhere to pack, it returns its rows one by one. Nobody ever
// sees a plan with columns that the query does not have.
#pragma once

#include "extension/input/node_pack_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct PackedPlan {
  PlannedStmt* plan;
  bool packed;       // its rows are chunks; if there was nowhere to pack, they are the rows of the query
  bool in_parallel;  // workers pack
};

/// @param query    analysed, of two columns; planning modifies it
/// @param text     its text, for errors
/// @param options  CURSOR_OPT_PARALLEL_OK, or 0 if the rows must keep their order
PackedPlan plan_packed(Query* query, const char* text, const RowColumns& columns, int options = CURSOR_OPT_PARALLEL_OK);

/// Called once, at load. Installs the hook that tells the planner the cost of packing in workers. It applies
/// only to queries that plan_packed() plans.
void install_packed_plans();

}  // namespace batmap::pg
