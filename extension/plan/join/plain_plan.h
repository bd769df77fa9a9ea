// The plain plan beside a plan node for plain SQL: which path of the server it is, whether the node is cheaper, and what
// EXPLAIN says of the inputs of a node.
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

/// Prepares a node. The plain plan is started when it is needed, because it may have a large hash table; but a subplan
/// that both plans share must not be started again once it has run, so with subplans it is started here.
/// @return the started plain plan, or nullptr
/// @throws an error if the role may not execute an aggregate that the node computes
PlanState* begin_plain(const CustomScan* scan, EState* estate, int flags);

/// Starts the plain plan, the last one of a node, unless it has been, and makes it the last child of the node.
void start_plain(CustomScanState* node, PlanState*& plain, int flags);

/// The next row of the plain plan in the slot of the node, which has the same columns.
TupleTableSlot* next_plain(PlanState* plain, TupleTableSlot* slot);

/// `count` columns of an input from `first` on, as SQL.
/// @param packed  the input returns chunks (node_pack_rows.h)
char* columns_text(const PlanState* input, bool packed, int first, int count, List* ancestors, const ExplainState* es);

}  // namespace batmap::pg
