// Planning and execution of the plan node "BatmapListedPairs". See node_listed_pairs.h.
//
// A run reads the list and the inputs into logs of the engine, groups the rows of listed items, and counts one pair after the
// other. If memory is too small, the plain plan answers instead. That is known before the first row is returned.
#include "extension/plan/listed/node_listed_pairs.h"

#include "extension/plan/join/plain_plan.h"
#include "extension/plan/listed/listed_path.h"
#include "extension/plan/listed/listed_query.h"
#include "extension/plan/listed/listed_rows.h"
#include "extension/server/node_state.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapListedPairs";

// ---- planning

const CustomScanMethods* scan_methods();

Plan* plan_node(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  return plan_join_project(path, targets, children, scan_methods());
}

const CustomPathMethods kPathMethods = {kNodeName, plan_node, nullptr};

// ---- execution

struct ListedState {
  CustomScanState base;  // first member: the server sees this
  ListedSpec spec;
  List* lists;  // ListedList
  PlanState* list;
  PlanState* inputs[2];
  PlanState* plain;       // nullptr until it is started
  int flags;              // to start plans with
  MemoryContext context;  // of one run
  ListedRows rows;
  KeyEncoder codes[2];
  const TupleCodes* values;  // of rows of the list; nullptr: items are codes
  bool opened;
  bool finished;
  bool plain_answers;
};

ListedState* state_of(CustomScanState* node) { return reinterpret_cast<ListedState*>(node); }

void begin_scan(CustomScanState* node, EState* estate, int eflags) {
  ListedState* const state = state_of(node);
  auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  state->lists = listed_lists(scan->custom_private);
  state->spec = listed_spec(state->lists);
  const auto next_child = [&] {
    auto* const plan = static_cast<Plan*>(list_nth(scan->custom_plans, list_length(node->custom_ps)));
    PlanState* const child = ExecInitNode(plan, estate, eflags);
    node->custom_ps = lappend(node->custom_ps, child);
    return child;
  };
  state->list = next_child();
  for (int number = 0; number < (state->spec.self_join ? 1 : 2); ++number) state->inputs[number] = next_child();
  state->flags = eflags;
  state->plain = begin_plain(scan, estate, eflags);
  state->context = AllocSetContextCreate(estate->es_query_cxt, "batmap run", ALLOCSET_DEFAULT_SIZES);
}

void open_rows(ListedState* state) {
  state->opened = true;
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  ListedInputs inputs{state->spec, state->lists, &state->base.ss.ps, {state->inputs[0], state->inputs[1]}, state->list, {},
                      {}};
  state->rows = open_listed_pairs(inputs, state->context);
  for (int number = 0; number < 2; ++number) state->codes[number] = inputs.codes[number];
  state->values = inputs.values;
  MemoryContextSwitchTo(caller);
  if (state->rows.stream != nullptr) return;
  MemoryContextReset(state->context);
  state->plain_answers = true;
  start_plain(&state->base, state->plain, state->flags);
}

/// The next answer. @return false if there is none
bool next_pair(ListedState* state) {
  if (state->rows.stream->next(nullptr)) return true;
  state->finished = true;
  state->rows.stream->finish();
  return false;
}

/// The rows of the join for an answer. They may be more than the server can count.
int64 joined_rows(const ListedPair& pair) {
  uint64 rows;
  if (pg_mul_u64_overflow(pair.count, pair.times, &rows) || rows > PG_INT64_MAX)
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
  return static_cast<int64>(rows);
}

/// The number of all rows of the join.
int64 all_rows(ListedState* state) {
  int64 rows = 0;
  while (next_pair(state))
    if (pg_add_s64_overflow(rows, joined_rows(*state->rows.pair), &rows))
      ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
  return rows;
}

/// Writes the items of an answer.
void put_items(const ListedState* state, const ListedPair& pair, Datum* values, bool* nulls) {
  if (state->spec.answer == ListedAnswer::kRow) {
    tuple_of_code(*state->values, static_cast<int64_t>(pair.row), values, nulls);
    return;
  }
  const ListCell* source;
  const ListCell* kind;
  forboth(source, static_cast<List*>(list_nth(state->lists, kListedSources)), kind,
          static_cast<List*>(list_nth(state->lists, kListedKinds))) {
    const int item = foreach_current_index(source);
    const KeyEncoder& code = state->codes[lfirst_int(source)];
    const int64_t key = lfirst_int(source) == 0 ? pair.item_a : pair.item_b;
    nulls[item] = false;
    if (is_own_key(code.kind))  // of the code; the item may be a narrower integer
      values[item] = value_of_key(static_cast<KeyKind>(lfirst_int(kind)), key);
    else
      decode_key(code, key, values + item, nulls + item);
  }
}

