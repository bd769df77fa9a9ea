// The path of a count of listed pairs, its cost, and what node_listed_pairs.* must know to run it.
#pragma once

#include "extension/plan/join/join_project_path.h"
#include "extension/plan/listed/listed_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What the node must know when it runs: plain ints, so that a plan can hold them.
struct ListedSpec {
  JoinProjectSpec::Side inputs[2];
  JoinProjectSpec::Side list;  // its keys are codes of the left input, its items those of the right one
  int self_join;               // both inputs are one
  ListedAnswer answer;
  JoinProjectCount counting;
  int items;  // columns of the answer before the counts

  int input_count() const { return self_join ? 1 : 2; }
};

/// The lists that CustomScan::custom_private holds. Kinds are those of the items; operators are OIDs of equalities.
enum ListedList {
  kListedSpec,
  kListedKeys,
  kListedLeftCodes,
  kListedRightCodes,
  kListedItems,
  kListedSources,
  kListedKinds
};

List* listed_lists(const List* custom_private);
ListedSpec listed_spec(const List* lists);

/// @param plain  the cheapest path of the server with the same answer
/// @return the path, of which `plain` becomes a part, to take over when memory is too small; nullptr if `plain` does not have the
/// columns for that
Path* listed_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, ListedJoin& join, Path* plain,
                  const CustomPathMethods* methods);

}  // namespace batmap::pg
