// The plan node "BatmapListedPairs". It answers plain SQL that joins two inputs by a key, and a list of pairs to the items of
// both. listed_query.* recognises such queries, listed_path.* estimates their cost, and listed_rows.* runs the engine. The node
// replaces the joins, and the grouping and HAVING where the groups are the two items.
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Registers the node. Called once, at load.
void install_listed_pairs_node();

/// Adds the path of the node to a stage if the block counts listed pairs and the node is cheaper than all other paths.
/// @param plain  a path of the server itself
/// @param query  gets the reason why not, where no other node has a better one
void add_path_of_listed_pairs(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, Path* plain,
                              JoinProjectQuery& query);

}  // namespace batmap::pg
