// Makes inputs, costs and plans. See join_project_path.h.
#include "extension/plan/join/join_project_path.h"

#include <cmath>
#include <cstring>

#include "extension/input/node_pack_rows.h"
#include "extension/input/run_costs.h"
#include "extension/plan/join/join_estimate.h"
#include "extension/plan/join/join_kept.h"
#include "extension/plan/join/node_expand_rows.h"
#include "extension/plan/join/plain_plan.h"
#include "extension/plan/join/run_node.h"
#include "extension/plan/query/join_lookups.h"
#include "extension/server/backend.h"
#include "extension/server/plan_numbers.h"
#include "pairs/pair_sums.h"
#include "pairs/spilled_pairs.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Costs in units of cpu_operator_cost, as in run_costs.h.
constexpr double kNewCodeOperators = 10;     // give a value, or several, that came up the first time a code
constexpr double kGroupedPairOperators = 1;  // find the groups of a pair of codes, and add its count up
constexpr double kKeyGroupOperators = 0.5;   // find out whether a lookup has the key of a row
constexpr double kProductOperators = 0.15;   // add one product of a row of the join to its sum

constexpr double kSumRowOperators = 8;  // sort and merge a row that has factors
constexpr double kFactorOperators = 6;  // read one of them
constexpr double kSumRowBytes = 64;     // of such a row, in all forms together

constexpr double kFinerRowTuples = 1;  // in units of cpu_tuple_cost: return a row that the server combines with others

constexpr double kMinSelectivity = 1e-3;  // of comparisons: estimates below this are not relied on

constexpr double kFileRowOperators = 3;    // write a row to a file and read it the first time
constexpr double kPassRowOperators = 4;    // read it again for a block of counters
constexpr double kRunPairOperators = 0.6;  // write a pair of a part to a file, read it and add it up
// Bytes that must fit into batmap.memory_limit.
constexpr double kRowBytes = 6;      // of a row in the log
constexpr double kCountedBytes = 3;  // factor: the log, and the structure that is counted, made from it
constexpr double kItemBytes = 64;    // codes, ranks, totals
constexpr double kCodedBytes = 100;  // of a value that is not its own code

void set_lookup(const JoinProjectSide& side, JoinProjectSpec::Side& spec) {
  if (side.lookup.rel == nullptr) return;
  spec.lookup = Lookup::kOwn;
  spec.lookup_key = key_kind(exprType(side.lookup.key));
}

JoinProjectSpec::Side side_spec(const JoinProjectQuery& query, const JoinProjectSide& side) {
  JoinProjectSpec::Side spec{};
  spec.keys = list_length(side.keys);
  spec.codes = list_length(side.codes);
  spec.items = list_length(side.items);
  spec.key = spec.keys > 1 ? KeyKind::kTuples : key_kind(exprType(static_cast<Node*>(linitial(side.keys))));
  spec.item = key_kind(exprType(static_cast<Node*>(linitial(side.codes))));
  spec.null_items = side.null_items_are_wanted;
  // NULL is coded as a number above all values of 32 bits. There is no such number for 64 bits.
  const bool has_room_for_null =
      !side.null_items_are_wanted || side.items_are_not_null || spec.item == KeyKind::kInt2 || spec.item == KeyKind::kInt4;
  if (spec.codes > 1 || !is_own_key(spec.item) || !has_room_for_null) {
    spec.item = query.order != PairCondition::kNone ? KeyKind::kDictionary : KeyKind::kTuples;
    spec.null_items = spec.item == KeyKind::kTuples;  // a dictionary has none; an order of the items rejects them
  }
  set_lookup(side, spec);
  spec.adds_up = query.adds_up;
  spec.factors = list_length(side.factors);
  return spec;
}

