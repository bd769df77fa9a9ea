// Planning and execution of the plan node "BatmapScan". See node_row_stream.h.
#include "extension/streams/node_row_stream.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "extension/server/columns_read.h"
#include "extension/server/node_state.h"
#include "extension/server/own_function.h"
#include "extension/server/plan_numbers.h"
#include "extension/server/sorted_limit.h"
#include "extension/streams/explain_inputs.h"
#include "extension/streams/row_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapScan";

/// CustomScan::custom_private has so many numbers, and then those of the columns. custom_exprs has the call, and after it
/// LIMIT and OFFSET if the best rows are wanted.
constexpr int kPlanNumbers = 3;

set_rel_pathlist_hook_type next_pathlist_hook = nullptr;

// ---- planning

/// The table function of ours that is this function. This loads no library: the planner has called the
/// support function before, and the function must be of the same library. @return nullptr: it is none of ours
const TableFunction* table_function(Oid function) {
  const Oid support = get_func_support(function);
  const char* const library = OidIsValid(support) ? library_of(support) : nullptr;
  const char* const own = library != nullptr ? library_of(function) : nullptr;
  if (own == nullptr || strcmp(own, library) != 0) return nullptr;
  // Compares the address, because a function of another library may have the same name. A function that runs
  // as its owner or with settings of its own has another address, too.
  FmgrInfo info;
  fmgr_info(function, &info);
  return TableFunction::find(info.fn_addr);
}

/// The call that the node would make for this relation. @return nullptr if the node cannot replace the scan
FuncExpr* streamed_call(const RelOptInfo* rel, const RangeTblEntry* entry) {
  if (entry->rtekind != RTE_FUNCTION || entry->funcordinality || list_length(entry->functions) != 1) return nullptr;
  Node* const call = linitial_node(RangeTblFunction, entry->functions)->funcexpr;
  if (call == nullptr || !IsA(call, FuncExpr) || table_function(castNode(FuncExpr, call)->funcid) == nullptr) return nullptr;
  // The rows of the node have columns only; they have no whole-row value.
  return is_column_read(columns_read(rel), InvalidAttrNumber) ? nullptr : castNode(FuncExpr, call);
}

Plan* plan_scan(PlannerInfo* root, RelOptInfo* rel, CustomPath* path, List* targets, List* clauses, List* children);

const CustomPathMethods kPathMethods = {kNodeName, plan_scan, nullptr};

void add_stream_path(PlannerInfo* root, RelOptInfo* rel, Index relid, RangeTblEntry* entry) {
  if (next_pathlist_hook != nullptr) next_pathlist_hook(root, rel, relid, entry);
  if (rel->reloptkind != RELOPT_BASEREL) return;
  if (streamed_call(rel, entry) == nullptr) return;

  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = rel;
  path->path.pathtarget = rel->reltarget;
  path->path.param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
  path->path.parallel_safe = rel->consider_parallel;
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->methods = &kPathMethods;
  // The server's own scan writes all rows to a tuplestore before the first one is out, so a LIMIT does not end the run. It
  // goes: where the run costs much and few rows are expected, both paths would count as equal, and the older one would stay.
  ListCell* cell;
  foreach (cell, rel->pathlist)
    if (static_cast<Path*>(lfirst(cell))->pathtype == T_FunctionScan)
      rel->pathlist = foreach_delete_current(rel->pathlist, cell);
  // The cost of scanning the function, without writing and reading a tuplestore.
  Path function_scan{};
  function_scan.parent = rel;
  function_scan.pathtarget = rel->reltarget;
  cost_functionscan(&function_scan, root, rel, path->path.param_info);
  path->path.rows = function_scan.rows;
  path->path.startup_cost = function_scan.startup_cost;
  path->path.total_cost = function_scan.startup_cost + (function_scan.total_cost - function_scan.startup_cost) / 2;
  add_path(rel, &path->path);
}

const CustomScanMethods* scan_methods();

/// The columns that the plan uses, those of `targets` first and in their order. If there are no others, the
/// rows of the node need no projection.
List* wanted_columns(const RelOptInfo* rel, List* targets, List* clauses) {
  List* expressions = get_tlist_exprs(targets, true);
  expressions = list_concat(list_concat(expressions, rel->reltarget->exprs), extract_actual_clauses(clauses, false));
  List* columns = NIL;
  ListCell* cell;
  foreach (cell, pull_var_clause(reinterpret_cast<Node*>(expressions), PVC_RECURSE_PLACEHOLDERS))
    if (lfirst_node(Var, cell)->varno == static_cast<int>(rel->relid)) columns = list_append_unique(columns, lfirst(cell));
  return columns;
}

