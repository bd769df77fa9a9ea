// Reads the structures of the planner. See join_project_query.h.
#include "extension/plan/query/join_project_query.h"

#include <utility>

#include "extension/plan/query/join_aggregates.h"
#include "extension/plan/query/join_items.h"
#include "extension/plan/query/join_sides.h"
#include "extension/plan/query/join_sums.h"
#include "extension/plan/query/join_unnest.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

Expr* expr_of(ListCell* cell) { return static_cast<Expr*>(lfirst(cell)); }

}  // namespace

bool groups_rows(const PlannerInfo* root, UpperRelationKind stage) {
  const Query* const parse = root->parse;
  if (stage == UPPERREL_GROUP_AGG) return parse->groupClause != NIL;
  return parse->groupClause == NIL && !parse->hasAggs && !parse->hasWindowFuncs && parse->havingQual == nullptr;
}

bool is_plain_block(PlannerInfo* root, UpperRelationKind stage, const RelOptInfo* input, JoinProjectQuery& query) {
  const Query* const parse = root->parse;
  const int relations = bms_num_members(root->all_baserels);
  if (stage == UPPERREL_DISTINCT && parse->hasDistinctOn) return query.refuse(Refusal::kDistinctOn);
  if (relations < 2) return query.refuse(Refusal::kOneRelation);
  if (relations > kMaxRelations) return query.refuse(Refusal::kManyRelations);
  if (parse->groupingSets != NIL) return query.refuse(Refusal::kGroupingSets);
  if (parse->hasTargetSRFs) return query.refuse(Refusal::kSetReturning);
  if (root->placeholder_list != NIL) return query.refuse(Refusal::kPlaceholder);
  if (root->hasPseudoConstantQuals) return query.refuse(Refusal::kPseudoConstant);
  if (input->reloptkind != RELOPT_JOINREL || input->pathlist == NIL || is_dummy_rel(const_cast<RelOptInfo*>(input)) ||
      parse->rowMarks != NIL || parse->commandType != CMD_SELECT || parse->setOperations != nullptr ||
      !bms_equal(input->relids, with_outer_joins(root, root->all_baserels)))
    return query.refuse(Refusal::kNoRows);
  return true;
}

namespace {

/// Reads a query the table of a WITH RECURSIVE outside of it? @param levels  points to the number of queries around the node
bool reads_outer_recursion(Node* node, void* levels) {
  if (node == nullptr) return false;
  Index& around = *static_cast<Index*>(levels);
  if (IsA(node, RangeTblEntry)) {
    const auto* const entry = castNode(RangeTblEntry, node);
    return entry->rtekind == RTE_CTE && entry->self_reference && entry->ctelevelsup >= around;
  }
  if (!IsA(node, Query)) return expression_tree_walker(node, walker(reads_outer_recursion), levels);
  ++around;
  const bool found =
      query_tree_walker(castNode(Query, node), walker(reads_outer_recursion), levels, QTW_EXAMINE_RTES_BEFORE);
  --around;
  return found;
}

bool reads_outer_recursion(Query* query) {
  Index around = 0;
  return reads_outer_recursion(reinterpret_cast<Node*>(query), &around);
}

/// Does a relation return the same rows each time it is read? The working table of a recursion does not: it has one position for
/// all its readers. Members are read only for the kind of entry
/// that they belong to, because Citus keeps numbers in the values_lists of tables.
bool rows_stay_the_same(const RangeTblEntry* entry) {
  switch (entry->rtekind) {
    case RTE_RELATION: return entry->tablesample == nullptr;
    case RTE_FUNCTION: return !contain_volatile_functions(node_of(entry->functions));
    case RTE_SUBQUERY:
      return !contain_volatile_functions(node_of(entry->subquery)) && !reads_outer_recursion(entry->subquery);
    case RTE_CTE: return !entry->self_reference;
    case RTE_TABLEFUNC: return !contain_volatile_functions(reinterpret_cast<Node*>(entry->tablefunc));
    case RTE_VALUES: return !contain_volatile_functions(node_of(entry->values_lists));
    default: return true;
  }
}

/// The plain plan, which takes over when memory is too small, reads the sides a second time: each subquery in them becomes two
/// plans. The server shifts the range table indexes of its append_rel_list and of its row marks in place, once for each plan,
/// so that those of the second are wrong.
bool can_be_planned_twice(const PlannerInfo* root, const RelOptInfo* rel) {
  const PlannerInfo* const subquery = rel->subroot;
  if (subquery != nullptr) {
    if (subquery->append_rel_list != NIL || subquery->rowMarks != NIL) return false;
    for (int k = 1; k < subquery->simple_rel_array_size; ++k)
      if (subquery->simple_rel_array[k] != nullptr && !can_be_planned_twice(subquery, subquery->simple_rel_array[k]))
        return false;
  }
  const ListCell* cell;
  foreach (cell, root->append_rel_list) {
    const auto* const member = lfirst_node(AppendRelInfo, cell);
    if (member->parent_relid == rel->relid && !can_be_planned_twice(root, root->simple_rel_array[member->child_relid]))
      return false;
  }
  return true;
}

}  // namespace

