// Makes the inputs and the cost. See listed_path.h.
#include "extension/plan/listed/listed_path.h"

#include "extension/plan/join/plain_plan.h"
#include "extension/plan/join/run_node.h"
#include "extension/server/backend.h"
#include "extension/server/plan_numbers.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Costs in units of cpu_operator_cost, which is about 20 ns. From bench/listed_bench.cpp.
constexpr double kRunOperators = 20000;   // start threads, allocate memory, make tables of codes
constexpr double kRowOperators = 5;       // read a row into a log, find its item and its key, sort it in
constexpr double kCodedRowOperators = 9;  // the same, with a look-up of its values
constexpr double kTupleOperators = 15;    // number the values of a row of the list
constexpr double kPairOperators = 10;     // go to the rows of a pair
constexpr double kLookupOperators = 0.1;  // look a row up
// Bytes that must fit into batmap.memory_limit.
constexpr double kRowBytes = 24;     // of a row: in the log, and in the lists of rows
constexpr double kListBytes = 40;    // of a row of the list
constexpr double kCodedBytes = 100;  // of a value that is not its own code

JoinProjectSpec::Side side_spec(const JoinProjectSide& side) {
  const auto kind = [](const List* columns) {
    return list_length(columns) > 1 ? KeyKind::kTuples : key_kind(exprType(static_cast<Node*>(linitial(columns))));
  };
  JoinProjectSpec::Side spec{};
  spec.keys = list_length(side.keys);
  spec.codes = list_length(side.codes);
  spec.key = kind(side.keys);
  spec.item = kind(side.codes);
  return spec;
}

/// The kinds of the items, for those that are their own keys.
List* item_kinds(const List* items) {
  List* kinds = NIL;
  const ListCell* cell;
  foreach (cell, items) kinds = lappend_int(kinds, static_cast<int>(key_kind(exprType(static_cast<Node*>(lfirst(cell))))));
  return kinds;
}

double input_operators(const JoinProjectSpec::Side& side) { return has_own_keys(side) ? kRowOperators : kCodedRowOperators; }

}  // namespace

List* listed_lists(const List* custom_private) {
  PlanNumbers numbers(custom_private);
  List* lists = list_make1(numbers.next_ints());
  for (int k = kListedKeys; k <= kListedItems; ++k) lists = lappend(lists, numbers.next_oids());
  for (int k = kListedSources; k <= kListedKinds; ++k) lists = lappend(lists, numbers.next_ints());
  return lists;
}

ListedSpec listed_spec(const List* lists) {
  return of_ints<ListedSpec>(static_cast<const List*>(list_nth(lists, kListedSpec)));
}

Path* listed_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, ListedJoin& join, Path* plain,
                  const CustomPathMethods* methods) {
  JoinProjectQuery& block = join.block;
  const bool makes_states = block.finer && block.aggregates != NIL;
  if (!makes_states && !gives_answer(plain, block)) {
    block.refuse(Refusal::kNoCounts);
    return nullptr;
  }
  block.refusal = Refusal::kNone;
  ListedSpec spec{};
  for (int number = 0; number < 2; ++number) spec.inputs[number] = side_spec(join.inputs[number]);
  spec.list = side_spec(join.list);
  spec.self_join = join.self_join;
  spec.answer = join.answer;
  spec.counting = block.counting;
  spec.items = list_length(block.sides[0].items);

  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = input;  // so that EXPLAIN knows which relations are read
  path->path.pathtarget = block.finer ? set_pathtarget_cost_width(root, finer_target(block)) : block.target;
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->methods = methods;

  Cost startup = kRunOperators * cpu_operator_cost;
  double bytes = 0;
  const auto add_input = [&](Path* rows, const JoinProjectSpec::Side& side, double row_count, double row_bytes) {
    path->custom_paths = lappend(path->custom_paths, rows);
    set_disabled_nodes(&path->path, disabled_nodes(&path->path) + disabled_nodes(rows));
    startup += rows->total_cost + row_count * input_operators(side) * cpu_operator_cost;
    bytes += row_count * (row_bytes + (has_own_keys(side) ? 0 : kCodedBytes));
  };
  const double list_rows = join.list.rel->rows;
  Path* rows;
  if (join.answer == ListedAnswer::kRow) {
    List* const columns = list_concat(list_concat_copy(join.list.keys, join.list.codes), join.values);
    rows = path_of(root, join.list.rel, columns);
    startup += list_rows * kTupleOperators * cpu_operator_cost;
    bytes += list_rows * kCodedBytes;
  } else {
    rows = input_path(root, join.list, nullptr, false, spec.list);
  }
  add_input(rows, spec.list, list_rows, kListBytes);
  for (int number = 0; number < (join.self_join ? 1 : 2); ++number) {
    rows = input_path(root, join.inputs[number], nullptr, false, spec.inputs[number]);
    add_input(rows, spec.inputs[number], join.inputs[number].rel->rows, kRowBytes);
  }
  startup += (list_rows * kPairOperators + join.lookups * kLookupOperators) * cpu_operator_cost;
  // A run that finds the memory too small leaves the answer to the plain plan.
  if (bytes > static_cast<double>(memory_limit_bytes())) startup += plain->total_cost;
  path->path.rows = join.answer == ListedAnswer::kAll ? 1 : clamp_row_est(Min(list_rows, input->rows));
  if (!block.finer) path->path.rows = Min(path->path.rows, plain->rows);
  QualCost quals;
  cost_qual_eval(&quals, block.quals, root);
  const QualCost target = path->path.pathtarget->cost;
  path->path.startup_cost = startup + quals.startup + target.startup;
  path->path.total_cost = path->path.startup_cost + path->path.rows * (cpu_tuple_cost + quals.per_tuple + target.per_tuple);

  path->custom_paths = lappend(path->custom_paths, plain_path(root, input, output, plain, block));
  List* numbers = NIL;
  for (const List* const list :
       {ints_of(spec), join.key_operators, join.code_operators[0], join.code_operators[1], block.sides[0].item_operators,
        join.answer == ListedAnswer::kPair ? join.sources : NIL, item_kinds(block.sides[0].items)})
    numbers = put_numbers(numbers, list);
  path->custom_private = run_path_lists(numbers, NIL, scan_targets(block), block.quals);
  if (!block.finer) return &path->path;
  return regrouped(root, output, block, &path->path, plain->rows, reinterpret_cast<List*>(root->parse->havingQual));
}

}  // namespace batmap::pg
