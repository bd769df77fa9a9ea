// Recognises what the plan node "BatmapAggregate" can compute, and makes its path and its plan.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Adds the path to a stage that groups, if the node can compute all of it.
void add_aggregate_path(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output);

}  // namespace batmap::pg
