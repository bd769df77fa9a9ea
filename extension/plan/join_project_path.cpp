// Makes inputs, costs and plans. See join_project_path.h.
#include "extension/plan/join_project_path.h"

#include <cmath>
#include <cstring>

#include "extension/input/node_pack_rows.h"
#include "extension/server/backend.h"
#include "extension/server/plan_numbers.h"
#include "pairs/spilled_pairs.h"
#include "relation/row_log.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Costs in units of cpu_operator_cost, which is about 20 ns. From bench/sql/plain.sh on w1 and retail.
constexpr double kRunOperators = 20000;          // start threads, allocate memory, make tables of codes
constexpr double kRowOperators = 2;              // read a row into the log and group it
constexpr double kCodedRowOperators = 6;         // the same, with a look-up of its values
constexpr double kPairInstanceOperators = 0.05;  // count; a bit high for very dense and very sparse relations

constexpr double kFileRowOperators = 3;  // write a row to a file and read it the first time
constexpr double kPassRowOperators = 4;  // read it again for a block of counters
// Bytes that must fit into batmap.memory_limit.
constexpr double kRowBytes = 6;      // of a row in the log
constexpr double kCountedBytes = 3;  // factor: the log, and the structure that is counted, made from it
constexpr double kItemBytes = 64;    // codes, ranks, totals
constexpr double kCodedBytes = 100;  // of a value that is not its own code
constexpr double kUnsureFactor = 4;  // estimates may be too small by this factor, if no plain plan can take over

// Positions in CustomPath::custom_private; kNumbers becomes the custom_private of the plan.
enum PathList { kNumbers, kExpressions, kScanTargets, kQuals };

List* ints_of(const JoinProjectSpec& spec) {
  static_assert(sizeof(JoinProjectSpec) % sizeof(int) == 0 && alignof(JoinProjectSpec) == alignof(int));
  List* ints = NIL;
  const auto* const numbers = reinterpret_cast<const int*>(&spec);
  for (size_t k = 0; k < sizeof spec / sizeof(int); ++k) ints = lappend_int(ints, numbers[k]);
  return ints;
}

JoinProjectSpec::Side side_spec(const JoinProjectQuery& query, const JoinProjectSide& side) {
  JoinProjectSpec::Side spec{};
  spec.keys = list_length(side.keys);
  spec.items = list_length(side.items);
  spec.key = spec.keys > 1 ? KeyKind::kTuples : key_kind(exprType(static_cast<Node*>(linitial(side.keys))));
  spec.item = key_kind(exprType(static_cast<Node*>(linitial(side.items))));
  spec.null_items = side.null_items_are_wanted;
  // NULL is coded as a number above all values of 32 bits. There is no such number for 64 bits.
  const bool has_room_for_null =
      !side.null_items_are_wanted || side.items_are_not_null || spec.item == KeyKind::kInt2 || spec.item == KeyKind::kInt4;
  if (spec.items > 1 || !is_own_key(spec.item) || !has_room_for_null) {
    spec.item = query.order != ItemOrder::kAny ? KeyKind::kDictionary : KeyKind::kTuples;
    spec.null_items = spec.item == KeyKind::kTuples;  // a dictionary has none; an order of the items rejects them
  }
  return spec;
}

JoinProjectSpec spec_of(const JoinProjectQuery& query) {
  JoinProjectSpec spec{};
  for (int side = 0; side < 2; ++side) spec.sides[side] = side_spec(query, query.sides[side]);
  spec.self_join = query.self_join;
  spec.order = query.order;
  spec.counting = query.counting;
  spec.rows_repeat = query.rows_repeat;
  spec.has_threshold = query.threshold != nullptr;
  spec.threshold_excluded = query.threshold_excluded;
  spec.has_limit = query.limit != nullptr;
  spec.has_offset = query.offset != nullptr;
  return spec;
}

/// Are keys and items of a side their own codes?
bool has_own_keys(const JoinProjectSpec::Side& side) { return is_own_key(side.key) && is_own_key(side.item); }

double row_cost(const JoinProjectSpec::Side& side) {
  return cpu_operator_cost * (has_own_keys(side) ? kRowOperators : kCodedRowOperators);
}

