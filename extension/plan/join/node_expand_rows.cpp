// Planning and execution of the plan node "BatmapExpandRows". See node_expand_rows.h.
#include "extension/plan/join/node_expand_rows.h"

#include "extension/server/node_state.h"
#include "extension/server/plan_numbers.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapExpandRows";

// ---- planning

// Positions in CustomPath::custom_private; kNumbers becomes the custom_private of the plan.
enum PathList { kNumbers, kScanTargets, kQuals };

/// The columns that the node makes. Columns of the row follow.
enum Column { kRowNumber, kElement, kFirstOfRow };

/// The function: its arguments are the first columns of the row below.
struct Call {
  Oid function;
  Oid result;
  int is_variadic;
  Oid collation;
  Oid input_collation;
  int arguments;
  int processes;  // that number rows at the same time
};

List* numbers_of(const FuncExpr* call, int processes) {
  List* const oids = list_make4_oid(call->funcid, call->funcresulttype, call->funccollid, call->inputcollid);
  return put_numbers(put_numbers(NIL, oids), list_make3_int(call->funcvariadic, list_length(call->args), processes));
}

Call call_of(const List* custom_private) {
  PlanNumbers numbers(custom_private);
  List* const oids = numbers.next_oids();
  List* const ints = numbers.next_ints();
  return {linitial_oid(oids), lsecond_oid(oids), linitial_int(ints), lthird_oid(oids),
          lfourth_oid(oids),  lsecond_int(ints), lthird_int(ints)};
}

const CustomScanMethods* scan_methods();

Plan* plan_expand(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = static_cast<List*>(list_nth(path->custom_private, kQuals));
  scan->scan.plan.lefttree = static_cast<Plan*>(linitial(children));  // where other code looks for children
  scan->scan.scanrelid = 0;                                           // custom_scan_tlist describes its rows
  scan->flags = path->flags;
  scan->custom_private = static_cast<List*>(list_nth(path->custom_private, kNumbers));
  scan->custom_scan_tlist = static_cast<List*>(list_nth(path->custom_private, kScanTargets));
  scan->methods = scan_methods();
  return &scan->scan.plan;
}

const CustomPathMethods kPathMethods = {kNodeName, plan_expand, nullptr};

// ---- execution

struct ExpandState {
  CustomScanState base;   // first member: the server sees this
  SetExprState* call;     // of a row of the node below
  MemoryContext row;      // what lives as long as one row: arguments, elements
  bool is_array;          // the elements are those of an array: no call is needed
  TupleTableSlot* below;  // the row; nullptr: the next one is wanted
  int first_column;       // of the row below that is returned
  int64_t number;         // of the row
  int64_t step;
  bool has_last;    // a call has returned its last row
  Datum* elements;  // this and the next three: of an array
  bool* nulls;
  int count;
  int next;
};

ExpandState* state_of(CustomScanState* node) { return reinterpret_cast<ExpandState*>(node); }
PlanState* child_of(CustomScanState* node) { return outerPlanState(node); }

/// The function, of columns of the row below.
FuncExpr* call_expression(const Call& call, const Plan* below) {
  List* arguments = NIL;
  const ListCell* cell;
  foreach (cell, below->targetlist) {
    const auto* const target = lfirst_node(TargetEntry, cell);
    auto* const value = reinterpret_cast<Node*>(target->expr);
    if (list_length(arguments) < call.arguments)
      arguments =
          lappend(arguments, makeVar(OUTER_VAR, target->resno, exprType(value), exprTypmod(value), exprCollation(value), 0));
  }
  FuncExpr* const expression =
      makeFuncExpr(call.function, call.result, arguments, call.collation, call.input_collation, COERCE_EXPLICIT_CALL);
  expression->funcretset = true;
  expression->funcvariadic = call.is_variadic != 0;
  return expression;
}

