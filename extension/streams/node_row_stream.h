// The plan node "BatmapScan": reads a table function of the extension as a stream.
//
// The node of the server for a function in FROM puts all rows into a tuplestore before the plan above sees
// the first one. BatmapScan hands over each row as it is counted, stops when the plan above has enough, and
// shows in EXPLAIN ANALYZE how the run went. It replaces the function scan if the rows are the same: one of
// our functions must stand alone in FROM, without ordinality and without a reference to its whole row.
#pragma once

#include "extension/streams/block_reader.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Registers the node and puts its planner hook before the existing ones. Called once, at load.
void install_row_stream_node();

bool is_row_stream(const CustomPath* path);
/// Are its rows pairs, and their columns of int8 items and counts?
bool returns_pairs(PlannerInfo* root, const CustomPath* path);
/// @return nullptr: it is another node
const BlockReader* row_stream_blocks(const CustomScanState* node);

}  // namespace batmap::pg
