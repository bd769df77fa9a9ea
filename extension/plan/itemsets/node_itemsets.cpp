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
#include "extension/plan/join/run_node.h"
#include "extension/server/node_state.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapItemsets";

// ---- planning

const CustomScanMethods* scan_methods();

Plan* plan_node(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  return plan_run_node(path, targets, children, scan_methods());
}

const CustomPathMethods kPathMethods = {kNodeName, plan_node, nullptr};

// ---- execution

struct ItemsetsState : RunNode {
  ItemsetSpec spec;
  List* lists;  // ItemsetList
  PlanState* input;
  ExprState* threshold;         // nullptr: there is none
  const FoundItemset* itemset;  // the row of the stream
  const KeyEncoder* items;
};

ItemsetsState* state_of(CustomScanState* node) { return run_state<ItemsetsState>(node); }

void begin_scan(CustomScanState* node, EState* estate, int eflags) {
  ItemsetsState* const state = state_of(node);
  auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  state->lists = itemset_lists(scan->custom_private);
  state->spec = itemset_spec(state->lists);
  state->input = begin_input(state, estate, eflags);
  begin_run_node(state, estate, eflags);
  if (state->spec.has_threshold)
    state->threshold = ExecInitExpr(static_cast<Expr*>(linitial(scan->custom_exprs)), &node->ss.ps);
}

void open_rows(ItemsetsState* state) {
  if (!open_run(state)) return;
  int64_t min_count;
  if (!read_min_count(state, state->threshold, state->spec.threshold_excluded != 0, min_count)) {
    state->finished = true;
    return;
  }
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  ItemsetInput input{state->spec, state->lists, &state->base.ss.ps, state->input, min_count, nullptr};
  const ItemsetRows rows = open_itemsets(input, state->context);
  MemoryContextSwitchTo(caller);
  state->stream = rows.stream;
  state->itemset = rows.itemset;
  state->items = input.items;
  if (rows.why_plain != nullptr) answer_by_plain(state, rows.why_plain);
}

TupleTableSlot* next_row(ScanState* node) {
  ItemsetsState* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  if (!state->opened) open_rows(state);
  if (state->why_plain != nullptr) return next_plain(state);
  TupleTableSlot* const slot = ExecClearTuple(node->ss_ScanTupleSlot);
  if (state->finished) return slot;
  if (!state->stream->next(nullptr)) {
    finish_run(state);
    return slot;
  }
  const FoundItemset& found = *state->itemset;
  const int length = state->spec.length;
  for (int k = 0; k < length; ++k)
    decode_key(*state->items, found.items[state->spec.positions[k]], slot->tts_values + k, slot->tts_isnull + k);
  for (int k = length; k < slot->tts_tupleDescriptor->natts; ++k) {  // counts
    slot->tts_values[k] = Int64GetDatum(found.support);
    slot->tts_isnull[k] = false;
  }
  return ExecStoreVirtualTuple(slot);
}

void end_scan(CustomScanState* node) { end_run_node(state_of(node)); }

void rescan(CustomScanState* node) { rescan_run_node(state_of(node)); }

// ---- EXPLAIN

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  ItemsetsState* const state = state_of(node);
  const ItemsetSpec& spec = state->spec;
  List* const here = lcons(node->ss.ps.plan, list_copy(ancestors));
  ExplainPropertyText("Key", columns_text(state->input, spec.input.packed, 0, spec.input.keys, here, es), es);
  ExplainPropertyText("Item", columns_text(state->input, spec.input.packed, spec.input.keys, 1, here, es), es);
  ExplainPropertyInteger("Itemset Length", nullptr, spec.length, es);
  ExplainPropertyText("Counts",
                      spec.counting == JoinProjectCount::kKeys   ? "distinct keys"
                      : spec.counting == JoinProjectCount::kRows ? "rows"
                                                                 : "nothing",
                      es);
  if (state->threshold != nullptr)
    explain_bound(state, "Threshold", spec.threshold_excluded ? "> " : ">= ", 0, ancestors, es);
  if (es->analyze)
    explain_answer(state, es);
  else
    explain_device(es);
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
