// Planning and execution of the plan node "BatmapItemsets". See node_itemsets.h.
//
// A run reads its input into the log of the engine, searches, and returns the itemsets one by one. If memory is too small, or if
// rows repeat where that changes the counts, the plain plan answers instead. Both are known before the first itemset is returned.
#include "extension/plan/itemsets/node_itemsets.h"

#include "extension/input/key_encoder.h"
#include "extension/plan/itemsets/itemset_path.h"
#include "extension/plan/itemsets/itemset_query.h"
#include "extension/plan/itemsets/itemset_rows.h"
#include "extension/plan/join/plain_plan.h"
#include "extension/server/node_state.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapItemsets";

// ---- planning

const CustomScanMethods* scan_methods();

// Positions in CustomPath::custom_private; kNumbers becomes the custom_private of the plan.
enum PathList { kNumbers, kExpressions, kScanTargets, kQuals };

Plan* plan_node(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = static_cast<List*>(list_nth(path->custom_private, kQuals));
  scan->scan.scanrelid = 0;  // custom_scan_tlist describes its rows
  scan->flags = path->flags;
  scan->custom_plans = children;
  scan->custom_exprs = static_cast<List*>(list_nth(path->custom_private, kExpressions));
  scan->custom_scan_tlist = static_cast<List*>(list_nth(path->custom_private, kScanTargets));
  scan->custom_private = static_cast<List*>(list_nth(path->custom_private, kNumbers));
  scan->methods = scan_methods();
  return &scan->scan.plan;
}

const CustomPathMethods kPathMethods = {kNodeName, plan_node, nullptr};

// ---- execution

struct ItemsetsState {
  CustomScanState base;  // first member: the server sees this
  ItemsetSpec spec;
  List* lists;  // ItemsetList
  PlanState* input;
  PlanState* plain;       // nullptr until it is started
  int flags;              // to start plans with
  ExprState* threshold;   // nullptr: there is none
  MemoryContext context;  // of one run
  ItemsetRows rows;       // no stream before the first call and if there are no rows
  const KeyEncoder* items;
  bool opened;
  bool finished;
};

ItemsetsState* state_of(CustomScanState* node) { return reinterpret_cast<ItemsetsState*>(node); }

bool plain_answers(const ItemsetsState* state) { return state->rows.gave_up != GaveUp::kNot; }

void begin_scan(CustomScanState* node, EState* estate, int eflags) {
  ItemsetsState* const state = state_of(node);
  auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  state->lists = itemset_lists(scan->custom_private);
  state->spec = itemset_spec(state->lists);
  state->input = ExecInitNode(static_cast<Plan*>(linitial(scan->custom_plans)), estate, eflags);
  node->custom_ps = lappend(node->custom_ps, state->input);
  state->flags = eflags;
  state->plain = begin_plain(scan, estate, eflags);
  if (state->spec.has_threshold)
    state->threshold = ExecInitExpr(static_cast<Expr*>(linitial(scan->custom_exprs)), &node->ss.ps);
  state->context = AllocSetContextCreate(estate->es_query_cxt, "batmap run", ALLOCSET_DEFAULT_SIZES);
}

/// @return false if no row can be an answer
bool read_threshold(ItemsetsState* state, int64_t& min_count) {
  min_count = 1;
  if (state->threshold == nullptr) return true;
  bool is_null;
  const int64_t value =
      DatumGetInt64(ExecEvalExprSwitchContext(state->threshold, state->base.ss.ps.ps_ExprContext, &is_null));
  if (is_null || (state->spec.threshold_excluded && value == INT64_MAX)) return false;
  min_count = Max(1, value + state->spec.threshold_excluded);
  return true;
}

void open_rows(ItemsetsState* state) {
  state->opened = true;
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  int64_t min_count;
  if (read_threshold(state, min_count)) {
    ItemsetInput input{state->spec, state->lists, &state->base.ss.ps, state->input, min_count, nullptr};
    state->rows = open_itemsets(input, state->context);
    state->items = input.items;
  } else {
    state->finished = true;
  }
  MemoryContextSwitchTo(caller);
  if (!plain_answers(state)) return;
  MemoryContextReset(state->context);
  start_plain(&state->base, state->plain, state->flags);
}

