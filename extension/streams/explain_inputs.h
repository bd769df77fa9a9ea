// Lines of EXPLAIN about the queries in the text of a call: the text and, under VERBOSE, its plan.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Adds each query whose text is known.
/// @param params  of the running statement; nullptr: it has none
void explain_queries(const FuncExpr* call, ParamListInfo params, ExplainState* es);

/// Adds the plan of each query that the caller may EXPLAIN. Nothing where the query is wrong, or where this plan is itself one of a
/// query in a text.
void explain_query_plans(const FuncExpr* call, ParamListInfo params, ExplainState* es);

}  // namespace batmap::pg
