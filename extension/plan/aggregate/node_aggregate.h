// The plan node "BatmapAggregate": count(*), and sum, avg, min and max of int8 columns, over the rows of a table function or of a
// join-project, over all of them or by the values of one column. The rows of a run lie in memory, many at a time, and the node
// reads them there. To hand them to the server's own Aggregate, one row at a time, takes longer than to count many of them.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

inline constexpr char kAggregateNode[] = "BatmapAggregate";

const CustomScanMethods* aggregate_scan_methods();

/// Registers the node and puts its planner hook before the existing ones. Called once, at load.
void install_aggregate_node();

}  // namespace batmap::pg
