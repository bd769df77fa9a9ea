// Planning and execution of the plan node "BatmapJoinProject". See node_join_project.h.
//
// A run reads its inputs into the logs of the engine, counts, and returns the pairs one by one. If memory is too
// small for that, the plain plan answers instead, because it can always use files. This is decided before the
// first pair is returned: if memory may be too small for the pairs that are still to come, all of them are
// counted first and wait in a file.
#include "extension/plan/node_join_project.h"

#include <algorithm>
#include <span>

#include "extension/input/key_encoder.h"
#include "extension/plan/explain_why.h"
#include "extension/plan/itemsets/node_itemsets.h"
#include "extension/plan/join/join_kept.h"
#include "extension/plan/join/join_project_path.h"
#include "extension/plan/join/join_project_rows.h"
#include "extension/plan/join/join_sums_rows.h"
#include "extension/plan/join/node_expand_rows.h"
#include "extension/plan/join/plain_plan.h"
#include "extension/plan/join/run_node.h"
#include "extension/plan/listed/node_listed_pairs.h"
#include "extension/plan/query/join_aggregates.h"
#include "extension/plan/query/join_lookups.h"
#include "extension/plan/query/join_sums.h"
#include "extension/server/node_state.h"
#include "extension/server/settings.h"
#include "extension/server/sorted_limit.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kNodeName[] = "BatmapJoinProject";

create_upper_paths_hook_type next_upper_paths_hook = nullptr;

// ---- planning

const CustomScanMethods* scan_methods();

Plan* plan_node(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  return plan_run_node(path, targets, children, scan_methods());
}

const CustomPathMethods kPathMethods = {kNodeName, plan_node, nullptr};

/// Adds the path of the node to a stage, if the block is a join-project and the node is cheaper. Otherwise `query.refusal` says
/// why not.
void add_path_of_node(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                      JoinProjectQuery& query) {
  const bool counts = recognize_join_project(root, stage, input, output, query);
  Path* const plain = cheapest_plain(output);
  Path* path = nullptr;
  const auto add = [&](JoinProjectQuery& way) {
    Path* const other = plain == nullptr ? nullptr : join_project_path(root, input, output, way, plain, &kPathMethods);
    if (other != nullptr && (path == nullptr || is_cheaper(other, path))) path = other;
  };
  if (counts) {
    add(query);
    if (JoinProjectQuery apart; query.expansion == nullptr && read_lookups_apart(root, stage, query, apart)) add(apart);
  }
  if (may_sum(root, query, counts)) {
    JoinProjectQuery sums;
    if (recognize_join_project(root, stage, input, output, sums, true)) {
      add(sums);
      if (!counts) query = sums;
    } else if (!counts && sums.refusal > query.refusal) {
      query.refuse(sums.refusal, sums.about);
    }
  }
  if (path != nullptr) offer_path(output, path, plain, query);
}

void add_join_project(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output, void* extra) {
  if (next_upper_paths_hook != nullptr) next_upper_paths_hook(root, stage, input, output, extra);
  if (stage != UPPERREL_GROUP_AGG && stage != UPPERREL_DISTINCT) return;
  if (!settings.enable_join_project && !explains_refusals()) return;
  JoinProjectQuery query;
  Path* const plain = cheapest_plain(output);
  add_path_of_node(root, stage, input, output, query);
  add_path_of_itemsets(root, stage, input, output, plain, query);
  add_path_of_listed_pairs(root, stage, input, output, plain, query);
  // A subquery that joins nothing is no candidate. A block that is grouped and made DISTINCT is noted once.
  const bool is_noted = query.refusal > Refusal::kOneRelation || query.refusal == Refusal::kNone ||
                        (root->query_level == 1 && stage == UPPERREL_GROUP_AGG);
  if (explains_refusals() && is_noted) note_refusal(root, query.refusal, query.about);
}

// ---- execution

/// An item of one column, which needs nothing but its code.
struct PlainItem {
  const Datum* values;  // by code; nullptr: the code is the value
  bool may_be_null;     // kNullKey is NULL
};