JoinProjectSpec spec_of(PlannerInfo* root, const JoinProjectQuery& query) {
  JoinProjectSpec spec{};
  for (int side = 0; side < 2; ++side) spec.sides[side] = side_spec(query, query.sides[side]);
  if (has_one_lookup(root, query)) spec.sides[1].lookup = Lookup::kOfLeft;
  spec.shared.items = list_length(query.shared.items);
  set_lookup(query.shared, spec.shared);
  spec.grouped = query.grouped;
  spec.condition = query.condition;
  spec.compared_value = query.compared_value;
  spec.self_join = query.self_join;
  spec.order = query.order;
  spec.counting = query.counting;
  spec.rows_repeat = query.rows_repeat;
  spec.comparisons = query.comparisons;
  spec.has_threshold = query.threshold != nullptr;
  spec.threshold_excluded = query.threshold_excluded;
  spec.has_limit = query.limit != nullptr;
  spec.has_offset = query.offset != nullptr;
  return spec;
}

}  // namespace

bool has_own_keys(const JoinProjectSpec::Side& side) { return is_own_key(side.key) && is_own_key(side.item); }

namespace {

double distinct_values(PlannerInfo* root, List* expressions, double rows) {
  return estimate_num_groups(root, expressions, rows, nullptr, nullptr);
}

/// How many different tuples of values become codes. One column often determines the others.
double distinct_codes(PlannerInfo* root, List* expressions, double rows) {
  double most = 1;
  ListCell* cell;
  foreach (cell, expressions) most = Max(most, distinct_values(root, list_make1(lfirst(cell)), rows));
  return most;
}

/// How many pairs have a count, where the node returns all of them.
double counted_pairs(PlannerInfo* root, const JoinProjectQuery& query, double joined_rows) {
  double pairs = 1;
  for (const JoinProjectSide* const side : {&query.sides[0], &query.sides[1], &query.shared})
    pairs *= distinct_codes(root, side->items, joined_rows);
  return Min(pairs, joined_rows);
}

/// The cost of taking the rows of an input.
Cost rows_cost(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSide& input,
               const JoinProjectSpec::Side& side, const Path* rows) {
  Cost cost = 0;
  double count = input.rel->rows;
  // The path has the cost of a scan that returns tuples.
  if (has_own_keys(side) && side.packed == 0 && side.adds_up == 0) cost += Min(0, packing_cost(root, rows));
  if (query.grouped && query.shared.lookup.rel != nullptr) {
    cost += count * kKeyGroupOperators * cpu_operator_cost;
    count *= query.share_of_keys;
  }
  cost += count * (has_own_keys(side) ? kRowOperators : kCodedRowOperators) * cpu_operator_cost;
  if (!is_own_key(side.key)) cost += distinct_codes(root, input.keys, count) * kNewCodeOperators * cpu_operator_cost;
  if (!is_own_key(side.item)) cost += distinct_codes(root, input.codes, count) * kNewCodeOperators * cpu_operator_cost;
  return cost;
}

/// What a subquery takes DISTINCT of. @return nullptr unless that is all it does with rows of a table or a join
RelOptInfo* below_distinct(PlannerInfo* root, const RelOptInfo* rel) {
  PlannerInfo* const below = rel->subroot;
  if (rel->rtekind != RTE_SUBQUERY || below == nullptr || !bms_is_empty(rel->lateral_relids)) return nullptr;
  // A function that tells for what it is called must not see the rows that a barrier hides.
  if (planner_rt_fetch(rel->relid, root)->security_barrier) return nullptr;
  const Query* const query = below->parse;
  if (query->distinctClause == NIL || query->hasDistinctOn || query->sortClause != NIL || query->groupClause != NIL ||
      query->groupingSets != NIL || query->hasAggs || query->havingQual != nullptr || query->hasWindowFuncs ||
      query->hasTargetSRFs || query->limitCount != nullptr || query->limitOffset != nullptr ||
      query->setOperations != nullptr)
    return nullptr;
  int only;
  RelOptInfo* const rows = bms_get_singleton_member(below->all_baserels, &only)
                               ? find_base_rel(below, only)
                               : find_join_rel(below, with_outer_joins(below, below->all_baserels));
  if (rows == nullptr || rows->cheapest_total_path == nullptr) return nullptr;
  // The columns must be those of the subquery.
  const List* const columns = rows->cheapest_total_path->pathtarget->exprs;
  if (list_length(columns) != list_length(below->processed_tlist)) return nullptr;
  const ListCell* cell;
  foreach (cell, columns)
    if (!equal(lfirst(cell), list_nth_node(TargetEntry, below->processed_tlist, foreach_current_index(cell))->expr))
      return nullptr;
  return rows;
}

/// A path with the rows of an input, and one with the part of a worker; nullptr: workers cannot share them.
struct InputPaths {
  Path* all;
  Path* part;
};

InputPaths rows_of(RelOptInfo* rel) {
  return {rel->cheapest_total_path,
          rel->partial_pathlist == NIL ? nullptr : static_cast<Path*>(linitial(rel->partial_pathlist))};
}

/// The same without the DISTINCT of a subquery.
InputPaths rows_with_repeats(PlannerInfo* root, RelOptInfo* rel) {
  RelOptInfo* const below = below_distinct(root, rel);
  if (below == nullptr) return rows_of(rel);
  const InputPaths rows = rows_of(below);
  const auto scan = [&](Path* path) { return path == nullptr ? nullptr : subquery_scan_path(root, rel, path); };
  // A worker must not run an uncorrelated subquery (InitPlan): it may be unsafe there.
  const bool can_share = rel->consider_parallel && rel->subroot->init_plans == NIL;
  return {scan(rows.all), can_share ? scan(rows.part) : nullptr};
}

Path* project(PlannerInfo* root, RelOptInfo* rel, Path* rows, List* expressions) {
  PathTarget* const target = create_empty_pathtarget();
  ListCell* cell;
  foreach (cell, expressions) add_column_to_pathtarget(target, static_cast<Expr*>(lfirst(cell)), 0);
  return &create_projection_path(root, rel, rows, set_pathtarget_cost_width(root, target))->path;
}

}  // namespace