bool relations_are_plain(PlannerInfo* root, JoinProjectQuery& query) {
  for (int k = -1; (k = bms_next_member(root->all_baserels, k)) >= 0;) {
    const RelOptInfo* const relation = find_base_rel(root, k);
    const RangeTblEntry* const entry = planner_rt_fetch(k, root);
    Var* const row = makeWholeRowVar(const_cast<RangeTblEntry*>(entry), k, 0, false);
    if (relation->reloptkind != RELOPT_BASEREL || !rows_stay_the_same(entry)) return query.refuse(Refusal::kRowsChange, row);
    if (!can_be_planned_twice(root, relation)) return query.refuse(Refusal::kPlannedOnce, row);
    ListCell* cell;
    foreach (cell, list_concat_copy(relation->baserestrictinfo, relation->joininfo)) {
      Node* const clause = node_of(lfirst_node(RestrictInfo, cell)->clause);
      if (!is_plain(clause)) return query.refuse(Refusal::kVolatileClause, clause);
    }
  }
  return true;
}

namespace {

// ---- what the clauses mean together

/// If the only clause that is left compares the two items of a self-join in the order of their type, turns it into `order`.
void take_order(JoinProjectQuery& query) {
  if (!query.self_join || list_length(query.quals) != 1 || list_length(query.sides[0].items) != 1) return;
  const auto* const comparison = linitial_node(OpExpr, query.quals);
  Node* const items[2] = {node_of(linitial(query.sides[0].items)), node_of(linitial(query.sides[1].items))};
  Node* const first = compared(linitial(comparison->args));
  Node* const second = compared(lsecond(comparison->args));
  const bool straight = equal(first, items[0]) && equal(second, items[1]);
  const bool turned = equal(first, items[1]) && equal(second, items[0]);
  if (!straight && !turned) return;
  if (comparison->inputcollid != exprCollation(items[0])) return;
  const Oid operation = straight ? comparison->opno : get_commutator(comparison->opno);
  if (read_condition(operation, exprType(items[0]), query.order)) query.quals = NIL;
}

/// Comparisons are never true of NULL: if an item is compared, rows in which it is NULL are not wanted.
void find_unwanted_nulls(PlannerInfo* root, JoinProjectQuery& query) {
  for (JoinProjectSide& side : query.sides) {
    Node* const item = node_of(linitial(side.items));
    const bool single = list_length(side.items) == 1;
    side.items_are_not_null = single && is_not_null(root, item);
    side.null_items_are_wanted = true;
    if (!single) continue;
    ListCell* cell;
    foreach (cell, query.quals) {
      const auto* const comparison = lfirst_node(OpExpr, cell);
      if (equal(compared(linitial(comparison->args)), item) || equal(compared(lsecond(comparison->args)), item))
        side.null_items_are_wanted = false;
    }
  }
}

}  // namespace

// ---- counts

bool is_never_null(PlannerInfo* root, const JoinProjectQuery& query, Node* expression) {
  if (IsA(expression, Const)) return !castNode(Const, expression)->constisnull;
  return is_not_null(root, expression) || is_key(root, query, expression);
}

