// The plan node "BatmapJoinProject": plain SQL that asks which pairs of items are joined, and how often, answered by the
// engine instead of by joining and grouping all pairs of rows. join_project_query.* says which queries those are,
// join_project_path.* what they cost; the node stands for the whole of join, grouping and HAVING.
#pragma once

namespace batmap::pg {

/// Registers the node and puts its planner hook in front of those already there. At load, once.
void install_join_project_node();

}  // namespace batmap::pg