Path* path_of(PlannerInfo* root, RelOptInfo* rel, List* expressions) {
  return project(root, rel, rel->cheapest_total_path, expressions);
}

Path* input_path(PlannerInfo* root, const JoinProjectSide& side, const RowExpansion* expansion, bool may_repeat,
                 JoinProjectSpec::Side& columns) {
  List* const expressions = list_concat(list_concat_copy(side.keys, side.codes), side.factors);
  const InputPaths rows = expansion != nullptr ? rows_of(expansion->rows)
                          : may_repeat         ? rows_with_repeats(root, side.rel)
                                               : rows_of(side.rel);
  const auto input = [&](Path* path) {
    return expansion != nullptr ? expand_rows_path(root, *expansion, side.rel, path, expressions)
                                : project(root, side.rel, path, expressions);
  };
  Path* const serial = input(rows.all);
  if (!has_own_keys(columns) || columns.adds_up != 0 || !side.rel->consider_parallel || rows.part == nullptr ||
      !is_parallel_safe(root, reinterpret_cast<Node*>(expressions)))
    return serial;
  Path* const part = input(rows.part);
  Path* const pack = pack_rows_path(root, side.rel, part, {columns.key, columns.item, columns.null_items});
  double packed_rows = pack->rows * pack->parallel_workers;
  Path* const gather = &create_gather_path(root, side.rel, pack, pack->pathtarget, nullptr, &packed_rows)->path;
  if (!is_cheaper(gather, serial, packing_cost(root, serial))) return serial;
  columns.packed = true;
  return gather;
}