JoinProjectCount counted_by(PlannerInfo* root, const JoinProjectQuery& query, const Aggref* aggregate) {
  if (aggregate->aggdistinct == NIL) return JoinProjectCount::kRows;
  Node* const counted = node_of(linitial_node(TargetEntry, aggregate->args)->expr);
  const Oid equals = linitial_node(SortGroupClause, aggregate->aggdistinct)->eqop;
  bool counts_keys = aggregate->aggfnoid == F_COUNT_ANY && list_length(query.key_operators) == 1;
  if (counts_keys && query.expansion != nullptr)
    counts_keys = numbers_rows(root, query, counted, equals);
  else if (counts_keys)
    counts_keys = is_key(root, query, counted) && equality_ops_are_compatible(equals, linitial_oid(query.key_operators));
  return counts_keys ? JoinProjectCount::kKeys : JoinProjectCount::kNothing;
}

namespace {

bool add_aggregate(PlannerInfo* root, JoinProjectQuery& query, Aggref* aggregate) {
  if (query.adds_up) return add_sum(root, query, aggregate);
  if (list_member(query.aggregates, aggregate)) return true;
  const AggregateState state = state_of(aggregate);
  if (state == AggregateState::kNone) return query.refuse(Refusal::kAggregate, aggregate);
  const JoinProjectCount counting = counted_by(root, query, aggregate);
  if (counting == JoinProjectCount::kNothing) return query.refuse(Refusal::kDistinctValues, aggregate);
  // An extremum does not depend on the number of rows.
  if (state != AggregateState::kValue) {
    if (query.counting != JoinProjectCount::kNothing && query.counting != counting)
      return query.refuse(Refusal::kTwoCountings, aggregate);
    query.counting = counting;
  }
  if (state != AggregateState::kCount) query.finer = true;  // the node gives states, not results
  Node* argument = aggregate->args == NIL ? nullptr : node_of(linitial_node(TargetEntry, aggregate->args)->expr);
  if (state == AggregateState::kCount && argument != nullptr && is_never_null(root, query, argument)) argument = nullptr;
  auto* const condition = node_of(aggregate->aggfilter);
  for (Node* const input : {argument, condition})
    if (input != nullptr && !read_aggregate_input(root, query, input)) return false;
  // Its value is shown.
  if (state == AggregateState::kValue) query.looked_at = list_append_unique(query.looked_at, argument);
  query.aggregates = lappend(query.aggregates, aggregate);
  query.states = lappend_int(query.states, static_cast<int>(state));
  query.arguments = lappend(query.arguments, argument);
  query.conditions = lappend(query.conditions, condition);
  return true;
}

struct OutputCheck {
  PlannerInfo* root;
  JoinProjectQuery* query;
  const List* grouped;  // all expressions of GROUP BY or DISTINCT, also those that the planner has found to be constant
  const List* columns;  // see columns_of_groups()
};

/// Walks an output expression. @return true (stop) at an expression that the node cannot compute
bool is_unknown(Node* node, void* arg) {
  auto* const check = static_cast<OutputCheck*>(arg);
  if (node == nullptr || return_item(*check->query, node)) return false;
  if (IsA(node, Aggref)) return !add_aggregate(check->root, *check->query, castNode(Aggref, node));
  if (list_member(check->columns, node) || list_member(check->grouped, node))
    return !add_item(check->root, *check->query, node, 0);
  if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc) || IsA(node, WindowFunc))
    return !check->query->refuse(Refusal::kOutput, node);
  return expression_tree_walker(node, walker(is_unknown), arg);
}

bool read_output(PlannerInfo* root, JoinProjectQuery& query, List* having) {
  const Query* const parse = root->parse;
  const List* const grouped =
      get_sortgrouplist_exprs(parse->groupClause != NIL ? parse->groupClause : parse->distinctClause, root->processed_tlist);
  OutputCheck check{root, &query, grouped, columns_of_groups(root, grouped, having)};
  ListCell* cell;
  foreach (cell, query.target->exprs) {
    Node* const expression = node_of(lfirst(cell));
    if (contain_subplans(expression)) return query.refuse(Refusal::kSubplan, expression);
    if (is_unknown(expression, &check)) return false;
  }
  foreach (cell, having) {
    Node* const expression = node_of(lfirst(cell));
    if (!is_plain(expression)) return query.refuse(Refusal::kVolatileHaving, expression);
    if (is_unknown(expression, &check)) return false;
  }
  if (query.finer && query.adds_up) return query.refuse(Refusal::kFinerSums);
  if (query.finer && query.counting == JoinProjectCount::kKeys) return query.refuse(Refusal::kFinerKeys);
  return true;
}

