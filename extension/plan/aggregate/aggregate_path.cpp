// Recognition, path and plan of the plan node "BatmapAggregate". See aggregate_path.h.
#include "extension/plan/aggregate/aggregate_path.h"

#include <algorithm>

#include "extension/plan/aggregate/node_aggregate.h"
#include "extension/plan/aggregate/totals.h"
#include "extension/plan/node_join_project.h"
#include "extension/server/equality.h"
#include "extension/server/plan_numbers.h"
#include "extension/server/settings.h"
#include "extension/streams/node_row_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// The aggregates of the server that the node computes. All but count(*) have one argument of type int8.
struct KnownAggregate {
  Oid function;
  AggregateKind kind;
};
constexpr KnownAggregate kKnownAggregates[] = {
    {F_COUNT_, AggregateKind::kCount}, {F_SUM_INT8, AggregateKind::kSum}, {F_AVG_INT8, AggregateKind::kAvg},
    {F_MIN_INT8, AggregateKind::kMin}, {F_MAX_INT8, AggregateKind::kMax},
};

const KnownAggregate* known_aggregate(Oid function) {
  const auto* const found = std::find_if(std::begin(kKnownAggregates), std::end(kKnownAggregates),
                                         [&](const KnownAggregate& known) { return known.function == function; });
  return found == std::end(kKnownAggregates) ? nullptr : found;
}

/// The column that an aggregate reads. @return nullptr: none, it is count(*)
const Var* argument_of(const Aggref* aggregate) {
  return aggregate->args == NIL ? nullptr : castNode(Var, linitial_node(TargetEntry, aggregate->args)->expr);
}

bool is_computed(const Aggref* aggregate, Index relation) {
  if (known_aggregate(aggregate->aggfnoid) == nullptr || aggregate->aggfilter != nullptr || aggregate->aggorder != NIL ||
      aggregate->aggdistinct != NIL || aggregate->agglevelsup != 0)
    return false;
  if (aggregate->args == NIL) return true;
  const auto* const argument = linitial_node(TargetEntry, aggregate->args)->expr;
  return IsA(argument, Var) && castNode(const Var, argument)->varno == static_cast<int>(relation) &&
         castNode(const Var, argument)->varlevelsup == 0;
}

/// What a query computes from the rows of a relation.
struct Aggregation {
  const Var* key;    // the column of GROUP BY; nullptr: there is none
  List* aggregates;  // NIL: there are none, or not all of them can be computed
};

/// The only column of GROUP BY, if equal values are those that a hash table of the extension takes for equal.
const Var* key_of(const PlannerInfo* root, Index relation) {
  const auto* const clause = linitial_node(SortGroupClause, root->parse->groupClause);
  const Node* const key = get_sortgroupclause_expr(const_cast<SortGroupClause*>(clause), root->processed_tlist);
  if (!IsA(key, Var) || castNode(const Var, key)->varno != static_cast<int>(relation) ||
      castNode(const Var, key)->varlevelsup != 0 || castNode(const Var, key)->varattno <= 0)
    return nullptr;
  const auto* const column = castNode(const Var, key);
  return clause->hashable && is_own_equality(clause->eqop, column->vartype, column->varcollid) ? column : nullptr;
}

Aggregation aggregation_of(const PlannerInfo* root, const RelOptInfo* input, const RelOptInfo* output) {
  const Query* const query = root->parse;
  Aggregation found{};
  if (!query->hasAggs || list_length(query->groupClause) > 1 || query->groupingSets != NIL) return found;
  if (query->groupClause != NIL && (found.key = key_of(root, input->relid)) == nullptr) return found;
  List* expressions = list_copy(output->reltarget->exprs);
  if (query->havingQual != nullptr) expressions = lappend(expressions, query->havingQual);
  List* aggregates = NIL;
  ListCell* cell;
  foreach (cell, pull_var_clause(reinterpret_cast<Node*>(expressions),
                                 PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS)) {
    auto* const node = static_cast<Node*>(lfirst(cell));
    if (found.key != nullptr && equal(node, found.key)) continue;
    if (!IsA(node, Aggref) || !is_computed(castNode(Aggref, node), input->relid)) return found;
    aggregates = list_append_unique(aggregates, node);
  }
  found.aggregates = aggregates;
  return found;
}

