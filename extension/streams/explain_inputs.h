// Lines of EXPLAIN about the arguments of a call: the text of each query, the names of its columns, the thresholds and, under
// VERBOSE, the plan of each query.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Adds each query whose text is known, and the thresholds whose values are.
/// @param params  of the running statement; nullptr: it has none
void explain_queries(const FuncExpr* call, ParamListInfo params, ExplainState* es);

/// Adds the plan of each query that the caller may EXPLAIN. Nothing where the query is wrong, or where this plan is itself one of a
/// query in a text.
void explain_query_plans(const FuncExpr* call, ParamListInfo params, ExplainState* es);

}  // namespace batmap::pg
