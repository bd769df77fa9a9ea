// The plan node "BatmapScan": reads a table function of the extension as a stream.
//
// The server's own node for a function in FROM puts all rows into a tuplestore before the plan above sees the first
// one. This node hands them over as they are counted, stops when the plan above has enough, and tells EXPLAIN
// ANALYZE how the run went. It replaces the function scan wherever it gives the same rows: one of our functions alone
// in FROM, without ordinality, without a reference to its whole row.
#pragma once

namespace batmap::pg {

/// Registers the node and puts its planner hook in front of those already there. At load, once.
void install_row_stream_node();

}  // namespace batmap::pg
