// Execution of the plan node "BatmapAggregate". See node_aggregate.h.
#include "extension/plan/aggregate/node_aggregate.h"

#include <algorithm>

#include "extension/input/key_encoder.h"
#include "extension/plan/aggregate/aggregate_path.h"
#include "extension/plan/aggregate/totals.h"
#include "extension/plan/join/plain_plan.h"
#include "extension/plan/node_join_project.h"
#include "extension/server/context_owned.h"
#include "extension/server/node_state.h"
#include "extension/server/plan_numbers.h"
#include "extension/streams/node_row_stream.h"
#include "relation/key_codes.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

create_upper_paths_hook_type next_upper_paths_hook = nullptr;

struct InputColumn {
  int number;       // in the result of the child, from 1; 0: there is none
  int scan_column;  // in its scan slot, from 0; -1: it is not there
};

struct Aggregate {
  AggregateKind kind;
  InputColumn argument;
};

/// Where there are keys, one group is that of NULL, and the others follow in the order in which their keys appear.
constexpr size_t kNullGroup = 0;
constexpr size_t kFirstGroup = 1;

/// The groups by their keys. As with a hashed subplan of the server, nothing limits them but the expectation of the planner: a
/// query must not fail because this node stands in the place of another one.
struct Groups {
  Groups() : codes({.memory = &meter, .cancel = backend_cancel_token()}, INT64_MIN, UINT64_MAX, 0) {}

  MemoryMeter meter;
  KeyCodes codes;
};

struct AggregateScan {
  CustomScanState base;  // first member: the server sees this
  PlanState* child;
  const BlockReader* reader;  // nullptr: the child gives its rows one at a time
  InputColumn key;            // whose values tell the groups apart; none: all rows are one group
  ColumnSet values;           // what the aggregates read of the scan slot of the child
  int count;
  Aggregate* aggregates;  // [count]
  MemoryContext context;  // of one run; what follows is of it
  Groups* groups;
  KeyEncoder encoder;  // of keys, where rows are read one at a time
  bool in_blocks;
  bool has_null;  // a row with NULL has been read there
  size_t group_count;
  size_t room;        // in `totals`, of groups
  Total* totals;      // [group_count][count]
  size_t next_group;  // to be returned
  bool is_read;
};

AggregateScan* scan_of(CustomScanState* node) { return reinterpret_cast<AggregateScan*>(node); }

/// Where the scan slot of a plan has the column `number`, from 1, of its result. @return -1: the column is computed
int scan_column(const Plan* plan, int number) {
  const auto* const value = list_nth_node(TargetEntry, plan->targetlist, number - 1)->expr;
  if (!IsA(value, Var) || castNode(const Var, value)->varno != INDEX_VAR) return -1;
  return castNode(const Var, value)->varattno - 1;
}

void begin_scan(CustomScanState* node, EState* estate, int flags) {
  AggregateScan* const state = scan_of(node);
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
  const auto input_column = [&](int number) {
    InputColumn column{number, -1};
    if (number == 0) return column;
    if (state->reader != nullptr) column.scan_column = scan_column(plan, number);
    if (column.scan_column < 0 || column.scan_column >= RowBlock::kMaxColumns) state->reader = nullptr;
    return column;
  };
  PlanNumbers numbers(scan->custom_private);
  state->key = input_column(numbers.next());
  state->count = list_length(scan->custom_scan_tlist) - (state->key.number == 0 ? 0 : 1);
  state->aggregates = static_cast<Aggregate*>(palloc0(static_cast<Size>(state->count) * sizeof(Aggregate)));
  for (int k = 0; k < state->count; ++k) {
    Aggregate& aggregate = state->aggregates[k];
    aggregate.kind = static_cast<AggregateKind>(numbers.next());
    aggregate.argument = input_column(numbers.next());
    if (aggregate.argument.scan_column >= 0) state->values |= one(aggregate.argument.scan_column);
  }
  state->context = AllocSetContextCreate(estate->es_query_cxt, "batmap aggregation", ALLOCSET_DEFAULT_SIZES);
}