/// Does it count all rows, or all keys, of a pair?
bool is_whole_count(const JoinProjectQuery& query, Node* expression) {
  if (query.adds_up) return counts_all_rows(query, expression);
  const ListCell* aggregate;
  const ListCell* argument;
  const ListCell* condition;
  forthree(aggregate, query.aggregates, argument, query.arguments, condition, query.conditions) {
    if (equal(lfirst(aggregate), expression))
      return castNode(Aggref, expression)->aggtype == INT8OID && lfirst(argument) == nullptr && lfirst(condition) == nullptr;
  }
  return false;
}

/// Might a parameter be the value of a subquery that must not run unless the server would run it?
bool may_be_volatile_subquery(const PlannerInfo* root, const Param* param) {
  if (param->paramkind != PARAM_EXEC) return false;
  for (; root != nullptr; root = root->parent_root) {
    const ListCell* cell;
    foreach (cell, root->init_plans) {
      const auto* const subplan = lfirst_node(SubPlan, cell);
      if (!list_member_int(subplan->setParam, param->paramid)) continue;
      const auto* const subroot = static_cast<const PlannerInfo*>(list_nth(root->glob->subroots, subplan->plan_id - 1));
      // Its own subqueries are plans already, which nobody looks into. The same is true of a WITH.
      const Query* const query = subroot->parse;
      const ListCell* entry;
      foreach (entry, query->rtable)
        if (lfirst_node(RangeTblEntry, entry)->rtekind == RTE_CTE) return true;
      return query->hasSubLinks || contain_volatile_functions(reinterpret_cast<Node*>(subroot->parse));
    }
  }
  return false;
}

}  // namespace

/// The bound is a constant or a parameter, which is computed once, also when there is no group. Another expression could raise an
/// error, or have an effect, that the server's plan has not.
bool take_threshold(const PlannerInfo* root, JoinProjectQuery& query, Expr* clause) {
  if (query.threshold != nullptr || !IsA(clause, OpExpr) || list_length(castNode(OpExpr, clause)->args) != 2) return false;
  const auto* const comparison = castNode(OpExpr, clause);
  Node* count = node_of(linitial(comparison->args));
  Node* bound = node_of(lsecond(comparison->args));
  Oid compares = comparison->opno;
  if (!is_whole_count(query, count)) {
    std::swap(count, bound);
    compares = get_commutator(compares);
  }
  if (!OidIsValid(compares) || !is_whole_count(query, count) || !(IsA(bound, Const) || IsA(bound, Param))) return false;
  const int strategy = get_op_opfamily_strategy(compares, INTEGER_BTREE_FAM_OID);
  if (strategy != BTGreaterEqualStrategyNumber && strategy != BTGreaterStrategyNumber) return false;
  if (IsA(bound, Param) && may_be_volatile_subquery(root, castNode(Param, bound))) return false;
  query.threshold = reinterpret_cast<Expr*>(as_int8(bound));
  query.threshold_excluded = strategy == BTGreaterStrategyNumber;
  return true;
}

namespace {

/// Is the side a subquery with a DISTINCT of keys and items alone?
bool is_made_distinct(const JoinProjectSide& side) {
  const RelOptInfo* const rel = side.rel;
  if (rel->rtekind != RTE_SUBQUERY || rel->subroot == nullptr) return false;
  const Query* const subquery = rel->subroot->parse;
  if (subquery->distinctClause == NIL || subquery->hasDistinctOn) return false;
  List* const expressions = list_concat_copy(side.keys, side.codes);
  const ListCell* cell;
  foreach (cell, subquery->targetList) {
    const auto* const column = lfirst_node(TargetEntry, cell);
    bool is_there = column->resjunk;
    const ListCell* expression;
    foreach (expression, expressions) {
      const auto* const var = static_cast<const Var*>(lfirst(expression));
      is_there |= IsA(var, Var) && static_cast<Index>(var->varno) == rel->relid && var->varattno == column->resno;
    }
    if (!is_there) return false;
  }
  return true;
}

/// Does a DISTINCT say that no key has the same items twice, or a unique index of one relation, to which the other relations of
/// the side add no rows? A row with a NULL key joins with nothing.
bool rows_are_distinct(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSide& side) {
  if (is_made_distinct(side)) return true;
  ListCell* cell;
  foreach (cell, side.codes)  // an index treats NULLs as different; here they form one group
    if (side.null_items_are_wanted && !is_not_null(root, node_of(lfirst(cell)))) return false;
  return is_unique_on(root, query, side);
}

/// Reads a block whose relations are divided.
bool recognize_division(PlannerInfo* root, const RelOptInfo* input, List* having, JoinProjectQuery& query) {
  const bool expands = query.expansion != nullptr;
  if (!add_grouped_items(root, query) || !(expands ? read_expansion(root, input, query) : read_join(root, input, query)) ||
      !read_output(root, query, having) || (expands && !complete_items(root, query)))
    return false;
  query.self_join = expands || make_copies(root, query);
  if (query.self_join) share_factors(query);
  find_unwanted_nulls(root, query);
  query.compared = list_copy(query.quals);
  take_order(query);
  if (expands) query.quals = list_concat(query.quals, query.expansion->of_answer);
  query.comparisons = list_length(query.quals);
  if (!query.finer) take_having(root, query, having);
  for (JoinProjectSide& side : query.sides) {
    side.codes = side.items;
    side.code_operators = side.item_operators;
    side.rows_with_lookups = side.rel->rows;
  }
  query.rows_repeat = !query.adds_up && rows_may_repeat(root, query);
  return true;
}

}  // namespace