namespace {

/// The effect of the memory limits on a run.
struct MemoryUse {
  double bytes = 0;  // that the run needs
  Cost cost = 0;     // of files
};

/// @param join_rows  of the plain join
MemoryUse memory_use(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSpec& spec, double join_rows) {
  MemoryUse use;
  double rows = 0;
  double items[2];
  for (int side = 0; side < spec.inputs(); ++side) {
    const JoinProjectSide& input = query.sides[side];
    rows += input.rel->rows;
    items[side] = distinct_values(root, input.codes, input.rel->rows);
    use.bytes += items[side] * (kItemBytes + (is_own_key(spec.sides[side].item) ? 0 : kCodedBytes));
    if (!is_own_key(spec.sides[side].key)) use.bytes += distinct_values(root, input.keys, input.rel->rows) * kCodedBytes;
  }
  for (const JoinProjectSide* const side : {&query.sides[0], &query.sides[1], &query.shared})
    if (side->lookup.rel != nullptr) use.bytes += side->lookup.rel->rows * (kItemBytes + kCodedBytes);
  const auto work_bytes = static_cast<double>(run_work_bytes());
  if (rows * kRowBytes <= work_bytes / RowLog::kShareOfWorkMemory) {
    use.bytes += rows * kRowBytes * kCountedBytes;
    return use;
  }
  const double logs = spec.self_join ? 1 : 3;  // both sides and their join
  use.bytes += logs * RowPartitions::kOpenBytes + work_bytes;
  const double pairs = spec.self_join ? items[0] * items[0] / 2 : items[0] * items[1];
  const double counter_bytes = spec.rows_repeat ? sizeof(uint64_t) : sizeof(uint32_t);
  const double passes = std::ceil(pairs * counter_bytes * SpilledPairs::kCountersShare / work_bytes);
  const double blocks = passes * rows * kPassRowOperators;
  const double parts = std::ceil(rows * kRowBytes / static_cast<double>(max_loaded_bytes(run_work_bytes())));
  const double runs = rows * kPassRowOperators + std::min(join_rows, pairs * parts) * kRunPairOperators;
  use.cost = (rows * kFileRowOperators + std::min(blocks, runs)) * cpu_operator_cost;
  return use;
}

/// The same for a run that adds up: all rows stay in memory, and the results of a task.
MemoryUse memory_of_sums(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSpec& spec, double join_rows) {
  MemoryUse use;
  const double products = 1 + list_length(query.aggregates);
  use.bytes =
      std::min(join_rows, static_cast<double>(RowTasks::kMaxResults)) * (sizeof(ItemPair) + sizeof(WideSum) * products);
  for (int side = 0; side < spec.inputs(); ++side) {
    const JoinProjectSide& input = query.sides[side];
    const double factors = products * (spec.self_join ? 2 : 1);
    use.bytes += input.rel->rows * (kSumRowBytes + 2 * sizeof(int64_t) * factors);
    use.cost += input.rel->rows * (kSumRowOperators + kFactorOperators * spec.sides[side].factors) * cpu_operator_cost;
    use.bytes +=
        distinct_values(root, input.codes, input.rel->rows) * (kItemBytes + kCodedBytes + sizeof(WideSum) * products);
    use.bytes += distinct_values(root, input.keys, input.rel->rows) * kCodedBytes;
  }
  return use;
}

/// Which items of a side does the answer show, or something that is computed from what they look like? @return int for each
List* shown_items(const JoinProjectQuery& query, const JoinProjectSide& side) {
  List* shown = NIL;
  const ListCell* item;
  const ListCell* ref;
  forboth(item, side.items, ref, side.item_refs) shown =
      lappend_int(shown, lfirst_int(ref) != kOnlyCompared || list_member(query.looked_at, lfirst(item)));
  return shown;
}

/// The same for the left side, whose encoder may be that of both.
List* shown_on_left(const JoinProjectQuery& query, const JoinProjectSpec& spec) {
  List* const shown = shown_items(query, query.sides[0]);
  if (!spec.self_join && spec.sides[1].lookup != Lookup::kOfLeft) return shown;
  ListCell* left;
  const ListCell* right;
  forboth(left, shown, right, shown_items(query, query.sides[1])) lfirst_int(left) |= lfirst_int(right);
  return shown;
}

/// The aggregates as the node returns them: results, or states that the server combines.
List* node_aggregates(const JoinProjectQuery& query) {
  List* aggregates = static_cast<List*>(copyObjectImpl(query.aggregates));
  if (!query.finer) return aggregates;
  ListCell* cell;
  foreach (cell, aggregates) mark_partial_aggref(lfirst_node(Aggref, cell), AGGSPLIT_INITIAL_SERIAL);
  return aggregates;
}

}  // namespace