TupleTableSlot* next_row(ScanState* node) {
  ItemsetsState* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  if (!state->opened) open_rows(state);
  if (plain_answers(state)) return next_plain(state->plain, slot);
  if (state->finished) return slot;
  if (!state->rows.stream->next(nullptr)) {
    state->finished = true;
    state->rows.stream->finish();
    return slot;
  }
  const FoundItemset& found = *state->rows.itemset;
  const int length = state->spec.length;
  for (int k = 0; k < length; ++k)
    decode_key(*state->items, found.items[state->spec.positions[k]], slot->tts_values + k, slot->tts_isnull + k);
  for (int k = length; k < slot->tts_tupleDescriptor->natts; ++k) {  // counts
    slot->tts_values[k] = Int64GetDatum(found.support);
    slot->tts_isnull[k] = false;
  }
  return ExecStoreVirtualTuple(slot);
}

/// Ends a run that may not have reached its last row.
void close_rows(ItemsetsState* state) {
  if (state->rows.stream != nullptr && !state->finished) state->rows.stream->finish();
  if (plain_answers(state)) state->base.custom_ps = list_truncate(state->base.custom_ps, 1);
  state->rows = {};
  state->opened = state->finished = false;
  MemoryContextReset(state->context);
}

void end_scan(CustomScanState* node) {
  ItemsetsState* const state = state_of(node);
  close_rows(state);
  MemoryContextDelete(state->context);
  ExecEndNode(state->input);
  ExecEndNode(state->plain);
}

void rescan(CustomScanState* node) {
  ItemsetsState* const state = state_of(node);
  close_rows(state);
  for (PlanState* const child : {state->input, state->plain}) {
    if (child == nullptr) continue;
    if (node->ss.ps.chgParam != nullptr) UpdateChangedParamSet(child, node->ss.ps.chgParam);
    if (child->chgParam == nullptr) ExecReScan(child);
  }
  ExecScanReScan(&node->ss);
}

// ---- EXPLAIN

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  ItemsetsState* const state = state_of(node);
  const ItemsetSpec& spec = state->spec;
  auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  List* const here = lcons(scan, list_copy(ancestors));
  ExplainPropertyText("Key", columns_text(state->input, spec.input.packed, 0, spec.input.keys, here, es), es);
  ExplainPropertyText("Item", columns_text(state->input, spec.input.packed, spec.input.keys, 1, here, es), es);
  ExplainPropertyInteger("Itemset Length", nullptr, spec.length, es);
  ExplainPropertyText("Counts",
                      spec.counting == JoinProjectCount::kKeys   ? "distinct keys"
                      : spec.counting == JoinProjectCount::kRows ? "rows"
                                                                 : "nothing",
                      es);
  if (state->threshold != nullptr) {
    List* const names = set_deparse_context_plan(es->deparse_cxt, &scan->scan.plan, ancestors);
    char* const bound = deparse_expression(static_cast<Node*>(linitial(scan->custom_exprs)), names, false, false);
    ExplainPropertyText("Threshold", psprintf("%s%s", spec.threshold_excluded ? "> " : ">= ", bound), es);
  }
  if (!es->analyze) {  // both are chosen when the input has been read and its size is known
    ExplainPropertyText("Device", "auto", es);
    ExplainPropertyText("Method", "auto", es);
    return;
  }
  if (plain_answers(state))
    ExplainPropertyText("Answered By",
                        state->rows.gave_up == GaveUp::kRepeats ? "the plain plan, because rows repeat"
                                                                : "the plain plan, for want of memory",
                        es);
  if (state->rows.stream != nullptr) state->rows.stream->explain(es);
}

const CustomExecMethods kExecMethods =
    node_methods(kNodeName, begin_scan, scan_rows<next_row>, end_scan, rescan, explain_scan);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<ItemsetsState, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

void install_itemsets_node() { RegisterCustomScanMethods(&kScanMethods); }

void add_path_of_itemsets(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, Path* plain,
                          JoinProjectQuery& query) {
  ItemsetJoin join;
  if (plain != nullptr && recognize_itemsets(root, stage, input, output, join)) {
    // The other node answers faster than the server when this one gives up, but it has the columns of the answer only.
    Path* const cheapest = cheapest_plain(output);
    Path* path = itemset_path(root, input, output, join, cheapest, &kPathMethods);
    if (path == nullptr) path = itemset_path(root, input, output, join, plain, &kPathMethods);
    if (path != nullptr) offer_path(output, path, cheapest, join.block);
    if (join.block.refusal == Refusal::kNone) query.refusal = Refusal::kNone;
  }
  if (query.refusal != Refusal::kNone && join.block.refusal > query.refusal)
    query.refuse(join.block.refusal, join.block.about);
}

}  // namespace batmap::pg