/// What the query wants of the scan if that stands alone in FROM, has no conditions, and is sorted by a ranked column.
std::optional<SortedLimit> wanted_best(PlannerInfo* root, const RelOptInfo* rel, Oid function, const List* clauses) {
  const Query* const parse = root->parse;
  if (clauses != NIL || !bms_equal(root->all_baserels, rel->relids) || parse->hasAggs || parse->groupClause != NIL ||
      parse->groupingSets != NIL || parse->havingQual != nullptr)
    return std::nullopt;
  std::optional<SortedLimit> wanted = sorted_limit(root);
  if (!wanted || !IsA(wanted->sorted, Var)) return std::nullopt;
  const auto* const sorted = castNode(Var, wanted->sorted);
  if (sorted->varno != static_cast<int>(rel->relid) || sorted->varlevelsup != 0 || sorted->varattno < 1 ||
      (table_function(function)->ranked_columns() & one(sorted->varattno - 1)) == 0)
    return std::nullopt;
  return wanted;
}

Plan* plan_scan(PlannerInfo* root, RelOptInfo* rel, CustomPath* path, List* targets, List* clauses, List*) {
  RangeTblEntry* const entry = planner_rt_fetch(rel->relid, root);
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = extract_actual_clauses(clauses, false);
  scan->scan.scanrelid = 0;  // there is no table to open: custom_scan_tlist describes the rows
  scan->flags = path->flags;
  scan->methods = scan_methods();
  Node* const call = linitial_node(RangeTblFunction, entry->functions)->funcexpr;
  scan->custom_exprs = list_make1(call);
  const std::optional<SortedLimit> best = wanted_best(root, rel, castNode(FuncExpr, call)->funcid, clauses);
  if (best) scan->custom_exprs = lappend(scan->custom_exprs, copyObjectImpl(best->limit));
  if (best && best->offset != nullptr) scan->custom_exprs = lappend(scan->custom_exprs, copyObjectImpl(best->offset));
  const int best_column = best ? castNode(Var, best->sorted)->varattno - 1 : -1;
  for (const int number : {best_column, best && best->ties ? 1 : 0, list_length(entry->eref->colnames)})
    scan->custom_private = put_number(scan->custom_private, number);
  ListCell* cell;
  foreach (cell, wanted_columns(rel, targets, clauses)) {
    auto* const column = lfirst_node(Var, cell);
    if (column->varattno <= 0) elog(ERROR, "the rows of a table function have no column %d", column->varattno);
    const auto number = static_cast<AttrNumber>(foreach_current_index(cell) + 1);
    scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, makeTargetEntry(&column->xpr, number, nullptr, false));
    scan->custom_private = put_number(scan->custom_private, column->varattno);
  }
  return &scan->scan.plan;
}

// ---- execution

struct StreamScan {
  CustomScanState base;  // first member: the server sees this
  FuncExpr* call;
  List* arguments;   // list of ExprState
  ExprState* limit;  // of a query that is sorted by `best_column`; nullptr: it is not
  ExprState* offset;
  int best_column;  // this and the next as in WantedRows
  bool ties;
  int* columns;      // [columns of the node] index of each in the stream
  int* nan_columns;  // [nan_count] columns of the node whose NaN stands for NULL
  int nan_count;
  int stream_columns;
  Datum* row;  // [stream_columns]
  FmgrInfo function;
  const TableFunction* table_function;
  MemoryContext context;  // of one run
  RowStream* stream;      // nullptr before the first call and if there are no rows
  RowBlock* block;        // of the stream; nullptr: it has none
  bool opened;
  bool finished;
};

StreamScan* state_of(CustomScanState* node) { return reinterpret_cast<StreamScan*>(node); }