List* scan_targets(const JoinProjectQuery& query) {
  List* targets = NIL;
  for (const List* const expressions :
       {query.sides[0].items, query.sides[1].items, query.shared.items, node_aggregates(query)}) {
    const ListCell* cell;
    foreach (cell, expressions) {
      auto* const expression = static_cast<Expr*>(copyObjectImpl(lfirst(cell)));
      targets =
          lappend(targets, makeTargetEntry(expression, static_cast<AttrNumber>(list_length(targets) + 1), nullptr, false));
    }
  }
  return targets;
}

PathTarget* finer_target(const JoinProjectQuery& query) {
  PathTarget* const target = create_empty_pathtarget();
  const ListCell* item;
  const ListCell* ref;
  for (const JoinProjectSide& side : query.sides)
    forboth(item, side.items, ref, side.item_refs) if (lfirst_int(ref) != kOnlyCompared)
        add_column_to_pathtarget(target, static_cast<Expr*>(lfirst(item)), static_cast<Index>(lfirst_int(ref)));
  foreach (item, node_aggregates(query)) add_column_to_pathtarget(target, static_cast<Expr*>(lfirst(item)), 0);
  return target;
}

namespace {

AggStrategy strategy_of(const JoinProjectQuery& query) { return query.groups == NIL ? AGG_PLAIN : AGG_HASHED; }

}  // namespace

Path* regrouped(PlannerInfo* root, RelOptInfo* output, const JoinProjectQuery& query, Path* rows, double groups,
                List* having) {
  if (query.aggregates == NIL)
    return &create_agg_path(root, output, rows, query.target, AGG_HASHED, AGGSPLIT_SIMPLE, query.groups, having, nullptr,
                            groups)
                ->path;
  AggClauseCosts costs{};
  get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
  return &create_agg_path(root, output, rows, query.target, strategy_of(query), AGGSPLIT_FINAL_DESERIAL, query.groups,
                          having, &costs, groups)
              ->path;
}

bool gives_answer(const Path* plain, const JoinProjectQuery& query) {
  List* columns = list_copy(query.aggregates);
  const ListCell* cell;
  const ListCell* ref;
  for (const JoinProjectSide* const side : {&query.sides[0], &query.sides[1], &query.shared})
    forboth(cell, side->items, ref, side->item_refs) if (lfirst_int(ref) != kOnlyCompared) columns =
        lappend(columns, lfirst(cell));
  return gives_columns(plain, columns);
}

namespace {

/// A path of the server with the states of the aggregates, for the groups of the query.
Path* plain_states(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, const JoinProjectQuery& query, double groups) {
  AggClauseCosts costs{};
  get_agg_clause_costs(root, AGGSPLIT_INITIAL_SERIAL, &costs);
  return &create_agg_path(root, output, input->cheapest_total_path, set_pathtarget_cost_width(root, finer_target(query)),
                          strategy_of(query), AGGSPLIT_INITIAL_SERIAL, query.groups, NIL, &costs, groups)
              ->path;
}

}  // namespace

