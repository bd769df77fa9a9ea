// The plan node "BatmapExpandRows". It calls a function that returns a set once for each row of the node below, and
// returns the number of the row beside each element. A ProjectSet of the server does not tell where the elements of
// one row end.
#pragma once

#include "extension/plan/query/join_unnest.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// A path that returns `columns`, the key and items of the left side. The rows come from `rows`, a path of the relation that is
/// expanded, which may be partial.
/// @param elements  the relation of the call
Path* expand_rows_path(PlannerInfo* root, const RowExpansion& expansion, RelOptInfo* elements, Path* rows, List* columns);

/// For EXPLAIN: the relations whose rows a plan numbers, as SQL. @return nullptr if it is no such plan
char* expanded_rows_text(const Plan* plan, List* names);

/// Column `number` of a plan, for EXPLAIN: what the node computes, where it is one of this kind.
Node* expanded_column(const Plan* plan, int number);

/// Called once, at load.
void register_expand_rows_node();

}  // namespace batmap::pg
