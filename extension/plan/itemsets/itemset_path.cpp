// Makes the input and the cost. See itemset_path.h.
#include "extension/plan/itemsets/itemset_path.h"

#include <cmath>
#include <cstring>

#include "extension/input/item_supports.h"
#include "extension/input/run_costs.h"
#include "extension/plan/join/join_estimate.h"
#include "extension/plan/join/plain_plan.h"
#include "extension/plan/join/run_node.h"
#include "extension/server/backend.h"
#include "extension/server/plan_numbers.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Costs in units of cpu_operator_cost, as in run_costs.h.
constexpr double kCheckRowOperators = 4;  // look whether a row repeats
constexpr double kInstanceOperators = 1;  // count an itemset in a transaction, if few have it

// Bytes that must fit into batmap.memory_limit.
constexpr double kRowBytes = 24;     // of a row: in the log, and in the lists that are searched
constexpr double kItemBytes = 64;    // codes, ranks, totals
constexpr double kCodedBytes = 100;  // of a value that is not its own code

ItemsetSpec spec_of(const ItemsetJoin& join) {
  const JoinProjectSide& side = join.block.sides[0];
  ItemsetSpec spec{};
  spec.input.keys = list_length(side.keys);
  spec.input.codes = 1;
  spec.input.key = spec.input.keys > 1 ? KeyKind::kTuples : key_kind(exprType(static_cast<Node*>(linitial(side.keys))));
  spec.input.item = key_kind(exprType(static_cast<Node*>(linitial(side.items))));
  spec.length = list_length(join.items);
  std::memcpy(spec.positions, join.positions, sizeof spec.positions);
  spec.counting = join.block.counting;
  spec.rows_may_repeat = join.rows_may_repeat;
  spec.has_threshold = join.block.threshold != nullptr;
  spec.threshold_excluded = join.block.threshold_excluded;
  return spec;
}

/// The number of sets of k items.
double combinations(double items, int k) {
  double sets = 1;
  for (int taken = 0; taken < k; ++taken) sets *= Max(items - taken, 0) / (taken + 1);
  return sets;
}

/// A path with the plain answer in the columns of the node.
Path* plain_path(PlannerInfo* root, RelOptInfo* output, Path* plain, List* columns) {
  PathTarget* const target = create_empty_pathtarget();
  ListCell* cell;
  foreach (cell, columns) add_column_to_pathtarget(target, static_cast<Expr*>(lfirst(cell)), 0);
  return &create_projection_path(root, output, plain, set_pathtarget_cost_width(root, target))->path;
}

}  // namespace

List* itemset_lists(const List* custom_private) {
  PlanNumbers numbers(custom_private);
  List* const spec = numbers.next_ints();
  return list_make2(spec, numbers.next_oids());
}

ItemsetSpec itemset_spec(const List* lists) {
  return of_ints<ItemsetSpec>(static_cast<const List*>(list_nth(lists, kItemsetSpec)));
}

Path* itemset_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, ItemsetJoin& join, Path* plain,
                   const CustomPathMethods* methods) {
  JoinProjectQuery& block = join.block;
  const JoinProjectSide& side = block.sides[0];
  List* const columns = list_concat_copy(join.items, block.aggregates);
  if (!gives_columns(plain, columns)) {
    block.refuse(Refusal::kNoCounts);
    return nullptr;
  }
  block.refusal = Refusal::kNone;
  ItemsetSpec spec = spec_of(join);
  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = input;  // so that EXPLAIN knows which relations are read
  path->path.pathtarget = block.target;
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->methods = methods;

  Path* const rows = input_path(root, side, nullptr, false, spec.input);
  set_disabled_nodes(&path->path, disabled_nodes(rows));
  const bool has_own = has_own_keys(spec.input);
  const double min_count = min_count_of(root, block);
  const ItemSupports supports = item_supports(root, side.keys, side.items, side.rel->rows);
  const LengthCounts itemsets = expected_itemsets(supports.items(), supports.transactions, min_count, spec.length);
  // An itemset is counted where all of its items are frequent. The planner has estimated the size of the join.
  const double instances = input->rows * std::pow(supports.frequent_share(min_count), spec.length);
  const double candidates = combinations(itemsets.of[1], spec.length);
  path->path.rows =
      clamp_row_est(itemsets.of[spec.length] * clauselist_selectivity(root, block.quals, 0, JOIN_INNER, nullptr));
  Cost startup = rows->total_cost;
  startup +=
      (kRunOperators + side.rel->rows * (kCheckRowOperators + (has_own ? kRowOperators : kCodedRowOperators)) +
       Min(instances * kInstanceOperators, candidates * (kItemsetOperators + supports.transactions / kBitsAnOperator))) *
      cpu_operator_cost;
  const double items = supports.frequent(1);
  // A run that finds the memory too small leaves the answer to the plain plan.
  if (side.rel->rows * (kRowBytes + (is_own_key(spec.input.key) ? 0 : kCodedBytes)) + items * (kItemBytes + kCodedBytes) >
      static_cast<double>(memory_limit_bytes()))
    startup += plain->total_cost;
  QualCost quals;
  cost_qual_eval(&quals, block.quals, root);
  const QualCost target = path->path.pathtarget->cost;
  path->path.startup_cost = startup + quals.startup + target.startup;
  path->path.total_cost = path->path.startup_cost + path->path.rows * (cpu_tuple_cost + quals.per_tuple + target.per_tuple);

  path->custom_paths = list_make2(rows, plain_path(root, output, plain, columns));
  List* targets = NIL;
  ListCell* cell;
  foreach (cell, columns) {
    auto* const column = static_cast<Expr*>(copyObjectImpl(lfirst(cell)));
    targets = lappend(targets, makeTargetEntry(column, static_cast<AttrNumber>(list_length(targets) + 1), nullptr, false));
  }
  List* const expressions = spec.has_threshold ? list_make1(block.threshold) : NIL;
  List* const numbers = put_numbers(put_numbers(NIL, ints_of(spec)), block.key_operators);
  path->custom_private = run_path_lists(numbers, expressions, targets, block.quals);
  return &path->path;
}

}  // namespace batmap::pg