void begin_expand(CustomScanState* node, EState* estate, int eflags) {
  ExpandState* const state = state_of(node);
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  const Call call = call_of(scan->custom_private);
  outerPlanState(node) = ExecInitNode(outerPlan(scan), estate, eflags);
  // Also checks that the user may call the function.
  state->call = ExecInitFunctionResultSet(reinterpret_cast<Expr*>(call_expression(call, outerPlan(scan))),
                                          node->ss.ps.ps_ExprContext, &node->ss.ps);
  state->is_array = call.function == F_UNNEST_ANYARRAY;
  state->first_column = call.arguments;
  state->row = AllocSetContextCreate(estate->es_query_cxt, "batmap row", ALLOCSET_DEFAULT_SIZES);
  // Workers number their rows in turn with the leader.
  state->step = call.processes;
  state->number = call.processes > 1 ? ParallelWorkerNumber + 1 : 0;
}

/// Makes the elements of an array of the row, as unnest() does: of all dimensions, NULLs included.
void open_array(ExpandState* state) {
  state->count = state->next = 0;
  if (state->below->tts_isnull[0]) return;
  const MemoryContext caller = MemoryContextSwitchTo(state->row);
  ArrayType* const array = DatumGetArrayTypeP(state->below->tts_values[0]);
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
  deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &state->elements, &state->nulls, &state->count);
  MemoryContextSwitchTo(caller);
}

/// Goes to the next row of the node below. @return false if there is none
bool next_below(ExpandState* state) {
  CHECK_FOR_INTERRUPTS();
  TupleTableSlot* const below = ExecProcNode(child_of(&state->base));
  if (TupIsNull(below)) return false;
  slot_getallattrs(below);
  state->below = below;
  state->has_last = false;
  state->number += state->step;
  MemoryContextReset(state->row);
  if (state->is_array) open_array(state);
  return true;
}

/// The next element of the row. @return false if there is none
bool next_element(ExpandState* state, Datum& value, bool& is_null) {
  if (state->is_array) {
    if (state->next == state->count) return false;
    value = state->elements[state->next];
    is_null = state->nulls[state->next++];
    return true;
  }
  if (state->has_last) return false;
  ExprContext* const context = state->base.ss.ps.ps_ExprContext;
  context->ecxt_outertuple = state->below;
  const MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
  ExprDoneCond done;
  value = ExecMakeFunctionResultSet(state->call, context, state->row, &is_null, &done);
  MemoryContextSwitchTo(caller);
  state->has_last = done != ExprMultipleResult;
  return done != ExprEndResult;
}

TupleTableSlot* next_row(ScanState* node) {
  ExpandState* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  for (;;) {
    if (state->below == nullptr && !next_below(state)) return slot;
    if (next_element(state, slot->tts_values[kElement], slot->tts_isnull[kElement])) break;
    state->below = nullptr;
  }
  slot->tts_values[kRowNumber] = Int64GetDatum(state->number);
  slot->tts_isnull[kRowNumber] = false;
  for (int at = kFirstOfRow; at < slot->tts_tupleDescriptor->natts; ++at) {
    slot->tts_values[at] = state->below->tts_values[state->first_column + at - kFirstOfRow];
    slot->tts_isnull[at] = state->below->tts_isnull[state->first_column + at - kFirstOfRow];
  }
  return ExecStoreVirtualTuple(slot);
}

void end_expand(CustomScanState* node) { ExecEndNode(child_of(node)); }

void rescan_expand(CustomScanState* node) {
  state_of(node)->below = nullptr;
  if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(child_of(node), node->ss.ps.chgParam);
  if (child_of(node)->chgParam == nullptr) ExecReScan(child_of(node));
  ExecScanReScan(&node->ss);
}

const CustomExecMethods kExecMethods = node_methods(kNodeName, begin_expand, scan_rows<next_row>, end_expand, rescan_expand);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<ExpandState, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

const CustomScan* expansion_of(const Plan* plan) {
  if (!IsA(plan, CustomScan)) return nullptr;
  const auto* const scan = reinterpret_cast<const CustomScan*>(plan);
  return scan->methods == &kScanMethods ? scan : nullptr;
}

}  // namespace