void take_having(const PlannerInfo* root, JoinProjectQuery& query, List* having) {
  ListCell* cell;
  foreach (cell, having)
    if (!take_threshold(root, query, expr_of(cell))) query.quals = lappend(query.quals, lfirst(cell));
}

void take_limit(PlannerInfo* root, JoinProjectQuery& query) {
  if (query.finer || query.adds_up || query.quals != NIL) return;
  const std::optional<SortedLimit> wanted = sorted_limit(root);
  if (!wanted || !is_whole_count(query, wanted->sorted)) return;
  query.limit = wanted->limit;
  query.offset = wanted->offset;
}

bool rows_may_repeat(PlannerInfo* root, const JoinProjectQuery& query) {
  return query.counting == JoinProjectCount::kRows &&
         !(rows_are_distinct(root, query, query.sides[0]) && rows_are_distinct(root, query, query.sides[1]));
}

bool recognize_join_project(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                            JoinProjectQuery& query, bool adds_up) {
  query = {};
  query.adds_up = adds_up;
  if (!groups_rows(root, stage)) return query.refuse(Refusal::kNotGrouped);
  if (!is_plain_block(root, stage, input, query) || !relations_are_plain(root, query)) return false;
  const bool grouped = stage == UPPERREL_GROUP_AGG;
  query.target = grouped ? output->reltarget : root->upper_targets[UPPERREL_DISTINCT];
  query.groups = grouped ? group_clause(root) : distinct_clause(root);
  // With nothing left to group by, there are still no groups if there are no rows.
  if (query.groups == NIL) return query.refuse(Refusal::kNotGrouped);
  auto* const having = grouped ? reinterpret_cast<List*>(root->parse->havingQual) : NIL;
  const JoinProjectQuery block = query;
  List* const grouped_expressions = get_sortgrouplist_exprs(query.groups, root->processed_tlist);
  const ListCell* cell;
  foreach (cell, grouped_expressions)
    if (bms_is_subset(root->all_baserels, pull_varnos(root, node_of(lfirst(cell)))))
      return query.refuse(Refusal::kGroupReadsBoth, lfirst(cell));
  // The planner makes no path for a side that refers to the other one.
  List* const ways = root->hasLateralRTEs ? expansions(root) : divisions(root, grouped_expressions);
  foreach (cell, ways) {
    auto* sides = list_copy(static_cast<const List*>(lfirst(cell)));
    JoinProjectQuery divided = block;
    if (list_length(sides) == 3) {
      divided.expansion = static_cast<RowExpansion*>(linitial(sides));
      sides = list_delete_first(sides);
    }
    divided.refusal = query.refusal;
    divided.about = query.about;
    divided.sides[0].rel = static_cast<RelOptInfo*>(linitial(sides));
    divided.sides[1].rel = static_cast<RelOptInfo*>(lsecond(sides));
    if (recognize_division(root, input, having, divided)) {
      query = divided;
      if (grouped) take_limit(root, query);
      return true;
    }
    query.refusal = divided.refusal;
    query.about = divided.about;
  }
  return query.refuse(root->hasLateralRTEs && ways == NIL ? Refusal::kLateral : Refusal::kNoDivision);
}

}  // namespace batmap::pg
