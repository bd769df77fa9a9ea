// Planning and execution of the plan node "BatmapAggregate". See node_aggregate.h.
#include "extension/plan/node_aggregate.h"

#include <algorithm>

#include "extension/plan/join/plain_plan.h"
#include "extension/plan/node_join_project.h"
#include "extension/server/node_state.h"
#include "extension/server/numeric.h"
#include "extension/server/plan_numbers.h"
#include "extension/server/settings.h"
#include "extension/streams/node_row_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapAggregate";

create_upper_paths_hook_type next_upper_paths_hook = nullptr;

enum class Kind : int { kCount, kSum, kAvg, kMin, kMax };

/// The aggregates of the server that the node computes. All but count(*) have one argument of type int8.
struct KnownAggregate {
  Oid function;
  Kind kind;
};
constexpr KnownAggregate kKnownAggregates[] = {
    {F_COUNT_, Kind::kCount}, {F_SUM_INT8, Kind::kSum}, {F_AVG_INT8, Kind::kAvg},
    {F_MIN_INT8, Kind::kMin}, {F_MAX_INT8, Kind::kMax},
};

const KnownAggregate* known_aggregate(Oid function) {
  const auto* const found = std::find_if(std::begin(kKnownAggregates), std::end(kKnownAggregates),
                                         [&](const KnownAggregate& known) { return known.function == function; });
  return found == std::end(kKnownAggregates) ? nullptr : found;
}

// ---- planning

/// The column that an aggregate reads. @return nullptr: none, it is count(*)
const Var* argument_of(const Aggref* aggregate) {
  return aggregate->args == NIL ? nullptr : castNode(Var, linitial_node(TargetEntry, aggregate->args)->expr);
}

bool is_computed(const Aggref* aggregate, Index relation) {
  if (known_aggregate(aggregate->aggfnoid) == nullptr || aggregate->aggfilter != nullptr || aggregate->aggorder != NIL ||
      aggregate->aggdistinct != NIL || aggregate->agglevelsup != 0)
    return false;
  if (aggregate->args == NIL) return true;
  const auto* const argument = linitial_node(TargetEntry, aggregate->args)->expr;
  return IsA(argument, Var) && castNode(const Var, argument)->varno == static_cast<int>(relation) &&
         castNode(const Var, argument)->varlevelsup == 0;
}

/// All aggregates of a query without GROUP BY. @return NIL: there are none, or not all of them can be computed
List* aggregates_of(const PlannerInfo* root, const RelOptInfo* input, const RelOptInfo* output) {
  const Query* const query = root->parse;
  if (!query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL) return NIL;
  List* expressions = list_copy(output->reltarget->exprs);
  if (query->havingQual != nullptr) expressions = lappend(expressions, query->havingQual);
  List* aggregates = NIL;
  ListCell* cell;
  foreach (cell, pull_var_clause(reinterpret_cast<Node*>(expressions),
                                 PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS)) {
    auto* const node = static_cast<Node*>(lfirst(cell));
    if (!IsA(node, Aggref) || !is_computed(castNode(Aggref, node), input->relid)) return NIL;
    aggregates = list_append_unique(aggregates, node);
  }
  return aggregates;
}

/// Does a path read a node whose rows lie in memory, with no conditions above it?
bool has_blocks(const Path* path) {
  const auto skip_projection = [&] {
    if (IsA(path, ProjectionPath) && castNode(const ProjectionPath, path)->dummypp)
      path = castNode(const ProjectionPath, path)->subpath;
  };
  skip_projection();
  if (IsA(path, SubqueryScanPath)) path = castNode(const SubqueryScanPath, path)->subpath;
  skip_projection();
  return IsA(path, CustomPath) &&
         (is_row_stream(castNode(const CustomPath, path)) || is_join_project(castNode(const CustomPath, path)));
}

const CustomScanMethods* scan_methods();

