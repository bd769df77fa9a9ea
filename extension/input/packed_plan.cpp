// Costs a Gather as if its workers packed the rows, and puts packing into the finished
// plan. See packed_plan.h.
#include "extension/input/packed_plan.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

create_upper_paths_hook_type next_upper_paths_hook = nullptr;

struct Wanted {
  const Query* query;  // nullptr: none
  RowColumns columns;
};

/// The query that plan_packed() is planning. Functions that run during planning may plan other queries,
/// packed ones included.
Wanted wanted;

// ---- during planning

/// A Gather of the rows, at the cost of packing them in the workers. @return nullptr if there can be none
Path* gathered_path(PlannerInfo* root, const RelOptInfo* input, RelOptInfo* output) {
  if (!output->consider_parallel || input->partial_pathlist == NIL) return nullptr;
  if (root->parse->limitCount != nullptr || root->parse->limitOffset != nullptr) return nullptr;
  auto* const partial = static_cast<Path*>(linitial(input->partial_pathlist));
  if (list_length(partial->pathtarget->exprs) != 2) return nullptr;
  double rows = partial->rows * partial->parallel_workers;
  GatherPath* const gather = create_gather_path(root, output, partial, partial->pathtarget, nullptr, &rows);
  Path* const pack = pack_rows_path(root, output, partial, wanted.columns);
  double chunks = pack->rows * pack->parallel_workers;
  const GatherPath* const packed = create_gather_path(root, output, pack, pack->pathtarget, nullptr, &chunks);
  gather->path.startup_cost = packed->path.startup_cost;
  gather->path.total_cost = packed->path.total_cost;
  return &gather->path;
}

void add_gathered_path(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, void* extra) {
  if (next_upper_paths_hook != nullptr) next_upper_paths_hook(root, stage, input, output, extra);
  if (stage != UPPERREL_FINAL || root->parse != wanted.query || root->parse->setOperations != nullptr) return;
  const Path* cheapest = nullptr;
  ListCell* cell;
  foreach (cell, output->pathlist) {
    const auto* const path = static_cast<Path*>(lfirst(cell));
    if (cheapest == nullptr || is_cheaper(path, cheapest)) cheapest = path;
  }
  if (cheapest == nullptr || list_length(cheapest->pathtarget->exprs) != 2) return;
  Path* const gathered = gathered_path(root, input, output);
  if (gathered == nullptr || !is_cheaper(gathered, cheapest, packing_cost(root, cheapest))) return;
  output->pathlist = list_make1(gathered);
  output->partial_pathlist = NIL;
}

// ---- in the finished plan

/// Does the plan return two columns of the expected kinds, and nothing else?
bool gives_both_columns(const Plan* plan, const RowColumns& columns) {
  if (plan == nullptr || list_length(plan->targetlist) != 2) return false;
  ListCell* cell;
  foreach (cell, plan->targetlist) {
    const auto* const target = lfirst_node(TargetEntry, cell);
    const KeyKind kind = foreach_current_index(cell) == columns.key_column ? columns.key : columns.item;
    if (target->resjunk || key_kind(exprType(reinterpret_cast<Node*>(target->expr))) != kind) return false;
  }
  return true;
}

/// Does a Gather return the columns of its child in their order?
bool passes_columns_on(const Gather* gather) {
  const List* const below = outerPlan(gather)->targetlist;
  const ListCell* above;
  const ListCell* cell;
  forboth(above, gather->plan.targetlist, cell, below) {
    const Expr* value = lfirst_node(TargetEntry, above)->expr;
    if (IsA(value, Var)) {
      const auto* const column = reinterpret_cast<const Var*>(value);
      if (column->varno != OUTER_VAR || column->varattno <= 0 || column->varattno > list_length(below)) return false;
      value = list_nth_node(TargetEntry, below, column->varattno - 1)->expr;  // if several are equal, the first
    }
    if (!equal(value, lfirst_node(TargetEntry, cell)->expr)) return false;
  }
  return true;
}

/// The Gather whose workers can pack. @return nullptr if the plan is none
const Gather* packing_gather(const Plan* top, const RowColumns& columns) {
  if (!IsA(top, Gather) || top->qual != NIL) return nullptr;
  const auto* const gather = reinterpret_cast<const Gather*>(top);
  const bool fits = !gather->single_copy && gives_both_columns(top, columns) &&
                    gives_both_columns(outerPlan(top), columns) && passes_columns_on(gather);
  return fits ? gather : nullptr;
}

/// Packs the rows of a plan. The maker of the plan may keep it, so nodes are copied before they are changed.
PackedPlan with_packing(PlannedStmt* plan, const RowColumns& columns) {
  Plan* const top = plan->planTree;
  if (plan->commandType != CMD_SELECT || top == nullptr) return {plan, false, false};
  auto* const packed = static_cast<PlannedStmt*>(palloc(sizeof(PlannedStmt)));
  *packed = *plan;
  if (const Gather* const found = packing_gather(top, columns); found != nullptr) {
    auto* const gather = static_cast<Gather*>(palloc(sizeof(Gather)));
    *gather = *found;
    gather_chunks(gather, pack_rows_plan(outerPlan(found), columns));
    packed->planTree = &gather->plan;
    return {packed, true, true};
  }
  // The executor of another extension may look for its node at the top.
  if (IsA(top, CustomScan) || !gives_both_columns(top, columns)) return {plan, false, false};
  packed->planTree = pack_rows_plan(top, columns);
  return {packed, true, false};
}

}  // namespace

PackedPlan plan_packed(Query* query, const char* text, const RowColumns& columns, int options) {
  const Wanted before = wanted;
  PlannedStmt* plan = nullptr;
  wanted = {query, columns};
  PG_TRY();
  { plan = plan_select(query, text, options); }
  PG_FINALLY();
  { wanted = before; }
  PG_END_TRY();
  return with_packing(plan, columns);
}

void install_packed_plans() {
  next_upper_paths_hook = create_upper_paths_hook;
  create_upper_paths_hook = add_gathered_path;
}

}  // namespace batmap::pg
