// Plans of queries of two columns whose rows come in chunks (node_pack_rows.h), from parallel workers where the planner
// finds that cheaper.
#pragma once

#include "extension/node_pack_rows.h"

#include "extension/pg.h"

namespace batmap::pg {

struct PackedPlan {
  PlannedStmt* plan;
  bool packed;       // its rows are chunks; else, where the planner had no place for packing, the rows of the query
  bool in_parallel;  // packed by workers
};

/// @param query  analysed, of two columns; planning scribbles on it
/// @param text   its text, for errors
PackedPlan plan_packed(Query* query, const char* text, const RowColumns& columns);

/// At load, once: what adds packing to the queries that are planned here, and to no other.
void install_packed_plans();

}  // namespace batmap::pg