/// A scan of a subquery that has all of its columns, in their order: the server leaves such a scan out.
void make_trivial(SubqueryScan* scan) {
  List* targets = NIL;
  const ListCell* cell;
  foreach (cell, scan->subplan->targetlist) {
    const auto* const column = lfirst_node(TargetEntry, cell);
    const auto* const value = reinterpret_cast<Node*>(column->expr);
    Var* const var =
        makeVar(scan->scan.scanrelid, column->resno, exprType(value), exprTypmod(value), exprCollation(value), 0);
    targets = lappend(targets, makeTargetEntry(&var->xpr, column->resno, nullptr, column->resjunk));
  }
  scan->scan.plan.targetlist = targets;
}

/// The number of a column among the targets of a plan, from 1; 0: there is none.
int column_number(const Plan* plan, const Var* column) {
  const ListCell* cell;
  foreach (cell, plan->targetlist) {
    const auto* const target = lfirst_node(TargetEntry, cell);
    if (equal(target->expr, column)) return target->resno;
  }
  return 0;
}

Plan* plan_node(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  auto* const child = static_cast<Plan*>(linitial(children));
  if (IsA(child, SubqueryScan)) make_trivial(castNode(SubqueryScan, child));
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = static_cast<List*>(lsecond(path->custom_private));
  scan->scan.scanrelid = 0;
  scan->flags = path->flags;
  scan->methods = scan_methods();
  scan->custom_plans = children;
  const ListCell* cell;
  foreach (cell, static_cast<List*>(linitial(path->custom_private))) {
    auto* const aggregate = lfirst_node(Aggref, cell);
    const auto number = static_cast<AttrNumber>(foreach_current_index(cell) + 1);
    scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, makeTargetEntry(&aggregate->xpr, number, nullptr, false));
    const Var* const argument = argument_of(aggregate);
    const int column = argument == nullptr ? 0 : column_number(child, argument);
    if (argument != nullptr && column == 0)
      elog(ERROR, "the argument of an aggregate is not among the columns of its input");
    scan->custom_private = put_number(scan->custom_private, static_cast<int>(known_aggregate(aggregate->aggfnoid)->kind));
    scan->custom_private = put_number(scan->custom_private, column);
  }
  return &scan->scan.plan;
}

const CustomPathMethods kPathMethods = {kNodeName, plan_node, nullptr};

void add_aggregate(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, void* extra) {
  if (next_upper_paths_hook != nullptr) next_upper_paths_hook(root, stage, input, output, extra);
  if (stage != UPPERREL_GROUP_AGG || !settings.enable_aggregate) return;
  if (input->reloptkind != RELOPT_BASEREL || input->baserestrictinfo != NIL) return;
  Path* const rows = input->cheapest_total_path;
  if (rows == nullptr || rows->param_info != nullptr || !has_blocks(rows)) return;
  List* const aggregates = aggregates_of(root, input, output);
  if (aggregates == NIL) return;

  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = output;
  path->path.pathtarget = output->reltarget;
  path->path.parallel_safe = output->consider_parallel && rows->parallel_safe;
  path->path.rows = 1;
  set_disabled_nodes(&path->path, disabled_nodes(rows));
  // The rows were found and handed over by the path below; a sum of a column in memory costs next to nothing.
  path->path.startup_cost = rows->total_cost;
  path->path.total_cost = rows->total_cost + output->reltarget->cost.per_tuple + cpu_tuple_cost;
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->custom_paths = list_make1(rows);
  path->custom_private = list_make2(aggregates, root->parse->havingQual);
  path->methods = &kPathMethods;
  add_path(output, &path->path);
}

// ---- execution

struct Aggregate {
  Kind kind;
  int column;       // of the child's result, from 1; 0: none
  int scan_column;  // the same of its scan slot, from 0; -1: not there
  uint64_t rows;    // whose argument is not NULL
  int128 sum;       // the type of the server, which palloc aligns
  int64 extreme;
};