/// What becomes of a pair (a, b) of the engine, which counts the pairs of a self-join once.
enum class Turn { kNever, kAlways, kBoth };  // a row (a, b); a row (b, a); a row of each

struct JoinProjectState : RunNode {
  JoinProjectSpec spec;
  List* lists;  // JoinProjectList
  PlanState* inputs[2];
  PlanState* lookups[JoinProjectSpec::kLookups];  // nullptr: none of its own
  ExprState* threshold;                           // this and the next two: nullptr if there is none
  ExprState* limit;
  ExprState* offset;
  RunningAggregate* aggregates;
  ExprState* comparisons;                              // of items; rows of the plain plan have passed them
  const PairBatch* batch;                              // the pairs of the block
  RowBlock* block;                                     // of the stream
  const KeyEncoder* items[2];                          // of codes
  const TupleCodes* found[JoinProjectSpec::kLookups];  // by lookups; nullptr: the codes are the items
  const RunningSums* sums;                             // nullptr: the node counts
  PlainItem plain_items[2];                            // if every row is plain
  const char* why_not_kept;  // the rows are counted although the plan has kept counts; else nullptr
  bool turn_next;            // the next row is the current pair with its items swapped
  size_t to_turn;  // where rows are read in blocks: so many pairs at the end of the block follow with their items swapped
  Turn turn;
  bool rows_are_plain;  // each is two items and the count
};

JoinProjectState* state_of(CustomScanState* node) { return run_state<JoinProjectState>(node); }

Turn turn_of(const JoinProjectSpec& spec) {
  if (!spec.self_join || spec.grouped || spec.adds_up()) return Turn::kNever;
  switch (spec.order) {
    case PairCondition::kLess:
    case PairCondition::kLessEqual: return Turn::kNever;
    case PairCondition::kGreater:
    case PairCondition::kGreaterEqual: return Turn::kAlways;
    case PairCondition::kNone:
    case PairCondition::kNotEqual: return Turn::kBoth;
  }
  pg_unreachable();
}

