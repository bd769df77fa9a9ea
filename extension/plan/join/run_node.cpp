// See run_node.h.
#include "extension/plan/join/run_node.h"

#include "extension/input/node_pack_rows.h"
#include "extension/plan/join/node_expand_rows.h"
#include "extension/plan/join/plain_plan.h"
#include "extension/server/sorted_limit.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Positions in CustomPath::custom_private.
enum PathList { kNumbers, kExpressions, kScanTargets, kQuals };

/// Does a plan scan a table that this transaction has changed? A parallel worker does not know its leader's locks.
bool scans_changed_table(PlanState* plan, void*) {
  if (plan == nullptr) return false;
  Relation table = nullptr;
  switch (nodeTag(plan)) {
    case T_SeqScanState:
    case T_SampleScanState:
    case T_IndexScanState:
    case T_IndexOnlyScanState:
    case T_BitmapHeapScanState:
    case T_TidScanState:
    case T_TidRangeScanState:
    case T_ForeignScanState:
    case T_CustomScanState: table = reinterpret_cast<ScanState*>(plan)->ss_currentRelation; break;
    default: break;
  }
  if (table != nullptr && CheckRelationLockedByMe(table, RowExclusiveLock, true)) return true;
  return planstate_tree_walker(plan, walker(scans_changed_table), nullptr);
}

/// May the snapshot have two rows of which a unique index says that there is one? So it is if somebody has deleted a row since, and
/// this transaction has put another one in its place.
bool may_have_replaced_rows(RunNode* node) {
  if (!IsolationUsesXactSnapshot() || !TransactionIdIsValid(GetTopTransactionIdIfAny())) return false;
  return IsParallelWorker() || scans_changed_table(&node->base.ss.ps, nullptr);
}

List* path_list(const CustomPath* path, PathList which) { return static_cast<List*>(list_nth(path->custom_private, which)); }

const CustomScan* scan_of(const RunNode* node) { return castNode(CustomScan, node->base.ss.ps.plan); }

Plan* plain_plan_of(const RunNode* node) { return static_cast<Plan*>(llast(scan_of(node)->custom_plans)); }

}  // namespace

List* run_path_lists(List* numbers, List* expressions, List* targets, List* quals) {
  return list_make4(numbers, expressions, targets, quals);
}

Plan* plan_run_node(const CustomPath* path, List* targets, List* children, const CustomScanMethods* methods) {
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = path_list(path, kQuals);
  scan->scan.scanrelid = 0;  // custom_scan_tlist describes its rows
  scan->flags = path->flags;
  scan->custom_plans = children;
  scan->custom_exprs = path_list(path, kExpressions);
  scan->custom_scan_tlist = path_list(path, kScanTargets);
  scan->custom_private = path_list(path, kNumbers);
  scan->methods = methods;
  return &scan->scan.plan;
}

PlanState* begin_input(RunNode* node, EState* estate, int flags) {
  List*& inputs = node->base.custom_ps;
  auto* const plan = static_cast<Plan*>(list_nth(scan_of(node)->custom_plans, list_length(inputs)));
  PlanState* const input = ExecInitNode(plan, estate, flags);
  inputs = lappend(inputs, input);
  return input;
}

void begin_run_node(RunNode* node, EState* estate, int flags) {
  check_aggregates(scan_of(node)->custom_scan_tlist);
  node->flags = flags;
  if (estate->es_plannedstmt->subplans != NIL) node->plain = ExecInitNode(plain_plan_of(node), estate, flags);
  node->context = AllocSetContextCreate(estate->es_query_cxt, "batmap run", ALLOCSET_DEFAULT_SIZES);
}

bool open_run(RunNode* node) {
  node->opened = true;
  if (!may_have_replaced_rows(node)) return true;
  answer_by_plain(node, kForReplacedRows);
  return false;
}

bool read_min_count(const RunNode* node, ExprState* bound, bool is_excluded, int64_t& min_count) {
  min_count = 1;
  if (bound == nullptr) return true;
  bool is_null;
  const int64_t value = DatumGetInt64(ExecEvalExprSwitchContext(bound, node->base.ss.ps.ps_ExprContext, &is_null));
  if (is_null || (is_excluded && value == INT64_MAX)) return false;
  min_count = Max(1, value + is_excluded);
  return true;
}

void answer_by_plain(RunNode* node, const char* why) {
  MemoryContextReset(node->context);
  EState* const estate = node->base.ss.ps.state;
  const MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
  if (node->plain == nullptr) node->plain = ExecInitNode(plain_plan_of(node), estate, node->flags);
  node->base.custom_ps = lappend(node->base.custom_ps, node->plain);
  node->why_plain = why;
  MemoryContextSwitchTo(caller);
}

TupleTableSlot* next_plain(const RunNode* node) {
  TupleTableSlot* const slot = ExecClearTuple(node->base.ss.ss_ScanTupleSlot);
  TupleTableSlot* const row = ExecProcNode(node->plain);
  if (TupIsNull(row)) return slot;
  slot_getallattrs(row);
  const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
  memcpy(slot->tts_values, row->tts_values, columns * sizeof(Datum));
  memcpy(slot->tts_isnull, row->tts_isnull, columns * sizeof(bool));
  return ExecStoreVirtualTuple(slot);
}

void finish_run(RunNode* node) {
  node->finished = true;
  node->stream->finish();
}

namespace {

/// Ends a run that may not have reached its last row. The node can be opened again.
void close_run(RunNode* node) {
  List*& inputs = node->base.custom_ps;
  if (node->stream != nullptr && !node->finished) node->stream->finish();
  if (node->why_plain != nullptr) inputs = list_truncate(inputs, list_length(inputs) - 1);
  node->stream = nullptr;
  node->why_plain = nullptr;
  node->opened = node->finished = false;
  MemoryContextReset(node->context);
}

}  // namespace

void end_run_node(RunNode* node) {
  close_run(node);
  MemoryContextDelete(node->context);
  ListCell* input;
  foreach (input, node->base.custom_ps) ExecEndNode(static_cast<PlanState*>(lfirst(input)));
  ExecEndNode(node->plain);
}

void rescan_run_node(RunNode* node) {
  close_run(node);
  Bitmapset* const changed = node->base.ss.ps.chgParam;
  const auto rescan = [&](PlanState* plan) {
    if (changed != nullptr) UpdateChangedParamSet(plan, changed);
    if (plan->chgParam == nullptr) ExecReScan(plan);
  };
  ListCell* input;
  foreach (input, node->base.custom_ps) rescan(static_cast<PlanState*>(lfirst(input)));
  if (node->plain != nullptr) rescan(node->plain);
  ExecScanReScan(&node->base.ss);
}

// ---- EXPLAIN

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

void explain_bound(RunNode* node, const char* label, const char* before, int expression, List* ancestors, ExplainState* es) {
  List* const names = set_deparse_context_plan(es->deparse_cxt, node->base.ss.ps.plan, ancestors);
  auto* const bound = static_cast<Node*>(list_nth(scan_of(node)->custom_exprs, expression));
  ExplainPropertyText(label, psprintf("%s%s", before, bound_text(bound, names)), es);
}

void explain_device(ExplainState* es) { ExplainPropertyText("Device", GetConfigOption("batmap.device", false, false), es); }

void explain_answer(RunNode* node, ExplainState* es) {
  if (node->why_plain != nullptr) ExplainPropertyText("Answered By", psprintf("the plain plan, %s", node->why_plain), es);
  if (node->stream != nullptr) node->stream->explain(es);
}

}  // namespace batmap::pg
