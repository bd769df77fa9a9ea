// Plays the part of other extensions in a server with batmap that work on queries and plans. Settings of the
// session select what it does to each query that is planned; real extensions do these things. The answers must
// not change. `make neighbour` builds it for test/t/021_neighbours.pl; it is never installed.
//
//   neighbour.plans_twice     plans, discards the plan, and plans again (index and plan advisers)
//   neighbour.keeps_plans     returns an earlier plan if the session has planned the same text (plan caches)
//   neighbour.copies_plans    copies each plan, prints it, reads the text back, compares, and returns that plan
//   neighbour.walks_plans     takes each member of each custom_private for a node, and walks it (Citus)
//   neighbour.numbers_tables  keeps two numbers in the values_lists of tables (Citus)
//   neighbour.replaces_plans  returns a plan of one node with the columns of the server's plan and the rows of
//                             the query as it was before planning (Citus, over distributed tables)
//   neighbour.drops_columns   returns a plan of one column for queries of two; the expected answer is an error
//
// It also has a table function whose C name is that of a table function of batmap.
#include <string.h>

#include "extension/server/pg.h"

extern "C" {
#include "executor/tstoreReceiver.h"

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

namespace {

constexpr char kNodeName[] = "Neighbour";

planner_hook_type next_planner = nullptr;

bool plans_twice = false;
bool keeps_plans = false;
bool copies_plans = false;
bool walks_plans = false;
bool numbers_tables = false;
bool replaces_plans = false;
bool drops_columns = false;

/// @param more  from version 19 of the server on: the state of EXPLAIN
template <typename... More>
PlannedStmt* plan_on(Query* query, const char* text, int options, ParamListInfo parameters, More... more) {
  return (next_planner != nullptr ? next_planner : standard_planner)(query, text, options, parameters, more...);
}

template <typename T>
T* copy_of(const T* node) {
  return static_cast<T*>(copyObjectImpl(node));
}

/// The walkers of the server take a function of two arguments under another type.
using Walker = bool (*)();
Walker as_walker(bool (*walker)(Node*, void*)) { return reinterpret_cast<Walker>(reinterpret_cast<void*>(walker)); }

// ---- numbers in range tables

bool number_tables(Node* node, void* next) {
  if (node == nullptr) return false;
  if (IsA(node, RangeTblEntry)) {
    auto* const entry = castNode(RangeTblEntry, node);
    if (entry->rtekind == RTE_RELATION) entry->values_lists = list_make2_int(++*static_cast<int*>(next), entry->inh);
    return false;
  }
  if (IsA(node, Query))
    return query_tree_walker(castNode(Query, node), as_walker(number_tables), next, QTW_EXAMINE_RTES_BEFORE);
  return expression_tree_walker(node, as_walker(number_tables), next);
}

// ---- walks

bool look_at(Node* node, void* context) {
  if (node == nullptr) return false;
  if (IsA(node, ExtensibleNode)) elog(DEBUG1, "a node called %s", castNode(ExtensibleNode, node)->extnodename);
  return expression_tree_walker(node, as_walker(look_at), context);
}

void walk_plans(List* plans);

void walk_plan(Plan* plan) {
  if (plan == nullptr) return;
  check_stack_depth();
  walk_plan(plan->lefttree);
  walk_plan(plan->righttree);
  if (IsA(plan, Append)) walk_plans(castNode(Append, plan)->appendplans);
  if (IsA(plan, MergeAppend)) walk_plans(castNode(MergeAppend, plan)->mergeplans);
  if (IsA(plan, SubqueryScan)) walk_plan(castNode(SubqueryScan, plan)->subplan);
  if (!IsA(plan, CustomScan)) return;
  auto* const scan = castNode(CustomScan, plan);
  walk_plans(scan->custom_plans);
  ListCell* cell;
  foreach (cell, scan->custom_private) {
    auto* const member = static_cast<Node*>(lfirst(cell));
    look_at(member, nullptr);
    if (!equal(member, copy_of(member)))
      elog(ERROR, "a member of custom_private of %s is not its copy", scan->methods->CustomName);
  }
}

void walk_plans(List* plans) {
  ListCell* cell;
  foreach (cell, plans) walk_plan(static_cast<Plan*>(lfirst(cell)));
}

// ---- copies

/// The printed form of a node, without what a copy need not have: locations in the query text, which are not read back, and
/// empty arrays, of which the server makes none at all.
char* printed(const void* node) {
  char* const text = nodeToString(node);
  char* to = text;
  for (const char* from = text; *from != '\0';) {
    constexpr char kLocation[] = "location ";
    constexpr char kEmpty[] = " ()";
    constexpr char kNone[] = " <>";
    if (strncmp(from, kLocation, sizeof kLocation - 1) == 0) {
      from += sizeof kLocation - 1;
      from += strspn(from, "-0123456789");
    } else if (strncmp(from, kEmpty, sizeof kEmpty - 1) == 0) {
      from += sizeof kEmpty - 1;
      memcpy(to, kNone, sizeof kNone - 1);
      to += sizeof kNone - 1;
    } else {
      *to++ = *from++;
    }
  }
  *to = '\0';
  return text;
}

PlannedStmt* copied(const PlannedStmt* plan) {
  const PlannedStmt* const copy = copy_of(plan);
  if (strcmp(printed(plan), printed(copy)) != 0) elog(ERROR, "a plan is not its copy");
  auto* const read = static_cast<PlannedStmt*>(stringToNode(nodeToString(copy)));
  if (strcmp(printed(copy), printed(read)) != 0) elog(ERROR, "a plan is not what was printed of it");
  return read;
}

// ---- plans that were made before

struct KeptPlan {
  const char* text;
  Query* query;
  PlannedStmt* plan;
};
List* kept_plans = NIL;  // KeptPlan

/// @param query  before planning
PlannedStmt* kept(const char* text, Query* query, PlannedStmt* plan) {
  ListCell* cell;
  foreach (cell, kept_plans) {
    const auto* const entry = static_cast<KeptPlan*>(lfirst(cell));
    if (strcmp(entry->text, text) == 0 && equal(entry->query, query)) return entry->plan;
  }
  const MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
  auto* const entry = static_cast<KeptPlan*>(palloc(sizeof(KeptPlan)));
  *entry = {pstrdup(text), copy_of(query), copy_of(plan)};
  kept_plans = lappend(kept_plans, entry);
  MemoryContextSwitchTo(caller);
  return entry->plan;
}

// ---- a plan of one node

Node* create_state(CustomScan* scan);

const CustomScanMethods kScanMethods = {kNodeName, create_state};

struct OwnScan {
  CustomScanState base;  // first member: the server sees this
  PlannedStmt* plan;
  Tuplestorestate* rows;  // nullptr before the first call
  TupleTableSlot* row;
};

OwnScan* state_of(CustomScanState* node) { return reinterpret_cast<OwnScan*>(node); }

void begin_scan(CustomScanState* node, EState*, int) {
  state_of(node)->plan = linitial_node(PlannedStmt, castNode(CustomScan, node->ss.ps.plan)->custom_private);
}

void run(OwnScan* state) {
  EState* const estate = state->base.ss.ps.state;
  const MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
  state->rows = tuplestore_begin_heap(false, false, work_mem);
  DestReceiver* const receiver = CreateDestReceiver(DestTuplestore);
  SetTuplestoreDestReceiverParams(receiver, state->rows, estate->es_query_cxt, false, nullptr, nullptr);
  QueryDesc* const query = CreateQueryDesc(copy_of(state->plan), "a neighbour's query", GetActiveSnapshot(), InvalidSnapshot,
                                           receiver, estate->es_param_list_info, nullptr, 0);
  ExecutorStart(query, 0);
  const int wanted = state->base.ss.ss_ScanTupleSlot->tts_tupleDescriptor->natts;
  if (query->tupDesc->natts != wanted)
    elog(ERROR, "the server's plan has %d columns, the query %d", wanted, query->tupDesc->natts);
  state->row = MakeSingleTupleTableSlot(CreateTupleDescCopy(query->tupDesc), &TTSOpsMinimalTuple);
  batmap::pg::run_executor(query);
  ExecutorFinish(query);
  ExecutorEnd(query);
  FreeQueryDesc(query);
  MemoryContextSwitchTo(caller);
}

TupleTableSlot* next_row(ScanState* node) {
  OwnScan* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  if (state->rows == nullptr) run(state);
  ExecClearTuple(node->ss_ScanTupleSlot);
  if (!tuplestore_gettupleslot(state->rows, true, false, state->row)) return node->ss_ScanTupleSlot;
  return ExecCopySlot(node->ss_ScanTupleSlot, state->row);
}

bool recheck_row(ScanState*, TupleTableSlot*) { return true; }

TupleTableSlot* exec_scan(CustomScanState* node) { return ExecScan(&node->ss, next_row, recheck_row); }

void end_scan(CustomScanState* node) {
  if (state_of(node)->rows != nullptr) tuplestore_end(state_of(node)->rows);
}

void rescan(CustomScanState* node) {
  if (state_of(node)->rows != nullptr) tuplestore_rescan(state_of(node)->rows);
  ExecScanReScan(&node->ss);
}

CustomExecMethods exec_methods() {
  CustomExecMethods methods{};
  methods.CustomName = kNodeName;
  methods.BeginCustomScan = begin_scan;
  methods.ExecCustomScan = exec_scan;
  methods.EndCustomScan = end_scan;
  methods.ReScanCustomScan = rescan;
  return methods;
}

const CustomExecMethods kExecMethods = exec_methods();

Node* create_state(CustomScan*) {
  auto* const state = static_cast<OwnScan*>(palloc0(sizeof(OwnScan)));
  state->base.ss.ps.type = T_CustomScanState;
  state->base.methods = &kExecMethods;
  return reinterpret_cast<Node*>(state);
}

/// @param plan  the server's: its list of targets says what the columns are
/// @param rows  of the same query
PlannedStmt* replaced(const PlannedStmt* plan, PlannedStmt* rows) {
  CustomScan* const scan = makeNode(CustomScan);
  List* names = NIL;
  ListCell* cell;
  foreach (cell, plan->planTree->targetlist) {
    const auto* const target = lfirst_node(TargetEntry, cell);
    Var* const column = makeVarFromTargetEntry(1, const_cast<TargetEntry*>(target));
    Var* const output = copy_of(column);
    output->varno = INDEX_VAR;
    char* const name = pstrdup(target->resname != nullptr ? target->resname : "column");
    scan->custom_scan_tlist = lappend(scan->custom_scan_tlist, makeTargetEntry(&column->xpr, target->resno, name, false));
    scan->scan.plan.targetlist =
        lappend(scan->scan.plan.targetlist, makeTargetEntry(&output->xpr, target->resno, name, false));
    names = lappend(names, makeString(name));
  }
  scan->custom_private = list_make1(rows);
  scan->methods = &kScanMethods;
  RangeTblEntry* const entry = makeNode(RangeTblEntry);
  entry->rtekind = RTE_VALUES;
  entry->eref = makeAlias("neighbour", names);
  PlannedStmt* const own = makeNode(PlannedStmt);
  own->commandType = CMD_SELECT;
  own->queryId = plan->queryId;
  own->canSetTag = plan->canSetTag;
  own->relationOids = plan->relationOids;
  own->planTree = &scan->scan.plan;
  own->rtable = list_make1(entry);
  return own;
}

/// Can all rows of the query be computed at once?
bool can_replace(const Query* query, const PlannedStmt* plan, int options) {
  if (query->commandType != CMD_SELECT || query->rowMarks != NIL || plan->hasModifyingCTE || plan->planTree == nullptr)
    return false;
  if ((options & CURSOR_OPT_SCROLL) != 0) return false;
  ListCell* cell;
  foreach (cell, plan->planTree->targetlist)
    if (lfirst_node(TargetEntry, cell)->resjunk) return false;
  return plan->planTree->targetlist != NIL;
}

/// A plan of one column, a number.
PlannedStmt* without_columns(PlannedStmt* plan) {
  Result* const result = makeNode(Result);
  Const* const number = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true);
  result->plan.targetlist = list_make1(makeTargetEntry(&number->xpr, 1, pstrdup("number"), false));
  plan->planTree = &result->plan;
  return plan;
}

// ---- all of it

template <typename... More>
PlannedStmt* plan_query(Query* query, const char* text, int options, ParamListInfo parameters, More... more) {
  int tables = 0;
  if (numbers_tables) number_tables(reinterpret_cast<Node*>(query), &tables);
  Query* const before = copy_of(query);
  const int columns = list_length(query->targetList);
  PlannedStmt* plan = plan_on(query, text, options, parameters, more...);
  if (plans_twice) plan = plan_on(copy_of(before), text, options, parameters, more...);
  if (walks_plans) {
    walk_plan(plan->planTree);
    walk_plans(plan->subplans);
  }
  if (keeps_plans && text != nullptr && parameters == nullptr && plan->commandType == CMD_SELECT)
    plan = kept(text, before, plan);
  if (copies_plans) plan = copied(plan);
  if (replaces_plans && can_replace(before, plan, options))
    plan = replaced(plan, plan_on(copy_of(before), text, options, parameters, more...));
  if (drops_columns && plan->commandType == CMD_SELECT && columns == 2) plan = without_columns(plan);
  return plan;
}

}  // namespace

/// Has the name of a function of batmap, whose symbols are visible to all libraries of the process.
BATMAP_FUNCTION(batmap_pairs_query) {
  InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  Datum value = Int64GetDatum(-1);
  bool null = false;
  tuplestore_putvalues(result->setResult, result->setDesc, &value, &null);
  return Datum{0};
}

void _PG_init(void) {
  const struct {
    const char* name;
    bool* value;
  } settings[] = {
      {"neighbour.plans_twice", &plans_twice},       {"neighbour.keeps_plans", &keeps_plans},
      {"neighbour.copies_plans", &copies_plans},     {"neighbour.walks_plans", &walks_plans},
      {"neighbour.numbers_tables", &numbers_tables}, {"neighbour.replaces_plans", &replaces_plans},
      {"neighbour.drops_columns", &drops_columns},
  };
  for (const auto& setting : settings)
    DefineCustomBoolVariable(setting.name, "see test/neighbour/neighbour.cpp", nullptr, setting.value, false, PGC_USERSET, 0,
                             nullptr, nullptr, nullptr);
  RegisterCustomScanMethods(&kScanMethods);
  next_planner = planner_hook;
  planner_hook = plan_query;
}