TupleTableSlot* next_row(ScanState* node) {
  ListedState* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  if (!state->opened) open_rows(state);
  if (state->plain_answers) return next_plain(state->plain, slot);
  if (state->finished) return slot;
  int64 count;
  if (state->spec.answer == ListedAnswer::kAll) {
    count = all_rows(state);
  } else {
    if (!next_pair(state)) return slot;
    const ListedPair& pair = *state->rows.pair;
    put_items(state, pair, slot->tts_values, slot->tts_isnull);
    count = state->spec.counting == JoinProjectCount::kRows ? joined_rows(pair) : static_cast<int64>(pair.count);
  }
  for (int k = state->spec.items; k < slot->tts_tupleDescriptor->natts; ++k) {  // counts
    slot->tts_values[k] = Int64GetDatum(count);
    slot->tts_isnull[k] = false;
  }
  return ExecStoreVirtualTuple(slot);
}

/// Ends a run that may not have reached its last row.
void close_rows(ListedState* state) {
  if (state->rows.stream != nullptr && !state->finished) state->rows.stream->finish();
  if (state->plain_answers) state->base.custom_ps = list_truncate(state->base.custom_ps, state->spec.children());
  state->rows = {};
  state->opened = state->finished = state->plain_answers = false;
  MemoryContextReset(state->context);
}

void end_scan(CustomScanState* node) {
  ListedState* const state = state_of(node);
  close_rows(state);
  MemoryContextDelete(state->context);
  for (PlanState* const child : {state->list, state->inputs[0], state->inputs[1], state->plain})
    if (child != nullptr) ExecEndNode(child);
}

void rescan(CustomScanState* node) {
  ListedState* const state = state_of(node);
  close_rows(state);
  for (PlanState* const child : {state->list, state->inputs[0], state->inputs[1], state->plain}) {
    if (child == nullptr) continue;
    if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(child, node->ss.ps.chgParam);
    if (child->chgParam == nullptr) ExecReScan(child);
  }
  ExecScanReScan(&node->ss);
}

// ---- EXPLAIN

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  ListedState* const state = state_of(node);
  const ListedSpec& spec = state->spec;
  List* const here = lcons(node->ss.ps.plan, list_copy(ancestors));
  ExplainPropertyText("Listed", columns_text(state->list, spec.list.packed, 0, spec.list.keys + spec.list.codes, here, es),
                      es);
  for (int number = 0; number < (spec.self_join ? 1 : 2); ++number) {
    const JoinProjectSpec::Side& side = spec.inputs[number];
    const char* const whose = spec.self_join ? "" : number == 0 ? "Left " : "Right ";
    PlanState* const input = state->inputs[number];
    ExplainPropertyText(psprintf("%sKey", whose), columns_text(input, side.packed, 0, side.keys, here, es), es);
    ExplainPropertyText(psprintf("%sItem", whose), columns_text(input, side.packed, side.keys, side.codes, here, es), es);
  }
  static const char* const kCounts[] = {"nothing", "rows", "distinct keys"};
  static const char* const kAnswers[] = {"each pair", "each row of the list", "all pairs together"};
  ExplainPropertyText(
      "Counts", psprintf("%s of %s", kCounts[static_cast<int>(spec.counting)], kAnswers[static_cast<int>(spec.answer)]), es);
  if (!es->analyze) return;
  if (state->plain_answers) ExplainPropertyText("Answered By", "the plain plan, for want of memory", es);
  if (state->rows.stream != nullptr) state->rows.stream->explain(es);
}

const CustomExecMethods kExecMethods =
    node_methods(kNodeName, begin_scan, scan_rows<next_row>, end_scan, rescan, explain_scan);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<ListedState, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

void install_listed_pairs_node() { RegisterCustomScanMethods(&kScanMethods); }

void add_path_of_listed_pairs(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, Path* plain,
                              JoinProjectQuery& query) {
  ListedJoin join;
  if (plain != nullptr && recognize_listed_pairs(root, stage, input, output, join)) {
    Path* const path = listed_path(root, input, output, join, plain, &kPathMethods);
    if (path != nullptr) offer_path(output, path, cheapest_plain(output), join.block);
    if (join.block.refusal == Refusal::kNone) query.refusal = Refusal::kNone;
  }
  if (query.refusal != Refusal::kNone && join.block.refusal > query.refusal)
    query.refuse(join.block.refusal, join.block.about);
}

}  // namespace batmap::pg
