// Recognises an itemset search in a query that is being planned: three or more copies of the same rows are joined by one
// key, the block is grouped by one item of each, the comparisons put the items into one order, and the joined rows or the
// distinct keys are counted.
//
//   SELECT a.item, b.item, c.item, count(*) FROM t a JOIN t b USING (tid) JOIN t c USING (tid)
//     WHERE a.item < b.item AND b.item < c.item GROUP BY 1, 2, 3 HAVING count(*) >= 10
//
// The number of joined rows is the support of the itemset only if no item occurs twice with a key. Unless a unique index proves
// that, the run looks, and leaves the answer to the plain plan if it finds such rows. Two copies are pairs: join_project_query.*.
#pragma once

#include "extension/plan/query/join_project_query.h"
#include "extension/plan/query/join_sides.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct ItemsetJoin {
  JoinProjectQuery block;        // its left side is the copy that is read
  List* items;                   // of the copies, in the order of GROUP BY
  int positions[kMaxRelations];  // of each of them in the order of values; 0: the smallest
  bool rows_may_repeat;          // and that changes the counts
};

/// @param input, output  relations of the planning stage, as the planner passes them to its hook
/// @return whether the block is an itemset search; if it is one but for some detail, `refusal` of the block says which
bool recognize_itemsets(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                        ItemsetJoin& join);

}  // namespace batmap::pg