void begin_scan(CustomScanState* node, EState* estate, int) {
  StreamScan* const state = state_of(node);
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  state->call = castNode(FuncExpr, linitial(scan->custom_exprs));
  const Oid function = state->call->funcid;
  const AclResult allowed = may_execute(function);
  if (allowed != ACLCHECK_OK) aclcheck_error(allowed, OBJECT_FUNCTION, get_func_name(function));
  InvokeFunctionExecuteHook(function);
  fmgr_info_cxt(function, &state->function, estate->es_query_cxt);
  fmgr_info_set_expr(reinterpret_cast<Node*>(state->call), &state->function);
  state->table_function = TableFunction::find(state->function.fn_addr);
  if (state->table_function == nullptr)
    elog(ERROR, "function %u gives no stream", function);  // the function was altered after planning
  state->arguments = ExecInitExprList(state->call->args, &node->ss.ps);
  const auto bound = [&](int number) {
    if (list_length(scan->custom_exprs) <= number) return static_cast<ExprState*>(nullptr);
    return ExecInitExpr(static_cast<Expr*>(list_nth(scan->custom_exprs, number)), &node->ss.ps);
  };
  state->limit = bound(1);
  state->offset = bound(2);
  state->context = AllocSetContextCreate(estate->es_query_cxt, "batmap run", ALLOCSET_DEFAULT_SIZES);
  PlanNumbers numbers(scan->custom_private);
  state->best_column = numbers.next();
  state->ties = numbers.next() != 0;
  state->stream_columns = numbers.next();
  state->row = static_cast<Datum*>(palloc0(static_cast<Size>(state->stream_columns) * sizeof(Datum)));
  const int columns = list_length(scan->custom_private) - kPlanNumbers;
  state->columns = static_cast<int*>(palloc0(static_cast<Size>(columns + 1) * sizeof(int)));
  for (int k = 0; k < columns; ++k) state->columns[k] = numbers.next() - 1;
  state->nan_columns = static_cast<int*>(palloc0(static_cast<Size>(columns + 1) * sizeof(int)));
}

void open_stream(StreamScan* state) {
  state->opened = true;
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  ExprContext* const values = state->base.ss.ps.ps_ExprContext;
  const int count = list_length(state->arguments);
  auto* const fcinfo = static_cast<FunctionCallInfo>(palloc(SizeForFunctionCallInfo(count)));
  InitFunctionCallInfoData(*fcinfo, &state->function, static_cast<short>(count), state->call->inputcollid, nullptr, nullptr);
  ListCell* cell;
  foreach (cell, state->arguments) {
    NullableDatum& argument = fcinfo->args[foreach_current_index(cell)];
    argument.value = ExecEvalExpr(static_cast<ExprState*>(lfirst(cell)), values, &argument.isnull);
  }
  const TupleTableSlot* const slot = state->base.ss.ss_ScanTupleSlot;
  const int columns = slot->tts_tupleDescriptor->natts;
  WantedRows wanted{0, rows_in_front(state->limit, state->offset, values), state->best_column, state->ties};
  for (int k = 0; k < columns; ++k) wanted.columns |= one(state->columns[k]);
  state->stream = state->table_function->open(fcinfo, state->context, wanted);
  state->block = state->stream == nullptr ? nullptr : state->stream->block();
  MemoryContextSwitchTo(caller);
  const int null_columns = state->stream == nullptr ? 0 : state->stream->null_columns();
  for (int k = 0; k < columns; ++k) slot->tts_isnull[k] = state->columns[k] >= state->stream_columns - null_columns;
  state->nan_count = 0;
  const ColumnSet nan_columns = state->stream == nullptr ? 0 : nan_columns_of(state->stream);
  for (int k = 0; k < columns; ++k)
    if ((nan_columns & one(state->columns[k])) != 0) state->nan_columns[state->nan_count++] = k;
}

/// Goes to the next row, which is in `state->row` or in the block. @return false after the last one
bool find_row(StreamScan* state) {
  if (state->stream == nullptr || state->finished) return false;
  RowBlock* const block = state->block;
  const bool is_there =
      block == nullptr ? state->stream->next(state->row) : block->next < block->rows || state->stream->fill_block();
  if (is_there) return true;
  state->finished = true;
  state->stream->finish();
  return false;
}

TupleTableSlot* next_row(ScanState* node) {
  StreamScan* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  if (!state->opened) open_stream(state);
  if (!find_row(state)) return slot;
  RowBlock* const block = state->block;
  const int columns = slot->tts_tupleDescriptor->natts;
  for (int k = 0; k < columns; ++k)
    slot->tts_values[k] = block == nullptr ? state->row[state->columns[k]] : block->value(state->columns[k]);
  for (int k = 0; k < state->nan_count; ++k) {
    const int column = state->nan_columns[k];
    slot->tts_isnull[column] = std::isnan(DatumGetFloat8(slot->tts_values[column]));
  }
  if (block != nullptr) ++block->next;
  return ExecStoreVirtualTuple(slot);
}

