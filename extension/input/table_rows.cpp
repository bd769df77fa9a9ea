// Goes from scan to scan. See table_rows.h.
#include "extension/input/table_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr double kAppendShare = 0.5;  // of cpu_tuple_cost: what the planner takes for a row of an Append

/// Where the columns that a Result returns are among those of the node below. @param positions  [count] filled
/// @return false if it does more than that
bool positions_below(const ResultState* result, int count, int* positions) {
  const PlanState& node = result->ps;
  if (result->resconstantqual != nullptr || node.qual != nullptr || node.instrument != nullptr) return false;
  if (list_length(node.plan->targetlist) != count) return false;
  for (int k = 0; k < count; ++k) {
    const Expr* const value = list_nth_node(TargetEntry, node.plan->targetlist, k)->expr;
    if (!IsA(value, Var) || reinterpret_cast<const Var*>(value)->varno != OUTER_VAR) return false;
    positions[k] = reinterpret_cast<const Var*>(value)->varattno - 1;
  }
  return true;
}

/// As in ExecProcNode: a rescan may have been put off until the next row.
void rescan_if_due(PlanState* node) {
  if (node->chgParam != nullptr) ExecReScan(node);
}

}  // namespace

Cost table_rows_saving(PlannerInfo* root, const Path* path) {
  const Path* const below = IsA(path, ProjectionPath) ? reinterpret_cast<const ProjectionPath*>(path)->subpath : path;
  if (!IsA(below, AppendPath)) return is_heap_rows_path(root, path) ? path->rows * cpu_tuple_cost : 0;
  const ListCell* cell;
  foreach (cell, reinterpret_cast<const AppendPath*>(below)->subpaths)
    if (!is_heap_rows_path(root, static_cast<const Path*>(lfirst(cell)))) return 0;
  return path->rows * (1 + kAppendShare) * cpu_tuple_cost;
}

bool find_table_rows(PlanState* node, const KeyEncoder* encoders, TableRows& rows, int first, int factors) {
  int below[2 + HeapRows::kMaxFactors];
  const int* positions = nullptr;
  PlanState* const top = node;
  if (IsA(node, ResultState) && outerPlanState(node) != nullptr && IsA(outerPlanState(node), AppendState)) {
    if (!positions_below(castNode(ResultState, node), 2 + factors, below)) return false;
    positions = below;
    node = outerPlanState(node);
  }
  AppendState* const append = IsA(node, AppendState) ? castNode(AppendState, node) : nullptr;
  if (append != nullptr && (append->as_nasyncplans > 0 || node->instrument != nullptr)) return false;
  PlanState** const children = append != nullptr ? append->appendplans : &node;
  const int count = append != nullptr ? append->as_nplans : 1;
  auto* const scans = static_cast<HeapRows*>(palloc(sizeof(HeapRows) * static_cast<Size>(Max(count, 1))));
  for (int k = 0; k < count; ++k) {
    if (find_heap_rows(children[k], encoders, scans[k], first, factors, positions)) continue;
    pfree(scans);
    return false;
  }
  rows = {top, append, scans};
  return true;
}

TidItem* read_table_page(const TableRows& rows, TidItem* out, int64_t* factors) {
  AppendState* const append = rows.append;
  if (append == nullptr) return read_heap_page(*rows.scans, out, factors);
  rescan_if_due(rows.top);
  rescan_if_due(&append->ps);
  // From here on as in the Append's own loop.
  if (!append->as_begun) {
    if (append->as_nplans == 0 || !append->choose_next_subplan(append)) return nullptr;
    append->as_begun = true;
  }
  for (;;) {
    TidItem* const end = read_heap_page(rows.scans[append->as_whichplan], out, factors);
    if (end != nullptr) return end;
    if (!append->choose_next_subplan(append)) return nullptr;
  }
}

}  // namespace batmap::pg