/// There are so many groups from now on; the totals of new ones are 0.
void make_room(AggregateScan* state, size_t groups) {
  const size_t bytes = static_cast<size_t>(state->count) * sizeof(Total);
  if (groups > state->room) {
    const size_t room = std::max(groups, 2 * state->room);
    state->totals = static_cast<Total*>(state->totals == nullptr ? MemoryContextAllocHuge(state->context, room * bytes)
                                                                 : repalloc_huge(state->totals, room * bytes));
    state->room = room;
  }
  if (groups > state->group_count)
    memset(state->totals + state->group_count * static_cast<size_t>(state->count), 0, (groups - state->group_count) * bytes);
  state->group_count = groups;
}

// ---- rows of one group

void add_block(AggregateScan* state, const RowBlock& rows) {
  for (int k = 0; k < state->count; ++k) {
    const Aggregate& aggregate = state->aggregates[k];
    if (aggregate.argument.number == 0)
      state->totals[k].rows += rows.rows;
    else if (const RowBlock::Column column = rows.columns[aggregate.argument.scan_column]; column.first != nullptr)
      add_values(aggregate.kind, state->totals[k], column, rows.rows);
  }
}

// ---- rows of many groups

/// So many rows are looked up before they are added.
constexpr size_t kRowsAtOnce = 1024;

/// The groups of the keys of a column, without the first group; new ones are made.
void find_groups(AggregateScan* state, RowBlock::Column keys, size_t rows, uint32_t* groups) {
  KeyCodes& codes = state->groups->codes;
  const auto* const first = static_cast<const char*>(keys.first);
  guarded([&] {
    for (size_t row = 0; row < rows; ++row)
      groups[row] = codes.insert(*reinterpret_cast<const int64*>(first + row * keys.stride));
  });
  make_room(state, kFirstGroup + codes.size());
}

void add_grouped_block(AggregateScan* state, const RowBlock& block) {
  uint32_t groups[kRowsAtOnce];
  const auto step = static_cast<size_t>(state->count);
  for (size_t first = 0; first < block.rows; first += kRowsAtOnce) {
    const size_t rows = std::min(kRowsAtOnce, block.rows - first);
    const auto part_of = [&](int column) {
      const RowBlock::Column& whole = block.columns[column];
      return RowBlock::Column{static_cast<const char*>(whole.first) + first * whole.stride, whole.stride};
    };
    find_groups(state, part_of(state->key.scan_column), rows, groups);
    Total* const totals = state->totals + kFirstGroup * step;
    for (int k = 0; k < state->count; ++k) {
      const Aggregate& aggregate = state->aggregates[k];
      if (aggregate.argument.number == 0)
        for (size_t row = 0; row < rows; ++row) ++totals[groups[row] * step + static_cast<size_t>(k)].rows;
      else if (block.columns[aggregate.argument.scan_column].first != nullptr)
        add_values(aggregate.kind, totals + k, step, part_of(aggregate.argument.scan_column), groups, rows);
    }
  }
}

// ---- reading

/// Reads the rows of the child in blocks. @return false: they must be read one at a time
bool read_blocks(AggregateScan* state) {
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
    can = state->reader->start(child, state->values, state->key.number == 0 ? 0 : one(state->key.scan_column));
    return size_t{0};
  });
  if (!can) return false;
  RowBlock rows;
  while (measured([&] { return state->reader->take(child, rows) ? rows.rows : 0; }) > 0) {
    if (state->key.number == 0)
      add_block(state, rows);
    else
      add_grouped_block(state, rows);
    CHECK_FOR_INTERRUPTS();
  }
  return true;
}

/// The group of a row that is read by itself.
size_t group_of(AggregateScan* state, TupleTableSlot* row) {
  if (state->key.number == 0) return 0;
  bool is_null;
  const Datum value = slot_getattr(row, state->key.number, &is_null);
  state->has_null |= is_null;
  if (is_null) return kNullGroup;
  int64_t key = 0;
  encode_key(state->encoder, &value, &is_null, key);
  size_t group = 0;
  guarded([&] { group = kFirstGroup + state->groups->codes.insert(key); });
  make_room(state, std::max(state->group_count, group + 1));
  return group;
}