/// A path that returns the keys and items of a side: in chunks from parallel workers if that is cheaper.
Path* input_path(PlannerInfo* root, const JoinProjectSide& side, JoinProjectSpec::Side& columns) {
  PathTarget* const target = create_empty_pathtarget();
  List* const expressions = list_concat_copy(side.keys, side.items);
  ListCell* cell;
  foreach (cell, expressions) add_column_to_pathtarget(target, static_cast<Expr*>(lfirst(cell)), 0);
  set_pathtarget_cost_width(root, target);
  Path* const serial = &create_projection_path(root, side.rel, side.rel->cheapest_total_path, target)->path;
  if (!has_own_keys(columns) || !side.rel->consider_parallel || side.rel->partial_pathlist == NIL ||
      !is_parallel_safe(root, reinterpret_cast<Node*>(expressions)))
    return serial;
  auto* const partial = static_cast<Path*>(linitial(side.rel->partial_pathlist));
  Path* const pack = pack_rows_path(root, side.rel, &create_projection_path(root, side.rel, partial, target)->path,
                                    {columns.key, columns.item, columns.null_items});
  double rows = pack->rows * pack->parallel_workers;
  Path* const gather = &create_gather_path(root, side.rel, pack, pack->pathtarget, nullptr, &rows)->path;
  if (!is_cheaper(gather, serial, serial->rows * cpu_operator_cost)) return serial;
  columns.packed = true;
  return gather;
}

double distinct_values(PlannerInfo* root, List* expressions, double rows) {
  return estimate_num_groups(root, expressions, rows, nullptr, nullptr);
}

/// The effect of the memory limits on a run.
struct MemoryUse {
  double bytes = 0;  // that the run needs
  Cost cost = 0;     // of files: written and read once, and read again for each block of counters
};

MemoryUse memory_use(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSpec& spec) {
  MemoryUse use;
  double rows = 0;
  double items[2];
  for (int side = 0; side < spec.inputs(); ++side) {
    const JoinProjectSide& input = query.sides[side];
    rows += input.rel->rows;
    items[side] = distinct_values(root, input.items, input.rel->rows);
    use.bytes += items[side] * (kItemBytes + (is_own_key(spec.sides[side].item) ? 0 : kCodedBytes));
    if (!is_own_key(spec.sides[side].key)) use.bytes += distinct_values(root, input.keys, input.rel->rows) * kCodedBytes;
  }
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
  use.cost = rows * kFileRowOperators * cpu_operator_cost + passes * pass_cost(rows);
  return use;
}

List* scan_targets(const JoinProjectQuery& query) {
  List* targets = NIL;
  for (const List* const expressions : {query.sides[0].items, query.sides[1].items, query.aggregates}) {
    const ListCell* cell;
    foreach (cell, expressions) {
      auto* const expression = static_cast<Expr*>(copyObjectImpl(lfirst(cell)));
      targets =
          lappend(targets, makeTargetEntry(expression, static_cast<AttrNumber>(list_length(targets) + 1), nullptr, false));
    }
  }
  return targets;
}

/// Can the rows of a path be put into the columns of the node? An aggregation can compute the counts; any
/// other path must have them in its target.
bool gives_counts(const Path* plain, const List* aggregates) {
  if (IsA(plain, ProjectionPath)) plain = castNode(ProjectionPath, const_cast<Path*>(plain))->subpath;
  if (IsA(plain, AggPath)) return true;
  const ListCell* cell;
  foreach (cell, aggregates)
    if (!list_member(plain->pathtarget->exprs, lfirst(cell))) return false;
  return true;
}

/// A path with the plain answer in the columns of the node.
Path* plain_path(PlannerInfo* root, RelOptInfo* output, Path* plain, List* targets) {
  PathTarget* const target = create_empty_pathtarget();
  ListCell* cell;
  foreach (cell, targets) add_column_to_pathtarget(target, lfirst_node(TargetEntry, cell)->expr, 0);
  set_pathtarget_cost_width(root, target);
  return &create_projection_path(root, output, plain, target)->path;
}

}  // namespace

