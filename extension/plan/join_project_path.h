// The path of a join-project, its cost, and the plan made from it: what node_join_project.* runs.
#pragma once

#include "extension/input/item_codes.h"
#include "extension/input/key_column.h"
#include "extension/plan/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What the running node has to know, as plain ints, so that it can be part of a plan.
struct JoinProjectSpec {
  struct Side {
    int keys;  // columns of the input: keys first, then items
    int items;
    Coding item_coding;
    KeyKind key;  // of what stands for itself
    KeyKind item;
    int null_items;  // 0: rows without an item are left out
    int packed;      // the input gives chunks (node_pack_rows.h)
  };
  Side sides[2];
  Coding key_coding;
  int self_join;  // one input
  ItemOrder order;
  JoinProjectCount counting;
  int rows_repeat;
  int has_threshold;  // the first of custom_exprs
  int threshold_excluded;
  int has_limit;   // the next
  int has_offset;  // the next
  int has_plain;   // the last of custom_plans answers where memory is too small

  const Side& side(int number) const { return sides[self_join ? 0 : number]; }
  int inputs() const { return self_join ? 1 : 2; }
};

/// The lists that CustomScan::custom_private stands for.
enum JoinProjectList { kSpec, kKeyOperators, kLeftItemOperators, kRightItemOperators, kNullWhen };

/// Of one more pass over rows that lie in files.
Cost pass_cost(double rows);

List* join_project_lists(const List* custom_private);
JoinProjectSpec join_project_spec(const List* lists);

/// @param plain  a path with the same answer that is never out of memory, or nullptr
/// @return nullptr where there is no way to read the inputs
CustomPath* join_project_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, JoinProjectQuery& query, Path* plain,
                              const CustomPathMethods* methods);

Plan* plan_join_project(CustomPath* path, List* targets, List* children, const CustomScanMethods* methods);

}  // namespace batmap::pg