/// The node that a path reads, if its rows lie in memory and there are no conditions above it. @return nullptr: they do not
const CustomPath* path_with_blocks(const Path* path) {
  const auto skip_projection = [&] {
    if (IsA(path, ProjectionPath) && castNode(const ProjectionPath, path)->dummypp)
      path = castNode(const ProjectionPath, path)->subpath;
  };
  skip_projection();
  if (IsA(path, SubqueryScanPath)) path = castNode(const SubqueryScanPath, path)->subpath;
  skip_projection();
  if (!IsA(path, CustomPath)) return nullptr;
  const auto* const node = castNode(const CustomPath, path);
  return is_row_stream(node) || is_join_project(node) ? node : nullptr;
}

/// A scan of a subquery that has all of its columns, in their order: the server leaves such a scan out.
void make_trivial(SubqueryScan* scan) {
  List* targets = NIL;
  const ListCell* cell;
  foreach (cell, scan->subplan->targetlist) {
    const auto* const column = lfirst_node(TargetEntry, cell);
    const auto* const value = reinterpret_cast<Node*>(column->expr);
    Var* const var =
        makeVar(scan->scan.scanrelid, column->resno, exprType(value), exprTypmod(value), exprCollation(value), 0);
    targets = lappend(targets, makeTargetEntry(&var->xpr, column->resno, nullptr, column->resjunk));
  }
  scan->scan.plan.targetlist = targets;
}

/// The number of a column among the targets of a plan, from 1; 0: there is none.
int column_number(const Plan* plan, const Var* column) {
  // All columns, in their order. Their typmods may have changed since the query was parsed.
  if (IsA(plan, SubqueryScan)) return column->varattno;
  const ListCell* cell;
  foreach (cell, plan->targetlist) {
    const auto* const target = lfirst_node(TargetEntry, cell);
    if (equal(target->expr, column)) return target->resno;
  }
  return 0;
}

Plan* plan_node(PlannerInfo*, RelOptInfo*, CustomPath* path, List* targets, List*, List* children) {
  auto* const child = static_cast<Plan*>(linitial(children));
  if (IsA(child, SubqueryScan)) make_trivial(castNode(SubqueryScan, child));
  CustomScan* const scan = makeNode(CustomScan);
  scan->scan.plan.targetlist = targets;
  scan->scan.plan.qual = static_cast<List*>(lsecond(path->custom_private));
  scan->scan.scanrelid = 0;
  scan->flags = path->flags;
  scan->methods = aggregate_scan_methods();
  scan->custom_plans = children;
  const auto input_column = [&](const Var* column) {
    const int number = column == nullptr ? 0 : column_number(child, column);
    if (column != nullptr && number == 0) elog(ERROR, "a column of an aggregation is not among those of its input");
    return number;
  };
  const auto add_result = [&](const void* expression) {
    scan->custom_scan_tlist =
        lappend(scan->custom_scan_tlist,
                makeTargetEntry(static_cast<Expr*>(const_cast<void*>(expression)),
                                static_cast<AttrNumber>(list_length(scan->custom_scan_tlist) + 1), nullptr, false));
  };
  const auto* const key = static_cast<const Var*>(lthird(path->custom_private));
  if (key != nullptr) add_result(key);
  scan->custom_private = put_number(NIL, input_column(key));
  const ListCell* cell;
  foreach (cell, static_cast<List*>(linitial(path->custom_private))) {
    auto* const aggregate = lfirst_node(Aggref, cell);
    add_result(aggregate);
    scan->custom_private = put_number(scan->custom_private, static_cast<int>(known_aggregate(aggregate->aggfnoid)->kind));
    scan->custom_private = put_number(scan->custom_private, input_column(argument_of(aggregate)));
  }
  return &scan->scan.plan;
}

