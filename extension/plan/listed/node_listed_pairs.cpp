// Planning and execution of the plan node "BatmapListedPairs". See node_listed_pairs.h.
//
// A run reads the list and the inputs into logs of the engine, groups the rows of listed items, and counts one pair after the
// other. If memory is too small, the plain plan answers instead. That is known before the first row is returned.
#include "extension/plan/listed/node_listed_pairs.h"

#include "extension/plan/join/plain_plan.h"
#include "extension/plan/join/run_node.h"
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
  return plan_run_node(path, targets, children, scan_methods());
}

const CustomPathMethods kPathMethods = {kNodeName, plan_node, nullptr};

// ---- execution

struct ListedState : RunNode {
  ListedSpec spec;
  List* lists;  // ListedList
  PlanState* list;
  PlanState* inputs[2];
  const ListedPair* pair;  // the row of the stream
  KeyEncoder codes[2];
  const TupleCodes* values;  // of rows of the list; nullptr: items are codes
};

ListedState* state_of(CustomScanState* node) { return run_state<ListedState>(node); }

void begin_scan(CustomScanState* node, EState* estate, int eflags) {
  ListedState* const state = state_of(node);
  state->lists = listed_lists(castNode(CustomScan, node->ss.ps.plan)->custom_private);
  state->spec = listed_spec(state->lists);
  state->list = begin_input(state, estate, eflags);
  for (int number = 0; number < state->spec.input_count(); ++number)
    state->inputs[number] = begin_input(state, estate, eflags);
  begin_run_node(state, estate, eflags);
}

void open_rows(ListedState* state) {
  if (!open_run(state)) return;
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  ListedInputs inputs{state->spec, state->lists, &state->base.ss.ps, {state->inputs[0], state->inputs[1]}, state->list, {},
                      {}};
  const ListedRows rows = open_listed_pairs(inputs, state->context);
  MemoryContextSwitchTo(caller);
  state->stream = rows.stream;
  state->pair = rows.pair;
  for (int number = 0; number < 2; ++number) state->codes[number] = inputs.codes[number];
  state->values = inputs.values;
  if (rows.stream == nullptr) answer_by_plain(state, kForWantOfMemory);
}

/// The next answer. @return false if there is none
bool next_pair(ListedState* state) {
  if (state->stream->next(nullptr)) return true;
  finish_run(state);
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
    if (pg_add_s64_overflow(rows, joined_rows(*state->pair), &rows))
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
  if (!state->opened) open_rows(state);
  if (state->why_plain != nullptr) return next_plain(state);
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  if (state->finished) return slot;
  int64 count;
  if (state->spec.answer == ListedAnswer::kAll) {
    count = all_rows(state);
  } else {
    if (!next_pair(state)) return slot;
    const ListedPair& pair = *state->pair;
    put_items(state, pair, slot->tts_values, slot->tts_isnull);
    count = state->spec.counting == JoinProjectCount::kRows ? joined_rows(pair) : static_cast<int64>(pair.count);
  }
  for (int k = state->spec.items; k < slot->tts_tupleDescriptor->natts; ++k) {  // counts
    slot->tts_values[k] = Int64GetDatum(count);
    slot->tts_isnull[k] = false;
  }
  return ExecStoreVirtualTuple(slot);
}

void end_scan(CustomScanState* node) { end_run_node(state_of(node)); }

void rescan(CustomScanState* node) { rescan_run_node(state_of(node)); }

// ---- EXPLAIN

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  ListedState* const state = state_of(node);
  const ListedSpec& spec = state->spec;
  List* const here = lcons(node->ss.ps.plan, list_copy(ancestors));
  ExplainPropertyText("Listed", columns_text(state->list, spec.list.packed, 0, spec.list.keys + spec.list.codes, here, es),
                      es);
  for (int number = 0; number < spec.input_count(); ++number) {
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
  if (es->analyze) explain_answer(state, es);
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