struct AggregateState {
  CustomScanState base;  // first member: the server sees this
  PlanState* child;
  const BlockReader* reader;  // nullptr: the child gives its rows one at a time
  ColumnSet wanted;           // of the scan slot of the child
  int count;
  Aggregate* aggregates;  // [count]
  bool finished;
};

AggregateState* state_of(CustomScanState* node) { return reinterpret_cast<AggregateState*>(node); }

/// Where the scan slot of a plan has the column `number`, from 1, of its result. @return -1: the column is computed
int scan_column(const Plan* plan, int number) {
  const auto* const value = list_nth_node(TargetEntry, plan->targetlist, number - 1)->expr;
  if (!IsA(value, Var) || castNode(const Var, value)->varno != INDEX_VAR) return -1;
  return castNode(const Var, value)->varattno - 1;
}

void begin_scan(CustomScanState* node, EState* estate, int flags) {
  AggregateState* const state = state_of(node);
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  check_aggregates(scan->custom_scan_tlist);
  auto* const plan = static_cast<Plan*>(linitial(scan->custom_plans));
  state->child = ExecInitNode(plan, estate, flags);
  node->custom_ps = list_make1(state->child);
  if (IsA(state->child, CustomScanState)) {
    const auto* const child = castNode(CustomScanState, state->child);
    state->reader = row_stream_blocks(child);
    if (state->reader == nullptr) state->reader = join_project_blocks(child);
  }
  // A function that changes something must be called for each row.
  if (contain_volatile_functions(reinterpret_cast<Node*>(plan->targetlist))) state->reader = nullptr;
  state->count = list_length(scan->custom_scan_tlist);
  state->aggregates = static_cast<Aggregate*>(palloc0(static_cast<Size>(state->count) * sizeof(Aggregate)));
  PlanNumbers numbers(scan->custom_private);
  for (int k = 0; k < state->count; ++k) {
    Aggregate& aggregate = state->aggregates[k];
    aggregate.kind = static_cast<Kind>(numbers.next());
    aggregate.column = numbers.next();
    if (aggregate.column == 0) continue;
    aggregate.scan_column = state->reader == nullptr ? -1 : scan_column(plan, aggregate.column);
    if (aggregate.scan_column < 0 || aggregate.scan_column >= RowBlock::kMaxColumns)
      state->reader = nullptr;
    else
      state->wanted |= one(aggregate.scan_column);
  }
}

/// Adds the values of a column. @param rows  at least one
void add_values(Aggregate& aggregate, RowBlock::Column column, size_t rows) {
  const auto* const first = static_cast<const char*>(column.first);
  const auto value = [&](size_t row) { return *reinterpret_cast<const int64*>(first + row * column.stride); };
  if (aggregate.rows == 0) aggregate.extreme = value(0);
  aggregate.rows += rows;
  // The compiler keeps what is local in registers.
  int64 extreme = aggregate.extreme;
  __int128 sum = 0;
  switch (aggregate.kind) {
    case Kind::kCount: break;
    case Kind::kSum:
    case Kind::kAvg:
      for (size_t row = 0; row < rows; ++row) sum += value(row);
      break;
    case Kind::kMin:
      for (size_t row = 0; row < rows; ++row) extreme = std::min(extreme, value(row));
      break;
    case Kind::kMax:
      for (size_t row = 0; row < rows; ++row) extreme = std::max(extreme, value(row));
      break;
  }
  aggregate.extreme = extreme;
  aggregate.sum += sum;
}

void add_block(Aggregate& aggregate, const RowBlock& rows) {
  if (aggregate.column == 0)
    aggregate.rows += rows.rows;
  else if (const RowBlock::Column column = rows.columns[aggregate.scan_column]; column.first != nullptr)
    add_values(aggregate, column, rows.rows);
}