const CustomPathMethods kPathMethods = {kAggregateNode, plan_node, nullptr};

/// How many groups the server expects. It has made its own paths before. @return 0: it has not
double expected_groups(const RelOptInfo* output) {
  return output->pathlist == NIL ? 0 : static_cast<const Path*>(linitial(output->pathlist))->rows;
}

/// Has a column of a subquery that is a plain join no more values than the join has items, or counts? @param[out] values  estimated
bool has_few_values(PlannerInfo* subroot, AttrNumber column, double rows, double& values) {
  const TargetEntry* const target = get_tle_by_resno(subroot->processed_tlist, column);
  if (target == nullptr) return false;
  if (IsA(target->expr, Aggref)) {
    const Oid function = castNode(Aggref, target->expr)->aggfnoid;
    return function == F_COUNT_ || function == F_COUNT_ANY;
  }
  const Query* const query = subroot->parse;
  List* const items = query->groupClause != NIL ? query->groupClause : query->distinctClause;
  if (target->ressortgroupref == 0 || get_sortgroupref_clause_noerr(target->ressortgroupref, items) == nullptr) return false;
  values = estimate_num_groups(subroot, list_make1(target->expr), rows, nullptr, nullptr);
  return true;
}

/// What a group takes in the hash table, and with all its aggregates.
constexpr double kGroupBytes = 64;
double bytes_of_groups(double groups, int aggregates) { return groups * (kGroupBytes + aggregates * sizeof(Total)); }

}  // namespace

void add_aggregate_path(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output) {
  if (stage != UPPERREL_GROUP_AGG || !settings.enable_aggregate) return;
  if (input->reloptkind != RELOPT_BASEREL || input->baserestrictinfo != NIL) return;
  Path* const rows = input->cheapest_total_path;
  if (rows == nullptr || rows->param_info != nullptr) return;
  const CustomPath* const node = path_with_blocks(rows);
  if (node == nullptr) return;
  const Aggregation found = aggregation_of(root, input, output);
  if (found.aggregates == NIL) return;
  double groups = 1;
  if (found.key != nullptr) {
    groups = expected_groups(output);
    // Groups stay in memory, as those of a hashed subplan do. So there may be no more of them than the run has items, or counts.
    double values = groups;
    if (groups < 1 || (is_row_stream(node) ? found.key->vartype != INT8OID || !returns_pairs(root, node)
                                           : !has_few_values(input->subroot, found.key->varattno, rows->rows, values)))
      return;
    const double bytes = bytes_of_groups(std::max(groups, values), list_length(found.aggregates));
    if (bytes > static_cast<double>(get_hash_memory_limit())) return;
  }

  CustomPath* const path = makeNode(CustomPath);
  path->path.pathtype = T_CustomScan;
  path->path.parent = output;
  path->path.pathtarget = output->reltarget;
  path->path.parallel_safe = output->consider_parallel && rows->parallel_safe;
  path->path.rows = groups;
  set_disabled_nodes(&path->path, disabled_nodes(rows));
  // The rows were found and handed over by the path below; a sum of a column in memory costs next to nothing, and a look at a
  // hash table a part of what the server's own costs.
  path->path.startup_cost = rows->total_cost + (found.key != nullptr ? rows->rows * cpu_operator_cost / 4 : 0);
  path->path.total_cost = path->path.startup_cost + groups * (output->reltarget->cost.per_tuple + cpu_tuple_cost);
  path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
  path->custom_paths = list_make1(rows);
  path->custom_private = list_make3(found.aggregates, root->parse->havingQual, const_cast<Var*>(found.key));
  path->methods = &kPathMethods;
  add_path(output, &path->path);
}

}  // namespace batmap::pg