bool start_blocks(CustomScanState* node, ColumnSet, ColumnSet keys) {
  StreamScan* const state = state_of(node);
  if (node->ss.ps.qual != nullptr) return false;
  if (!state->opened) open_stream(state);
  const TupleTableSlot* const slot = node->ss.ss_ScanTupleSlot;
  const int columns = Min(slot->tts_tupleDescriptor->natts, RowBlock::kMaxColumns);
  for (int k = 0; k < columns; ++k)
    if ((keys & one(k)) != 0 && slot->tts_isnull[k]) return false;
  return true;
}

bool take_block(CustomScanState* node, RowBlock& rows) {
  StreamScan* const state = state_of(node);
  if (!find_row(state)) return false;
  RowBlock* const block = state->block;
  const int first_null = state->stream_columns - state->stream->null_columns();
  const int columns = Min(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor->natts, RowBlock::kMaxColumns);
  rows = {};
  for (int k = 0; k < columns; ++k) {
    const int column = state->columns[k];
    if (column >= first_null) continue;
    rows.columns[k] = block == nullptr ? RowBlock::Column{&state->row[column], 0} : block->rest_of(column);
  }
  rows.rows = block == nullptr ? 1 : block->rows - block->next;
  if (block != nullptr) block->next = block->rows;
  return true;
}

/// Keys are wanted of columns of int8 alone.
void decode_value(const CustomScanState*, int, int64_t key, Datum& value, bool& is_null) {
  value = Int64GetDatum(key);
  is_null = false;
}

constexpr BlockReader kBlockReader = {start_blocks, take_block, decode_value};

TupleTableSlot* exec_scan(CustomScanState* node) {
  if (node->ss.ps.qual == nullptr && node->ss.ps.ps_ProjInfo == nullptr) return next_row(&node->ss);
  return scan_rows<next_row>(node);
}

/// Ends a run that may not have reached its last row.
void close_stream(StreamScan* state) {
  if (state->stream != nullptr && !state->finished) state->stream->finish();
  state->stream = nullptr;
  state->block = nullptr;
  state->opened = false;
  state->finished = false;
  MemoryContextReset(state->context);
}

void end_scan(CustomScanState* node) {
  close_stream(state_of(node));
  MemoryContextDelete(state_of(node)->context);
}

void rescan(CustomScanState* node) {
  close_stream(state_of(node));
  ExecScanReScan(&node->ss);
}

char* best_text(const ExprState* limit, const ExprState* offset, List* names) {
  const auto text = [&](const ExprState* bound) { return bound_text(reinterpret_cast<Node*>(bound->expr), names); };
  return offset == nullptr ? text(limit) : psprintf("%s + %s", text(limit), text(offset));
}

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  StreamScan* const state = state_of(node);
  const ParamListInfo params = node->ss.ps.state->es_param_list_info;
  const char* const function = get_func_name(state->call->funcid);
  ExplainPropertyText("Function", function != nullptr ? function : "?", es);
  explain_queries(state->call, params, es);
  List* const names = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
  if (state->limit != nullptr) ExplainPropertyText("Best", best_text(state->limit, state->offset, names), es);
  if (es->verbose) {
    ExplainPropertyText("Function Call", deparse_expression(reinterpret_cast<Node*>(state->call), names, true, false), es);
  }
  if (es->analyze && state->stream != nullptr) state->stream->explain(es);
  if (es->verbose) explain_query_plans(state->call, params, es);
}

const CustomExecMethods kExecMethods = node_methods(kNodeName, begin_scan, exec_scan, end_scan, rescan, explain_scan);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<StreamScan, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

bool is_row_stream(const CustomPath* path) { return path->methods == &kPathMethods; }

bool returns_pairs(PlannerInfo* root, const CustomPath* path) {
  const RangeTblEntry* const entry = planner_rt_fetch(path->path.parent->relid, root);
  const auto* const call = castNode(FuncExpr, linitial_node(RangeTblFunction, entry->functions)->funcexpr);
  return table_function(call->funcid)->ranked_columns() != 0;
}

const BlockReader* row_stream_blocks(const CustomScanState* node) {
  return node->methods == &kExecMethods ? &kBlockReader : nullptr;
}

void install_row_stream_node() {
  RegisterCustomScanMethods(&kScanMethods);
  next_pathlist_hook = set_rel_pathlist_hook;
  set_rel_pathlist_hook = add_stream_path;
}

}  // namespace batmap::pg