/// Reads the rows of the child in blocks. @return false: they must be read one at a time
bool read_blocks(AggregateState* state) {
  if (state->reader == nullptr) return false;
  auto* const child = castNode(CustomScanState, state->child);
  if (state->child->chgParam != nullptr) ExecReScan(state->child);
  // As ExecProcNode does for the rows of a node that it calls.
  auto* const instrument = state->child->instrument;
  const auto measured = [&](auto step) {
    if (instrument != nullptr) InstrStartNode(instrument);
    const size_t rows = step();
    if (instrument != nullptr) InstrStopNode(instrument, static_cast<double>(rows));
    return rows;
  };
  bool can = false;
  measured([&] {
    can = state->reader->start(child, state->wanted);
    return size_t{0};
  });
  if (!can) return false;
  RowBlock rows;
  while (measured([&] { return state->reader->take(child, rows) ? rows.rows : 0; }) > 0) {
    for (int k = 0; k < state->count; ++k) add_block(state->aggregates[k], rows);
    CHECK_FOR_INTERRUPTS();
  }
  return true;
}

void read_rows(AggregateState* state) {
  for (;;) {
    TupleTableSlot* const row = ExecProcNode(state->child);
    if (TupIsNull(row)) return;
    for (int k = 0; k < state->count; ++k) {
      Aggregate& aggregate = state->aggregates[k];
      bool is_null = false;
      if (aggregate.column == 0)
        ++aggregate.rows;
      else if (const Datum value = slot_getattr(row, aggregate.column, &is_null); !is_null)
        add_values(aggregate, {&value, 0}, 1);
    }
    CHECK_FOR_INTERRUPTS();
  }
}

/// What the aggregate of the server returns. Runs in the memory of a row.
Datum result_of(const Aggregate& aggregate, bool& is_null) {
  is_null = aggregate.kind != Kind::kCount && aggregate.rows == 0;
  if (is_null) return 0;
  const auto rows = static_cast<int64>(aggregate.rows);
  switch (aggregate.kind) {
    case Kind::kCount: return Int64GetDatum(rows);
    case Kind::kSum: return numeric_of(aggregate.sum, 0);
    case Kind::kAvg: return DirectFunctionCall2(numeric_div, numeric_of(aggregate.sum, 0), numeric_of(rows, 0));
    case Kind::kMin:
    case Kind::kMax: return Int64GetDatum(aggregate.extreme);
  }
  pg_unreachable();
}

TupleTableSlot* next_row(ScanState* node) {
  AggregateState* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  if (state->finished) return slot;
  if (!read_blocks(state)) read_rows(state);
  state->finished = true;
  const MemoryContext caller = MemoryContextSwitchTo(node->ps.ps_ExprContext->ecxt_per_tuple_memory);
  for (int k = 0; k < state->count; ++k) slot->tts_values[k] = result_of(state->aggregates[k], slot->tts_isnull[k]);
  MemoryContextSwitchTo(caller);
  return ExecStoreVirtualTuple(slot);
}

void end_scan(CustomScanState* node) { ExecEndNode(state_of(node)->child); }

void rescan(CustomScanState* node) {
  AggregateState* const state = state_of(node);
  for (int k = 0; k < state->count; ++k) {
    Aggregate& aggregate = state->aggregates[k];
    aggregate.rows = 0;
    aggregate.sum = 0;
  }
  state->finished = false;
  if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(state->child, node->ss.ps.chgParam);
  if (state->child->chgParam == nullptr) ExecReScan(state->child);
  ExecScanReScan(&node->ss);
}

const CustomExecMethods kExecMethods = node_methods(kNodeName, begin_scan, scan_rows<next_row>, end_scan, rescan);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<AggregateState, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

void install_aggregate_node() {
  RegisterCustomScanMethods(&kScanMethods);
  next_upper_paths_hook = create_upper_paths_hook;
  create_upper_paths_hook = add_aggregate;
}

}  // namespace batmap::pg