void begin_scan(CustomScanState* node, EState* estate, int eflags) {
  JoinProjectState* const state = state_of(node);
  auto* const scan = castNode(CustomScan, node->ss.ps.plan);
  state->lists = join_project_lists(scan->custom_private);
  state->spec = join_project_spec(state->lists);
  state->turn = turn_of(state->spec);
  for (int side = 0; side < state->spec.inputs(); ++side) state->inputs[side] = begin_input(state, estate, eflags);
  for (int number = 0; number < JoinProjectSpec::kLookups; ++number)
    if (state->spec.looked_up(number).lookup == Lookup::kOwn) state->lookups[number] = begin_input(state, estate, eflags);
  begin_run_node(state, estate, eflags);
  int at = 0;
  const auto expression = [&](bool there) {
    return there ? ExecInitExpr(static_cast<Expr*>(list_nth(scan->custom_exprs, at++)), &node->ss.ps) : nullptr;
  };
  state->threshold = expression(state->spec.has_threshold);
  state->limit = expression(state->spec.has_limit);
  state->offset = expression(state->spec.has_offset);
  auto* const states = static_cast<List*>(list_nth(state->lists, kStates));
  state->aggregates = static_cast<RunningAggregate*>(palloc0(list_length(states) * sizeof(RunningAggregate)));
  const ListCell* kind;
  const ListCell* inputs;
  forboth(kind, states, inputs, static_cast<List*>(list_nth(state->lists, kInputs))) {
    RunningAggregate& aggregate = state->aggregates[foreach_current_index(kind)];
    aggregate.state = static_cast<AggregateState>(lfirst_int(kind));
    const bool has_argument = (lfirst_int(inputs) & kArgument) != 0;
    if (has_argument) aggregate.length = get_typlen(exprType(static_cast<Node*>(list_nth(scan->custom_exprs, at))));
    aggregate.argument = expression(has_argument);
    aggregate.condition = expression((lfirst_int(inputs) & kCondition) != 0);
  }
  List* const quals = scan->scan.plan.qual;
  state->comparisons = ExecInitQual(list_copy_head(quals, state->spec.comparisons), &node->ss.ps);
  node->ss.ps.qual = ExecInitQual(list_copy_tail(quals, state->spec.comparisons), &node->ss.ps);
  if (state->spec.kept_table != 0 && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
    state->why_not_kept = why_not_kept(static_cast<Oid>(state->spec.kept_table), estate);
}

/// @return false if no row can be an answer
bool read_bounds(const JoinProjectState* state, JoinProjectBounds& bounds) {
  if (!read_min_count(state, state->threshold, state->spec.threshold_excluded != 0, bounds.min_count)) return false;
  bounds.best = rows_in_front(state->limit, state->offset, state->base.ss.ps.ps_ExprContext);
  return true;
}

/// Is each row two items of one column, and the count as often as it is asked for?
bool has_plain_rows(const JoinProjectState* state) {
  if (state->comparisons != nullptr || state->sums != nullptr) return false;
  for (int number = 0; number < JoinProjectSpec::kLookups; ++number)
    if (state->found[number] != nullptr) return false;
  for (int side = 0; side < 2; ++side)
    if (state->items[side] == nullptr || state->items[side]->kind == KeyKind::kTuples) return false;
  const int first = state->spec.sides[0].items + state->spec.sides[1].items;
  for (int at = first; at < state->base.ss.ss_ScanTupleSlot->tts_tupleDescriptor->natts; ++at) {
    const RunningAggregate& aggregate = state->aggregates[at - first];
    if (aggregate.state != AggregateState::kCount || aggregate.argument != nullptr || aggregate.condition != nullptr)
      return false;
  }
  return first == 2 && state->spec.shared.items == 0;
}

PlainItem plain_item(const KeyEncoder& encoder) {
  return {encoder.kind == KeyKind::kDictionary ? encoder.dictionary->values : nullptr,
          encoder.null_is_key && encoder.kind != KeyKind::kInt8};
}

void open_rows(JoinProjectState* state) {
  if (!open_run(state)) return;
  JoinProjectBounds bounds;
  if (!read_bounds(state, bounds)) {
    state->finished = true;
    return;
  }
  const MemoryContext caller = MemoryContextSwitchTo(state->context);
  JoinProjectRows rows{};
  const char* why_plain = nullptr;
  JoinProjectInputs inputs{state->spec, state->lists, &state->base.ss.ps, {}, {}, {}, {}};
  for (int side = 0; side < 2; ++side) inputs.plans[side] = state->inputs[side];
  for (int number = 0; number < JoinProjectSpec::kLookups; ++number) inputs.lookups[number] = state->lookups[number];
  if (state->spec.kept_table != 0 && state->why_not_kept == nullptr)
    rows = open_kept(inputs, bounds, state->context, state->why_not_kept);
  if (state->spec.adds_up())
    rows = open_sums(inputs, bounds, state->context, state->sums, why_plain);
  else if (rows.stream == nullptr)
    rows = open_join_project(inputs, bounds, state->context);
  MemoryContextSwitchTo(caller);
  if (rows.stream == nullptr) {
    answer_by_plain(state, why_plain != nullptr ? why_plain : why_not_read(inputs));
    return;
  }
  for (int side = 0; side < 2; ++side) state->items[side] = inputs.items[state->spec.self_join ? 0 : side];
  for (int number = 0; number < JoinProjectSpec::kLookups; ++number) state->found[number] = inputs.found[number];
  state->stream = rows.stream;
  state->batch = rows.batch;
  state->block = rows.stream->block();
  state->rows_are_plain = has_plain_rows(state);
  for (int side = 0; side < 2 && state->rows_are_plain; ++side) state->plain_items[side] = plain_item(*state->items[side]);
}

const ItemPair& current_pair(const JoinProjectState* state) { return state->batch->pairs()[state->block->next - 1]; }

/// Lets the run find pairs if all that it has found have been read. @return false if there are no more
bool find_pairs(JoinProjectState* state) {
  if (state->finished) return false;
  if (state->block->next < state->block->rows || state->stream->fill_block()) return true;
  finish_run(state);
  return false;
}

/// Goes to the next pair of the run. @return false if there is none
bool next_pair(JoinProjectState* state, bool& turned) {
  turned = state->turn_next;
  state->turn_next = false;
  if (turned) return true;
  if (!find_pairs(state)) return false;
  ++state->block->next;
  turned = state->turn == Turn::kAlways;
  const ItemPair& row = current_pair(state);
  state->turn_next = state->turn == Turn::kBoth && row.item_a != row.item_b;
  return true;
}

/// Writes the items of a side. @param code  from the engine
void put_items(const JoinProjectState* state, int side, int64_t code, Datum* values, bool* nulls) {
  const bool has_prefix = state->found[2] != nullptr;
  if (state->found[side] != nullptr)
    tuple_of_code(*state->found[side], has_prefix ? static_cast<uint32_t>(code) : code, values, nulls);
  else
    decode_key(*state->items[side], has_prefix ? without_prefix(code) : code, values, nulls);
}

TupleTableSlot* next_row(ScanState* node) {
  JoinProjectState* const state = state_of(reinterpret_cast<CustomScanState*>(node));
  TupleTableSlot* const slot = node->ss_ScanTupleSlot;
  if (!state->opened) open_rows(state);
  if (state->why_plain != nullptr) return next_plain(state);
  ExprContext* const context = state->base.ss.ps.ps_ExprContext;
  const int left_items = state->spec.sides[0].items;
  const int both_items = left_items + state->spec.sides[1].items;
  const int first = both_items + state->spec.shared.items;
  const int columns = slot->tts_tupleDescriptor->natts;
  bool turned;
  for (;;) {
    ExecClearTuple(slot);
    if (!next_pair(state, turned)) return slot;
    const ItemPair& row = current_pair(state);
    put_items(state, 0, turned ? row.item_b : row.item_a, slot->tts_values, slot->tts_isnull);
    put_items(state, 1, turned ? row.item_a : row.item_b, slot->tts_values + left_items, slot->tts_isnull + left_items);
    if (state->found[2] != nullptr)
      tuple_of_code(*state->found[2], prefix_of(row.item_a), slot->tts_values + both_items, slot->tts_isnull + both_items);
    for (int at = first; at < columns; ++at) slot->tts_isnull[at] = true;
    ExecStoreVirtualTuple(slot);
    context->ecxt_scantuple = slot;
    if (state->comparisons == nullptr || ExecQual(state->comparisons, context)) break;
    InstrCountFiltered1(&state->base.ss.ps, 1);
    ResetExprContext(context);
    CHECK_FOR_INTERRUPTS();
  }
  const uint64_t count = current_pair(state).support;
  const MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
  for (int at = first; at < columns; ++at)
    slot->tts_values[at] =
        state->sums != nullptr
            ? sum_of(*state->sums, count, at - first, slot->tts_isnull[at])
            : aggregate_state(state->aggregates[at - first], static_cast<int64_t>(count), context, slot->tts_isnull[at]);
  MemoryContextSwitchTo(caller);
  return slot;
}

void put_plain_item(const PlainItem& item, int64_t code, Datum& value, bool& is_null) {
  is_null = item.may_be_null && code == kNullKey;
  value = item.values != nullptr && !is_null ? item.values[code] : static_cast<Datum>(code);
}

/// The same for plain rows.
TupleTableSlot* next_plain_row(JoinProjectState* state) {
  TupleTableSlot* const slot = ExecClearTuple(state->base.ss.ss_ScanTupleSlot);
  bool turned;
  if (!next_pair(state, turned)) return slot;
  const ItemPair& row = current_pair(state);
  put_plain_item(state->plain_items[0], turned ? row.item_b : row.item_a, slot->tts_values[0], slot->tts_isnull[0]);
  put_plain_item(state->plain_items[1], turned ? row.item_a : row.item_b, slot->tts_values[1], slot->tts_isnull[1]);
  for (int at = 2; at < slot->tts_tupleDescriptor->natts; ++at) {
    slot->tts_values[at] = Int64GetDatum(static_cast<int64_t>(row.support));
    slot->tts_isnull[at] = false;
  }
  return ExecStoreVirtualTuple(slot);
}

/// Plain rows are pairs that lie in memory.
bool start_blocks(CustomScanState* node, ColumnSet values, ColumnSet) {
  JoinProjectState* const state = state_of(node);
  if (node->ss.ps.qual != nullptr) return false;
  if (!state->opened) open_rows(state);
  if (state->finished) return true;
  if (!state->rows_are_plain) return false;
  for (int side = 0; side < 2; ++side)
    if ((values >> side & 1) != 0 && (state->plain_items[side].values != nullptr || state->plain_items[side].may_be_null))
      return false;
  return true;
}

/// The next pairs of the block whose rows with swapped items are still to come. @return empty: there are none
std::span<const ItemPair> pairs_to_turn(JoinProjectState* state) {
  if (state->to_turn == 0) return {};
  const std::span<const ItemPair> pairs = state->batch->pairs().last(state->to_turn);
  const auto is_turned = [](const ItemPair& pair) { return pair.item_a != pair.item_b; };
  const auto first = std::ranges::find_if(pairs, is_turned);
  const auto last = std::find_if_not(first, pairs.end(), is_turned);
  state->to_turn = static_cast<size_t>(pairs.end() - last);
  return {first, last};
}

bool take_block(CustomScanState* node, RowBlock& rows) {
  JoinProjectState* const state = state_of(node);
  std::span<const ItemPair> pairs = pairs_to_turn(state);
  const bool turned = state->turn == Turn::kAlways || !pairs.empty();
  if (pairs.empty()) {
    if (!find_pairs(state)) return false;
    RowBlock* const block = state->block;
    pairs = state->batch->pairs().subspan(block->next);
    block->next = block->rows;
    if (state->turn == Turn::kBoth) state->to_turn = pairs.size();
  }
  rows = {};
  rows.columns[turned ? 1 : 0] = {&pairs[0].item_a, sizeof(ItemPair)};
  rows.columns[turned ? 0 : 1] = {&pairs[0].item_b, sizeof(ItemPair)};
  const int columns = Min(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor->natts, RowBlock::kMaxColumns);
  for (int at = 2; at < columns; ++at) rows.columns[at] = {&pairs[0].support, sizeof(ItemPair)};
  rows.rows = pairs.size();
  return true;
}

void decode_value(const CustomScanState* node, int column, int64_t key, Datum& value, bool& is_null) {
  const JoinProjectState* const state = state_of(const_cast<CustomScanState*>(node));
  put_plain_item(column < 2 ? state->plain_items[column] : PlainItem{}, key, value, is_null);
}

constexpr BlockReader kBlockReader = {start_blocks, take_block, decode_value};

TupleTableSlot* exec_scan(CustomScanState* node) {
  JoinProjectState* const state = state_of(node);
  if (state->rows_are_plain && node->ss.ps.qual == nullptr && node->ss.ps.ps_ProjInfo == nullptr)
    return next_plain_row(state);
  return scan_rows<next_row>(node);
}

void end_scan(CustomScanState* node) { end_run_node(state_of(node)); }

void rescan(CustomScanState* node) {
  JoinProjectState* const state = state_of(node);
  rescan_run_node(state);
  state->sums = nullptr;
  state->turn_next = state->rows_are_plain = false;
  state->to_turn = 0;
}

// ---- EXPLAIN

/// What the lookups find, and by what.
void explain_lookups(const JoinProjectState* state, List* ancestors, ExplainState* es) {
  static const char* const kWhose[] = {"Left ", "Right ", "Key "};
  const bool one = state->spec.sides[1].lookup == Lookup::kOfLeft;
  for (int number = 0; number < JoinProjectSpec::kLookups; ++number) {
    if (state->lookups[number] == nullptr) continue;
    const int items = state->spec.looked_up(number).items;
    const char* const key = columns_text(state->lookups[number], false, 0, 1, ancestors, es);
    if (items == 0)
      ExplainPropertyText("Key Filter", key, es);
    else
      ExplainPropertyText(psprintf("%sLookup", one && number == 0 ? "" : kWhose[number]),
                          psprintf("%s by %s", columns_text(state->lookups[number], false, 1, items, ancestors, es), key),
                          es);
  }
}

void explain_scan(CustomScanState* node, List* ancestors, ExplainState* es) {
  JoinProjectState* const state = state_of(node);
  const JoinProjectSpec& spec = state->spec;
  static const char* const kCounts[] = {"nothing", "rows", "distinct keys"};
  List* const here = lcons(node->ss.ps.plan, list_copy(ancestors));
  for (int side = 0; side < spec.inputs(); ++side) {
    const JoinProjectSpec::Side& columns = spec.sides[side];
    const char* const whose = spec.self_join ? "" : side == 0 ? "Left " : "Right ";
    ExplainPropertyText(psprintf("%sKey", whose),
                        columns_text(state->inputs[side], columns.packed, 0, columns.keys, here, es), es);
    ExplainPropertyText(psprintf("%sItem", whose),
                        columns_text(state->inputs[side], columns.packed, columns.keys, columns.codes, here, es), es);
    if (columns.factors > 0)
      ExplainPropertyText(psprintf("%sFactors", whose),
                          columns_text(state->inputs[side], false, columns.keys + columns.codes, columns.factors, here, es),
                          es);
  }
  explain_lookups(state, here, es);
  if (spec.kept_table != 0) {
    const char* const counts = get_rel_name(static_cast<Oid>(spec.kept_counts));
    ExplainPropertyText(
        "Kept Counts",
        psprintf("%s%s%s%s", counts != nullptr ? counts : "?", state->why_not_kept != nullptr ? " (not used: " : "",
                 state->why_not_kept != nullptr ? state->why_not_kept : "", state->why_not_kept != nullptr ? ")" : ""),
        es);
  }
  ExplainPropertyText("Counts", kCounts[static_cast<int>(spec.counting)], es);
  static const char* const kPairs[] = {"all",
                                       "smaller item first",
                                       "smaller or equal item first",
                                       "larger item first",
                                       "larger or equal item first",
                                       "different items"};
  const PairCondition condition = spec.grouped ? spec.condition : spec.order;
  if (spec.self_join || condition != PairCondition::kNone)
    ExplainPropertyText("Returned Pairs", kPairs[static_cast<int>(condition)], es);
  int at = 0;
  if (spec.has_threshold) explain_bound(state, "Threshold", spec.threshold_excluded ? "> " : ">= ", at++, ancestors, es);
  if (spec.has_limit) explain_bound(state, "Best", "", at++, ancestors, es);
  if (es->analyze)
    explain_answer(state, es);
  else if (spec.kept_table == 0)
    explain_device(es);
}

const CustomExecMethods kExecMethods = node_methods(kNodeName, begin_scan, exec_scan, end_scan, rescan, explain_scan);
const CustomScanMethods kScanMethods = {kNodeName, create_node_state<JoinProjectState, &kExecMethods>};

const CustomScanMethods* scan_methods() { return &kScanMethods; }

}  // namespace

bool is_join_project(const CustomPath* path) { return path->methods == &kPathMethods; }

const BlockReader* join_project_blocks(const CustomScanState* node) {
  return node->methods == &kExecMethods ? &kBlockReader : nullptr;
}

void install_join_project_node() {
  RegisterCustomScanMethods(&kScanMethods);
  install_itemsets_node();
  install_listed_pairs_node();
  next_upper_paths_hook = create_upper_paths_hook;
  create_upper_paths_hook = add_join_project;
}

}  // namespace batmap::pg
