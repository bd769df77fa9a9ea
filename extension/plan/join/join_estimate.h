// How many rows the nodes for plain SQL return, by the statistics of the items (item_supports.h). The planner knows
// how many groups there are, but takes a third of them to have a count that HAVING wants, whatever it wants.
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The smallest count that the query wants, as far as the planner knows it.
double min_count_of(PlannerInfo* root, const JoinProjectQuery& query);

/// The rows of the node: pairs of items with such a count, as many as its limit lets through.
/// @param joined_rows  estimated for the join
/// @param plain_rows   estimated for the plain plan, for what has no statistics
double expected_rows(PlannerInfo* root, const JoinProjectQuery& query, double joined_rows, double plain_rows);

}  // namespace batmap::pg
