// The plain plan beside a plan node for plain SQL: which path of the server it is, and whether the node is cheaper.
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The cheapest path of a stage; nullptr: there is none.
Path* cheapest_plain(const RelOptInfo* output);

/// Does a path compute these expressions? An aggregation can; any other path must have them in its target.
bool gives_columns(const Path* plain, List* columns);

/// Adds the path of a node to a stage if it is cheaper than the plain one, which becomes a part of it. Otherwise
/// `query.refusal` says why not.
void offer_path(RelOptInfo* output, Path* path, Path* plain, JoinProjectQuery& query);

/// @throws an error if the role may not execute an aggregate in a list of targets
void check_aggregates(const List* targets);

}  // namespace batmap::pg
