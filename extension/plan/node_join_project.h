// The plan node "BatmapJoinProject". It answers plain SQL that asks which pairs of items are joined, and how
// often: the engine counts, and the server need not join and group all pairs of rows. join_project_query.*
// recognises such queries, and join_project_path.* estimates their cost. The node replaces the join, the
// grouping and HAVING.
#pragma once

#include "extension/streams/block_reader.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Registers the node and puts its planner hook before the existing ones. Called once, at load.
void install_join_project_node();

bool is_join_project(const CustomPath* path);
/// @return nullptr: it is another node
const BlockReader* join_project_blocks(const CustomScanState* node);

}  // namespace batmap::pg
