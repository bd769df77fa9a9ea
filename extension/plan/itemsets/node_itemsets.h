// The plan node "BatmapItemsets". It answers plain SQL that joins three or more copies of the same rows by one key and counts
// their itemsets. itemset_query.* recognises such queries, itemset_path.* estimates their cost, and itemset_rows.* runs the
// engine. The node replaces the joins, the grouping and HAVING.
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Registers the node. Called once, at load.
void install_itemsets_node();

/// Adds the path of the node to a stage that groups if the block is an itemset search and the node is cheaper than all other paths.
/// @param plain  a path of the server itself
/// @param query  gets the reason why not, where no other node has a better one
void add_path_of_itemsets(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, Path* plain,
                          JoinProjectQuery& query);

}  // namespace batmap::pg