Path* plain_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, Path* plain, const JoinProjectQuery& query) {
  if (query.finer && query.aggregates != NIL) plain = plain_states(root, input, output, query, plain->rows);
  PathTarget* const target = create_empty_pathtarget();
  for (const JoinProjectSide* const side : {&query.sides[0], &query.sides[1], &query.shared}) {
    const ListCell* cell;
    const ListCell* ref;
    forboth(cell, side->items, ref, side->item_refs) {
      auto* item = static_cast<Expr*>(lfirst(cell));
      auto* const node = reinterpret_cast<Node*>(item);
      if (lfirst_int(ref) == kOnlyCompared)
        item = reinterpret_cast<Expr*>(makeNullConst(exprType(node), exprTypmod(node), exprCollation(node)));
      add_column_to_pathtarget(target, item, 0);
    }
  }
  const ListCell* cell;
  foreach (cell, node_aggregates(query)) add_column_to_pathtarget(target, static_cast<Expr*>(lfirst(cell)), 0);
  set_pathtarget_cost_width(root, target);
  return &create_projection_path(root, output, plain, target)->path;
}

List* join_project_lists(const List* custom_private) {
  PlanNumbers numbers(custom_private);
  List* const spec = numbers.next_ints();
  List* const key_operators = numbers.next_oids();
  List* const left_item_operators = numbers.next_oids();
  List* const right_item_operators = numbers.next_oids();
  List* const shared_operators = numbers.next_oids();
  List* lists = list_make5(spec, key_operators, left_item_operators, right_item_operators, shared_operators);
  for (int list = kLeftShown; list <= kSums; ++list) lists = lappend(lists, numbers.next_ints());
  return lists;
}

JoinProjectSpec join_project_spec(const List* lists) {
  return of_ints<JoinProjectSpec>(static_cast<const List*>(list_nth(lists, kSpec)));
}

