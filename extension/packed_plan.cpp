// One more path at the top of a query: the packed rows of its cheapest path, or, gathered, those of its cheapest partial
// path. See packed_plan.h.
#include "extension/packed_plan.h"

#include "extension/pg.h"

namespace batmap::pg {

namespace {

create_upper_paths_hook_type next_upper_paths_hook = nullptr;

struct Wanted {
  const Query* query;  // nullptr: none
  RowColumns columns;
  bool packed;
  bool in_parallel;
};

/// What plan_packed() is planning. Meanwhile functions may run and plan other queries, or ask for packed ones themselves.
Wanted wanted;

/// The rows of parallel workers. @return nullptr where there can be none
Path* gathered_path(PlannerInfo* root, const RelOptInfo* input, RelOptInfo* output) {
  if (!output->consider_parallel || input->partial_pathlist == NIL) return nullptr;
  if (root->parse->limitCount != nullptr || root->parse->limitOffset != nullptr) return nullptr;
  auto* const partial = static_cast<Path*>(linitial(input->partial_pathlist));
  if (list_length(partial->pathtarget->exprs) != 2) return nullptr;
  Path* const pack = pack_rows_path(root, output, partial, wanted.columns);
  double rows = pack->rows * pack->parallel_workers;
  return &create_gather_path(root, output, pack, pack->pathtarget, nullptr, &rows)->path;
}

void add_packed_path(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, void* extra) {
  if (next_upper_paths_hook != nullptr) next_upper_paths_hook(root, stage, input, output, extra);
  if (stage != UPPERREL_FINAL || root->parse != wanted.query || root->parse->setOperations != nullptr) return;
  Path* cheapest = nullptr;
  ListCell* cell;
  foreach (cell, output->pathlist) {
    auto* const path = static_cast<Path*>(lfirst(cell));
    if (cheapest == nullptr || is_cheaper(path, cheapest)) cheapest = path;
  }
  if (cheapest == nullptr || list_length(cheapest->pathtarget->exprs) != 2) return;
  Path* const serial = pack_rows_path(root, output, cheapest, wanted.columns);
  Path* const gathered = gathered_path(root, input, output);
  wanted.packed = true;
  wanted.in_parallel = gathered != nullptr && is_cheaper(gathered, serial);
  Path* const path = wanted.in_parallel ? gathered : serial;
  // The only way left, so that the plan is known to give one column, which the query's list of targets has to be told.
  output->pathlist = list_make1(path);
  output->partial_pathlist = NIL;
  auto* const chunk = static_cast<Expr*>(linitial(path->pathtarget->exprs));
  root->processed_tlist = list_make1(makeTargetEntry(chunk, 1, pstrdup("chunk"), false));
}

}  // namespace

PackedPlan plan_packed(Query* query, const char* text, const RowColumns& columns) {
  const Wanted before = wanted;
  PackedPlan result{};
  wanted = {query, columns, false, false};
  PG_TRY();
  {
    result.plan = pg_plan_query(query, text, CURSOR_OPT_PARALLEL_OK, nullptr);
    result.packed = wanted.packed;
    result.in_parallel = wanted.in_parallel;
  }
  PG_FINALLY();
  { wanted = before; }
  PG_END_TRY();
  return result;
}

void install_packed_plans() {
  next_upper_paths_hook = create_upper_paths_hook;
  create_upper_paths_hook = add_packed_path;
}

}  // namespace batmap::pg
