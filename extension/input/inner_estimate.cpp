// Plans the query of a table function for the planner. See inner_estimate.h.
#include "extension/input/inner_estimate.h"

#include "extension/input/inner_query.h"
#include "extension/input/key_column.h"
#include "extension/input/query_shape.h"
#include "extension/input/run_costs.h"
#include "extension/server/subtransaction.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

create_upper_paths_hook_type next_estimate_hook = nullptr;

/// The query that estimate_inner_query() is planning. Planning may plan other queries, estimates included.
struct Estimated {
  const Query* query;  // nullptr: none
  bool item_first;
  InnerEstimate* estimate;
};

Estimated estimated;

/// The two columns of a query. @return NIL if it has others
List* columns_of(const PlannerInfo* root) {
  List* columns = NIL;
  const ListCell* cell;
  foreach (cell, root->processed_tlist) {
    const auto* const target = lfirst_node(TargetEntry, cell);
    if (!target->resjunk) columns = lappend(columns, target->expr);
  }
  return list_length(columns) == 2 ? columns : NIL;
}

bool has_own_key(const void* column) {
  return is_own_key(key_kind(exprType(const_cast<Node*>(static_cast<const Node*>(column)))));
}

void look_at_columns(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, void* extra) {
  if (next_estimate_hook != nullptr) next_estimate_hook(root, stage, input, output, extra);
  if (stage != UPPERREL_FINAL || estimated.query == nullptr || root->parse != estimated.query) return;
  // The columns of UNION, EXCEPT and INTERSECT belong to no relation that has statistics.
  List* const columns = root->parse->setOperations == nullptr ? columns_of(root) : NIL;
  if (columns == NIL || output->pathlist == NIL) return;
  void* const tid = list_nth(columns, estimated.item_first ? 1 : 0);
  void* const item = list_nth(columns, estimated.item_first ? 0 : 1);
  InnerEstimate& estimate = *estimated.estimate;
  estimate.rows = static_cast<const Path*>(linitial(output->pathlist))->rows;
  estimate.items = item_supports(root, list_make1(tid), list_make1(item), estimate.rows);
  estimate.has_items = true;
  estimate.has_own_keys = has_own_key(tid) && has_own_key(item);
}

PlannedStmt* plan_query(const InnerQuery& given, const Estimated& wanted) {
  const Estimated before = estimated;
  PlannedStmt* plan = nullptr;
  PG_TRY();
  {
    Query* query = analyze_select(given, nullptr);
    if (!wanted.item_first) query = shape_rows(query, given, TEXTOID);
    estimated = wanted;
    estimated.query = query;
    plan = plan_select(query, given.text);
  }
  PG_FINALLY();
  { estimated = before; }
  PG_END_TRY();
  return plan;
}

/// Do errors of this code say nothing about the query that was tried?
bool is_of_statement(int code) {
  switch (ERRCODE_TO_CATEGORY(code)) {
    case ERRCODE_TRANSACTION_ROLLBACK:
    case ERRCODE_INSUFFICIENT_RESOURCES:
    case ERRCODE_OPERATOR_INTERVENTION: return true;
    default: return code == ERRCODE_LOCK_NOT_AVAILABLE;
  }
}

}  // namespace

bool succeeds(void (*attempt)(void* arg), void* arg) {
  if (IsInParallelMode() || !ActiveSnapshotSet()) return false;
  ErrorData* const error = error_of([&] { attempt(arg); });
  if (error != nullptr && is_of_statement(error->sqlerrcode)) ReThrowError(error);
  return error == nullptr;
}

bool estimate_inner_query(const InnerQuery& query, bool item_first, InnerEstimate& estimate) {
  estimate = {};
  const PlannedStmt* const plan = plan_query(query, {nullptr, item_first, &estimate});
  // The maker of the plan may be another extension, which does not say what its node costs.
  if (plan->planTree == nullptr || plan->planTree->total_cost <= 0 || !may_read(plan)) return false;
  if (!estimate.has_items) estimate.rows = plan->planTree->plan_rows;
  const double row_operators = estimate.has_own_keys ? kRowOperators : kCodedRowOperators;
  estimate.cost = plan->planTree->total_cost + (kRunOperators + estimate.rows * row_operators) * cpu_operator_cost;
  return true;
}

bool is_estimating() { return estimated.query != nullptr; }

void install_inner_estimates() {
  next_estimate_hook = create_upper_paths_hook;
  create_upper_paths_hook = look_at_columns;
}

}  // namespace batmap::pg