Path* join_project_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, JoinProjectQuery& query, Path* plain,
                        const CustomPathMethods* methods) {
  const bool makes_states = query.finer && query.aggregates != NIL;
  if (!makes_states && !gives_answer(plain, query)) {
    query.refuse(Refusal::kNoCounts);
    return nullptr;
  }
  JoinProjectSpec spec = spec_of(root, query);
  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = input;  // so that EXPLAIN knows which relations are read
  path->path.pathtarget = query.finer ? set_pathtarget_cost_width(root, finer_target(query)) : query.target;
  path->path.rows =
      query.finer ? counted_pairs(root, query, input->rows) : expected_rows(root, query, input->rows, plain->rows);
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->methods = methods;

  // Without the lookups, rows are joined that they would leave out.
  double joined_rows = input->rows;
  for (int side = 0; side < 2; ++side)
    joined_rows *= Max(1, query.sides[side].rel->rows * (query.grouped ? query.share_of_keys : 1) /
                              Max(1, query.sides[side].rows_with_lookups));

  Cost startup = kRunOperators * cpu_operator_cost;
  for (int side = 0; side < spec.inputs(); ++side) {
    // The engine counts a repeated row once. Where that is the answer, a side need not be made DISTINCT.
    const bool may_repeat = !query.rows_repeat && !query.adds_up;
    Path* const rows = input_path(root, query.sides[side], query.expansion, may_repeat, spec.sides[side]);
    path->custom_paths = lappend(path->custom_paths, rows);
    set_disabled_nodes(&path->path, disabled_nodes(&path->path) + disabled_nodes(rows));
    startup += rows->total_cost + rows_cost(root, query, query.sides[side], spec.sides[side], rows);
  }
  for (int number = 0; number < JoinProjectSpec::kLookups; ++number) {
    if (spec.looked_up(number).lookup != Lookup::kOwn) continue;
    const JoinProjectLookup& lookup = number < 2 ? query.sides[number].lookup : query.shared.lookup;
    Path* const rows = path_of(root, lookup.rel, lcons(lookup.key, list_copy(lookup.values)));
    path->custom_paths = lappend(path->custom_paths, rows);
    set_disabled_nodes(&path->path, disabled_nodes(&path->path) + disabled_nodes(rows));
    startup += rows->total_cost + rows->rows * kCodedRowOperators * cpu_operator_cost;
  }
  // The comparisons of items are checked on pairs that have been counted.
  List* const comparisons = list_copy_head(query.quals, query.comparisons);
  const double kept = Max(kMinSelectivity, clauselist_selectivity(root, comparisons, 0, JOIN_INNER, nullptr));
  const double instances = query.expansion != nullptr ? pair_instances(root, query, joined_rows) : joined_rows / kept;
  const double products = 1 + list_length(query.aggregates);
  startup += instances * (spec.adds_up() ? products * kProductOperators : kPairInstanceOperators) * cpu_operator_cost;
  if (query.sides[0].lookup.rel != nullptr || query.sides[1].lookup.rel != nullptr)
    startup += distinct_values(root, list_concat_copy(query.sides[0].codes, query.sides[1].codes), joined_rows) *
               kGroupedPairOperators * cpu_operator_cost;
  const MemoryUse memory =
      spec.adds_up() ? memory_of_sums(root, query, spec, instances) : memory_use(root, query, spec, instances);
  startup += memory.cost;
  // A run that finds the memory too small leaves the answer to the plain plan.
  if (memory.bytes > static_cast<double>(memory_limit_bytes())) startup += plain->total_cost;
  if (const KeptInput kept = kept_input(root, query, spec); OidIsValid(kept.table) && kept.cost < startup) {
    spec.kept_table = static_cast<int>(kept.table);
    spec.kept_counts = static_cast<int>(kept.counts);
    startup = kept.cost;
  }
  QualCost quals;
  cost_qual_eval(&quals, query.quals, root);
  const QualCost target = path->path.pathtarget->cost;
  path->path.startup_cost = startup + quals.startup + target.startup;
  double rows = path->path.rows;
  double counted = query.finer ? counted_pairs(root, query, instances) : rows / kept;
  // Of elements there are no statistics: perhaps all pairs are different.
  if (query.expansion != nullptr && (query.finer || query.expansion->of_answer != NIL))
    rows = counted = Max(instances, counted);
  path->path.total_cost = path->path.startup_cost + counted * (cpu_tuple_cost + quals.per_tuple) +
                          rows * ((query.finer ? kFinerRowTuples * cpu_tuple_cost : 0) + target.per_tuple);

  path->custom_paths = lappend(path->custom_paths, plain_path(root, input, output, plain, query));
  List* expressions = NIL;
  for (Node* const expression : {reinterpret_cast<Node*>(query.threshold), query.limit, query.offset})
    if (expression != nullptr) expressions = lappend(expressions, expression);
  List* inputs = NIL;
  const ListCell* argument;
  const ListCell* condition;
  forboth(argument, query.arguments, condition, query.conditions) {
    inputs =
        lappend_int(inputs, (lfirst(argument) != nullptr ? kArgument : 0) | (lfirst(condition) != nullptr ? kCondition : 0));
    for (void* const input : {lfirst(argument), lfirst(condition)})
      if (input != nullptr) expressions = lappend(expressions, input);
  }
  List* numbers = NIL;
  for (const List* const list :
       {ints_of(spec), query.key_operators, query.sides[0].item_operators, query.sides[1].item_operators,
        query.shared.item_operators, shown_on_left(query, spec), shown_items(query, query.sides[1]),
        shown_items(query, query.shared), query.states, inputs, query.sums})
    numbers = put_numbers(numbers, list);
  path->custom_private = run_path_lists(numbers, expressions, scan_targets(query), query.quals);
  if (!query.finer) return &path->path;
  return regrouped(root, output, query, &path->path, plain->rows, reinterpret_cast<List*>(root->parse->havingQual));
}

}  // namespace batmap::pg
