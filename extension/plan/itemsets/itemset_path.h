// The path of an itemset search, its cost, and the plan that node_itemsets.* runs.
#pragma once

#include "extension/plan/itemsets/itemset_query.h"
#include "extension/plan/join/join_project_path.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What the node must know when it runs: plain ints, so that a plan can hold them.
struct ItemsetSpec {
  JoinProjectSpec::Side input;
  int length;                    // items of an itemset
  int positions[kMaxRelations];  // see ItemsetJoin
  JoinProjectCount counting;
  int rows_may_repeat;
  int has_threshold;  // its bound is the only one of custom_exprs
  int threshold_excluded;
};

/// The lists that CustomScan::custom_private holds.
enum ItemsetList { kItemsetSpec, kItemsetKeyOperators };

List* itemset_lists(const List* custom_private);
ItemsetSpec itemset_spec(const List* lists);

/// @param plain  the cheapest path of the server with the same answer
/// @return the path, of which `plain` becomes a part, to take over when the run gives up; nullptr if `plain` does not have the
/// columns for that
Path* itemset_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, ItemsetJoin& join, Path* plain,
                   const CustomPathMethods* methods);

}  // namespace batmap::pg