Cost pass_cost(double rows) { return rows * kPassRowOperators * cpu_operator_cost; }

List* join_project_lists(const List* custom_private) {
  PlanNumbers numbers(custom_private);
  List* const spec = numbers.next_ints();
  List* const key_operators = numbers.next_oids();
  List* const left_item_operators = numbers.next_oids();
  List* const right_item_operators = numbers.next_oids();
  return list_make5(spec, key_operators, left_item_operators, right_item_operators, numbers.next_ints());
}

JoinProjectSpec join_project_spec(const List* lists) {
  JoinProjectSpec spec{};
  auto* const numbers = reinterpret_cast<int*>(&spec);
  const ListCell* cell;
  foreach (cell, static_cast<const List*>(list_nth(lists, kSpec))) numbers[foreach_current_index(cell)] = lfirst_int(cell);
  return spec;
}

CustomPath* join_project_path(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, JoinProjectQuery& query, Path* plain,
                              const CustomPathMethods* methods) {
  JoinProjectSpec spec = spec_of(query);
  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = input;  // so that EXPLAIN knows which relations are read
  path->path.pathtarget = query.target;
  path->path.rows = plain->rows;
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->methods = methods;

  Cost startup = kRunOperators * cpu_operator_cost;
  for (int side = 0; side < spec.inputs(); ++side) {
    Path* const rows = input_path(root, query.sides[side], spec.sides[side]);
    path->custom_paths = lappend(path->custom_paths, rows);
    set_disabled_nodes(&path->path, disabled_nodes(&path->path) + disabled_nodes(rows));
    startup += rows->total_cost + query.sides[side].rel->rows * row_cost(spec.sides[side]);
  }
  startup += input->rows * kPairInstanceOperators * cpu_operator_cost;
  // A subquery can be planned only once.
  spec.has_plain = gives_counts(plain, query.aggregates);
  for (const JoinProjectSide& side : query.sides) spec.has_plain &= side.rel->rtekind != RTE_SUBQUERY;
  const MemoryUse memory = memory_use(root, query, spec);
  startup += memory.cost;
  // A run that finds the memory too small leaves the answer to the plain plan; that costs the reading of the
  // inputs. Without a plain plan such a run must not begin.
  if (!spec.has_plain && memory.bytes * kUnsureFactor > static_cast<double>(memory_limit_bytes()))
    startup += plain->total_cost;
  QualCost quals;
  cost_qual_eval(&quals, query.quals, root);
  path->path.startup_cost = startup + quals.startup + query.target->cost.startup;
  path->path.total_cost =
      path->path.startup_cost + path->path.rows * (cpu_tuple_cost + quals.per_tuple + query.target->cost.per_tuple);

  List* const targets = scan_targets(query);
  if (spec.has_plain) path->custom_paths = lappend(path->custom_paths, plain_path(root, output, plain, targets));

  List* expressions = NIL;
  for (Node* const expression : {reinterpret_cast<Node*>(query.threshold), query.limit, query.offset})
    if (expression != nullptr) expressions = lappend(expressions, expression);
  List* numbers = NIL;
  for (const List* const list :
       {ints_of(spec), query.key_operators, query.sides[0].item_operators, query.sides[1].item_operators, query.null_when})
    numbers = put_numbers(numbers, list);
  path->custom_private = list_make4(numbers, expressions, targets, query.quals);
  return path;
}

Plan* plan_join_project(CustomPath* path, List* targets, List* children, const CustomScanMethods* methods) {
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = static_cast<List*>(list_nth(path->custom_private, kQuals));
  scan->scan.scanrelid = 0;  // custom_scan_tlist describes its rows
  scan->flags = path->flags;
  scan->custom_plans = children;
  scan->custom_exprs = static_cast<List*>(list_nth(path->custom_private, kExpressions));
  scan->custom_scan_tlist = static_cast<List*>(list_nth(path->custom_private, kScanTargets));
  scan->custom_private = static_cast<List*>(list_nth(path->custom_private, kNumbers));
  scan->methods = methods;
  return &scan->scan.plan;
}

}  // namespace batmap::pg