Path* expand_rows_path(PlannerInfo* root, const RowExpansion& expansion, RelOptInfo* elements, Path* rows, List* columns) {
  auto* const computed = reinterpret_cast<List*>(with_call(expansion, reinterpret_cast<Node*>(columns)));
  auto* const conditions = reinterpret_cast<List*>(with_call(expansion, reinterpret_cast<Node*>(expansion.conditions)));

  // What the call and the columns read of a row. The row itself stands for its number only.
  PathTarget* const below = create_empty_pathtarget();
  ListCell* cell;
  foreach (cell, expansion.call->args) add_column_to_pathtarget(below, static_cast<Expr*>(lfirst(cell)), 0);
  List* const made = list_make2(linitial(columns), expansion.call);
  List* read = NIL;
  foreach (cell, pull_var_clause(reinterpret_cast<Node*>(list_concat(list_copy_tail(columns, 1), expansion.conditions)), 0))
    if (lfirst_node(Var, cell)->varno != expansion.functions[0]) read = list_append_unique(read, lfirst(cell));
  foreach (cell, read) add_column_to_pathtarget(below, static_cast<Expr*>(lfirst(cell)), 0);
  List* targets = NIL;
  foreach (cell, list_concat(made, read))
    targets = lappend(targets, makeTargetEntry(static_cast<Expr*>(copyObjectImpl(lfirst(cell))),
                                               static_cast<AttrNumber>(list_length(targets) + 1), nullptr, false));
  Path* const child = &create_projection_path(root, expansion.rows, rows, set_pathtarget_cost_width(root, below))->path;

  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = elements;
  path->path.pathtarget = create_empty_pathtarget();
  foreach (cell, computed) add_column_to_pathtarget(path->path.pathtarget, static_cast<Expr*>(lfirst(cell)), 0);
  set_pathtarget_cost_width(root, path->path.pathtarget);
  path->path.parallel_safe = child->parallel_safe && elements->consider_parallel;
  path->path.parallel_workers = child->parallel_workers;
  path->path.rows = clamp_row_est(elements->rows * child->rows / Max(expansion.rows->rows, 1));
  QualCost call;
  cost_qual_eval_node(&call, reinterpret_cast<Node*>(expansion.call), root);
  QualCost quals;
  cost_qual_eval(&quals, conditions, root);
  path->path.startup_cost = child->startup_cost + call.startup + quals.startup;
  path->path.total_cost = child->total_cost + call.startup + quals.startup + call.per_tuple * child->rows +
                          (cpu_tuple_cost + quals.per_tuple) * path->path.rows;
  set_disabled_nodes(&path->path, disabled_nodes(child));
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->custom_paths = list_make1(child);
  path->custom_private = list_make3(numbers_of(expansion.call, child->parallel_workers + 1), targets, conditions);
  path->methods = &kPathMethods;
  return &path->path;
}

char* expanded_rows_text(const Plan* plan, List* names) {
  const CustomScan* const scan = expansion_of(plan);
  if (scan == nullptr) return nullptr;
  StringInfoData text;
  initStringInfo(&text);
  const auto* const number = list_nth_node(TargetEntry, scan->custom_scan_tlist, kRowNumber);
  const ListCell* cell;
  foreach (cell, pull_var_clause(reinterpret_cast<Node*>(number->expr), 0)) {
    char* const row = deparse_expression(static_cast<Node*>(lfirst(cell)), names, true, false);
    if (const size_t length = strlen(row); length > 2) row[length - strlen(".*")] = '\0';
    appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "row of ", row);
  }
  return text.data;
}

Node* expanded_column(const Plan* plan, int number) {
  Expr* column = list_nth_node(TargetEntry, plan->targetlist, number)->expr;
  const CustomScan* const scan = expansion_of(plan);
  if (scan != nullptr && IsA(column, Var))
    column = list_nth_node(TargetEntry, scan->custom_scan_tlist, castNode(Var, column)->varattno - 1)->expr;
  return reinterpret_cast<Node*>(column);
}

void register_expand_rows_node() { RegisterCustomScanMethods(&kScanMethods); }

}  // namespace batmap::pg