void read_rows(AggregateScan* state) {
  if (state->key.number != 0) {
    const Form_pg_attribute column = TupleDescAttr(ExecGetResultType(state->child), state->key.number - 1);
    state->encoder = column_encoder(key_kind(column->atttypid), 0);
    add_dictionary(state->encoder, column->atttypid, column->attcollation, state->context, state->groups->meter);
  }
  for (;;) {
    TupleTableSlot* const row = ExecProcNode(state->child);
    if (TupIsNull(row)) return;
    const size_t group = group_of(state, row);
    Total* const totals = state->totals + group * static_cast<size_t>(state->count);
    for (int k = 0; k < state->count; ++k) {
      const Aggregate& aggregate = state->aggregates[k];
      bool is_null = false;
      if (aggregate.argument.number == 0)
        ++totals[k].rows;
      else if (const Datum value = slot_getattr(row, aggregate.argument.number, &is_null); !is_null)
        add_values(aggregate.kind, totals[k], {&value, 0}, 1);
    }
    CHECK_FOR_INTERRUPTS();
  }
}

// ---- results

void put_key(const AggregateScan* state, size_t group, Datum& value, bool& is_null) {
  is_null = group == kNullGroup;
  if (is_null) return;
  const int64_t key = state->groups->codes.key(static_cast<uint32_t>(group - kFirstGroup));
  if (state->in_blocks)
    state->reader->decode(castNode(CustomScanState, state->child), state->key.scan_column, key, value, is_null);
  else
    decode_key(state->encoder, key, &value, &is_null);
}

void read_input(AggregateScan* state) {
  make_room(state, 1);
  if (state->key.number != 0) state->groups = ContextOwned<Groups>::reserve(state->context)->emplace();
  state->has_null = false;
  state->in_blocks = read_blocks(state);
  if (!state->in_blocks) read_rows(state);
  state->next_group = state->key.number != 0 && !state->has_null ? kFirstGroup : 0;
  state->is_read = true;
}

TupleTableSlot* next_row(ScanState* node) {
  AggregateScan* const state = scan_of(reinterpret_cast<CustomScanState*>(node));
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  if (!state->is_read) read_input(state);
  if (state->next_group == state->group_count) return slot;
  const size_t group = state->next_group++;
  const Total* const totals = state->totals + group * static_cast<size_t>(state->count);
  const MemoryContext caller = MemoryContextSwitchTo(node->ps.ps_ExprContext->ecxt_per_tuple_memory);
  int column = 0;
  if (state->key.number != 0) {
    put_key(state, group, slot->tts_values[0], slot->tts_isnull[0]);
    column = 1;
  }
  for (int k = 0; k < state->count; ++k, ++column)
    slot->tts_values[column] = result_of(state->aggregates[k].kind, totals[k], slot->tts_isnull[column]);
  MemoryContextSwitchTo(caller);
  return ExecStoreVirtualTuple(slot);
}

void forget_rows(AggregateScan* state) {
  state->groups = nullptr;
  state->totals = nullptr;
  state->group_count = state->room = state->next_group = 0;
  state->is_read = false;
  MemoryContextReset(state->context);
}

void end_scan(CustomScanState* node) {
  AggregateScan* const state = scan_of(node);
  MemoryContextDelete(state->context);
  ExecEndNode(state->child);
}

void rescan(CustomScanState* node) {
  AggregateScan* const state = scan_of(node);
  forget_rows(state);
  if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(state->child, node->ss.ps.chgParam);
  if (state->child->chgParam == nullptr) ExecReScan(state->child);
  ExecScanReScan(&node->ss);
}

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  const AggregateScan* const state = scan_of(node);
  if (state->key.number == 0) return;
  const auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  List* const names = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
  auto* const key =
      reinterpret_cast<Node*>(makeVarFromTargetEntry(INDEX_VAR, linitial_node(TargetEntry, scan->custom_scan_tlist)));
  ExplainPropertyText("Group Key", deparse_expression(key, names, es->verbose, false), es);
}

const CustomExecMethods kExecMethods =
    node_methods(kAggregateNode, begin_scan, scan_rows<next_row>, end_scan, rescan, explain_scan);
const CustomScanMethods kScanMethods = {kAggregateNode, create_node_state<AggregateScan, &kExecMethods>};

void add_path(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, void* extra) {
  if (next_upper_paths_hook != nullptr) next_upper_paths_hook(root, stage, input, output, extra);
  add_aggregate_path(root, stage, input, output);
}

}  // namespace

const CustomScanMethods* aggregate_scan_methods() { return &kScanMethods; }

void install_aggregate_node() {
  RegisterCustomScanMethods(&kScanMethods);
  next_upper_paths_hook = create_upper_paths_hook;
  create_upper_paths_hook = add_path;
}

}  // namespace batmap::pg
