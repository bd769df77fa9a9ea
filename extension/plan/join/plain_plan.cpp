// See plain_plan.h.
#include "extension/plan/join/plain_plan.h"

#include "extension/input/node_pack_rows.h"
#include "extension/plan/join/node_expand_rows.h"
#include "extension/server/settings.h"

#include "extension/server/pg.h"

namespace batmap::pg {

Path* cheapest_plain(const RelOptInfo* output) {
  Path* cheapest = nullptr;
  ListCell* cell;
  foreach (cell, output->pathlist) {
    auto* const path = static_cast<Path*>(lfirst(cell));
    if (path->param_info == nullptr && (cheapest == nullptr || is_cheaper(path, cheapest))) cheapest = path;
  }
  return cheapest;
}

bool gives_columns(const Path* plain, List* columns) {
  if (IsA(plain, ProjectionPath)) plain = castNode(ProjectionPath, const_cast<Path*>(plain))->subpath;
  return IsA(plain, AggPath) || list_difference(columns, plain->pathtarget->exprs) == NIL;
}

void offer_path(RelOptInfo* output, Path* path, Path* plain, JoinProjectQuery& query) {
  if (!is_cheaper(path, plain)) {
    query.refuse(Refusal::kCost);
    return;
  }
  if (!settings.enable_join_project) {
    query.refuse(Refusal::kDisabled);
    return;
  }
  query.refusal = Refusal::kNone;
  // The plain path is part of the new path now, so add_path must not free it.
  output->pathlist = list_delete_ptr(output->pathlist, plain);
  add_path(output, path);
  if (!list_member_ptr(output->pathlist, path)) add_path(output, plain);
}

namespace {

bool check_rights(Node* node, void* context) {
  if (node == nullptr) return false;
  if (IsA(node, Aggref)) {
    const Oid function = castNode(Aggref, node)->aggfnoid;
    const AclResult allowed = may_execute(function);
    if (allowed != ACLCHECK_OK) aclcheck_error(allowed, OBJECT_AGGREGATE, get_func_name(function));
  }
  return expression_tree_walker(node, walker(check_rights), context);
}

Plan* plain_plan_of(const CustomScan* scan) { return static_cast<Plan*>(llast(scan->custom_plans)); }

}  // namespace

void check_aggregates(const List* targets) { check_rights(reinterpret_cast<Node*>(const_cast<List*>(targets)), nullptr); }

PlanState* begin_plain(const CustomScan* scan, EState* estate, int flags) {
  check_aggregates(scan->custom_scan_tlist);
  return estate->es_plannedstmt->subplans != NIL ? ExecInitNode(plain_plan_of(scan), estate, flags) : nullptr;
}

void start_plain(CustomScanState* node, PlanState*& plain, int flags) {
  EState* const estate = node->ss.ps.state;
  const MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
  if (plain == nullptr) plain = ExecInitNode(plain_plan_of(castNode(CustomScan, node->ss.ps.plan)), estate, flags);
  node->custom_ps = lappend(node->custom_ps, plain);
  MemoryContextSwitchTo(caller);
}

TupleTableSlot* next_plain(PlanState* plain, TupleTableSlot* slot) {
  TupleTableSlot* const row = ExecProcNode(plain);
  if (TupIsNull(row)) return slot;
  slot_getallattrs(row);
  const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
  memcpy(slot->tts_values, row->tts_values, columns * sizeof(Datum));
  memcpy(slot->tts_isnull, row->tts_isnull, columns * sizeof(bool));
  return ExecStoreVirtualTuple(slot);
}

char* columns_text(const PlanState* input, bool packed, int first, int count, List* ancestors, const ExplainState* es) {
  const Plan* plan = input->plan;
  if (packed) plan = packed_rows_plan(plan);
  if (plan == nullptr) return pstrdup("?");
  List* const names = set_deparse_context_plan(es->deparse_cxt, const_cast<Plan*>(plan), ancestors);
  StringInfoData text;
  initStringInfo(&text);
  if (char* const rows = expanded_rows_text(plan, names); rows != nullptr && first == 0) return rows;
  for (int k = first; k < first + count; ++k)
    appendStringInfo(&text, "%s%s", k > first ? ", " : "",
                     deparse_expression(expanded_column(plan, k), names, list_length(es->rtable) > 1, false));
  return text.data;
}

}  // namespace batmap::pg
