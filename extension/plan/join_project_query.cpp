// Reads the structures of the planner. See join_project_query.h.
#include "extension/plan/join_project_query.h"

#include <utility>

#include "extension/input/key_column.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

Node* node_of(void* node) { return static_cast<Node*>(node); }
Expr* expr_of(ListCell* cell) { return static_cast<Expr*>(lfirst(cell)); }

bool is_deterministic(Oid collation) { return !OidIsValid(collation) || get_collation_isdeterministic(collation); }

/// The side that an expression reads, if it reads only one; else -1.
int side_of(PlannerInfo* root, const JoinProjectQuery& query, Node* expression) {
  const Relids relids = pull_varnos(root, expression);
  for (int side = 0; side < 2; ++side)
    if (bms_equal(relids, query.sides[side].rel->relids)) return side;
  return -1;
}

bool is_plain(Node* expression) { return !contain_volatile_functions(expression) && !contain_subplans(expression); }

/// An inner join of two base relations; nothing in the query depends on single rows of the join.
bool is_plain_join(const PlannerInfo* root, const RelOptInfo* input) {
  const Query* const parse = root->parse;
  return input->reloptkind == RELOPT_JOINREL && bms_equal(input->relids, root->all_baserels) &&
         bms_num_members(input->relids) == 2 && parse->commandType == CMD_SELECT && parse->rowMarks == NIL &&
         parse->groupingSets == NIL && !parse->hasTargetSRFs && parse->setOperations == nullptr &&
         root->join_info_list == NIL && root->placeholder_list == NIL && !root->hasLateralRTEs &&
         !root->hasPseudoConstantQuals && input->pathlist != NIL && !is_dummy_rel(const_cast<RelOptInfo*>(input));
}

/// Does a relation return the same rows each time it is read? Members are read only for the kind of entry
/// that they belong to, because Citus keeps numbers in the values_lists of tables.
bool rows_stay_the_same(const RangeTblEntry* entry) {
  switch (entry->rtekind) {
    case RTE_RELATION: return entry->tablesample == nullptr;
    case RTE_FUNCTION: return !contain_volatile_functions(node_of(entry->functions));
    case RTE_VALUES: return !contain_volatile_functions(node_of(entry->values_lists));
    default: return true;
  }
}

bool sides_are_plain(PlannerInfo* root, const JoinProjectQuery& query) {
  for (const JoinProjectSide& side : query.sides) {
    const Path* const path = side.rel->cheapest_total_path;
    if (side.rel->reloptkind != RELOPT_BASEREL || path == nullptr || path->param_info != nullptr) return false;
    if (!rows_stay_the_same(planner_rt_fetch(side.rel->relid, root))) return false;
    ListCell* cell;
    foreach (cell, side.rel->baserestrictinfo)
      if (!is_plain(node_of(lfirst_node(RestrictInfo, cell)->clause))) return false;
  }
  return true;
}

// ---- items: what the query groups by

/// Is it the equality that the hash tables of the extension use?
bool is_default_equality(Oid equals, Oid type) { return lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr == equals; }

bool add_item(PlannerInfo* root, JoinProjectQuery& query, const SortGroupClause* clause) {
  Node* const expression = get_sortgroupclause_expr(const_cast<SortGroupClause*>(clause), root->processed_tlist);
  const int side = side_of(root, query, expression);
  if (side < 0 || !clause->hashable || !is_default_equality(clause->eqop, exprType(expression)) || !is_plain(expression) ||
      !is_deterministic(exprCollation(expression)))
    return false;
  query.sides[side].items = lappend(query.sides[side].items, expression);
  query.sides[side].item_operators = lappend_oid(query.sides[side].item_operators, clause->eqop);
  return true;
}

bool add_items(PlannerInfo* root, JoinProjectQuery& query, List* clauses) {
  ListCell* cell;
  foreach (cell, clauses)
    if (!add_item(root, query, lfirst_node(SortGroupClause, cell))) return false;
  return query.sides[0].items != NIL && query.sides[1].items != NIL;
}

bool is_item(const JoinProjectQuery& query, Node* expression) {
  return list_member(query.sides[0].items, expression) || list_member(query.sides[1].items, expression);
}

/// A column that is declared NOT NULL, of a table that is read alone: children of a table, and foreign
/// servers, may lack the constraint.
bool is_not_null(PlannerInfo* root, Node* expression) {
  if (!IsA(expression, Var)) return false;
  const auto* const var = castNode(Var, expression);
  const RangeTblEntry* const entry = planner_rt_fetch(var->varno, root);
  if (entry->rtekind != RTE_RELATION || entry->inh || entry->relkind == RELKIND_FOREIGN_TABLE || var->varattno <= 0)
    return false;
  return is_declared_not_null(root, var);
}

// ---- keys: what the query joins by

Node* as_int8(Node* expression) {
  switch (getBaseType(exprType(expression))) {
    case INT2OID:
      return node_of(
          makeFuncExpr(F_INT8_INT2, INT8OID, list_make1(expression), InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST));
    case INT4OID:
      return node_of(
          makeFuncExpr(F_INT8_INT4, INT8OID, list_make1(expression), InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST));
    default: return expression;
  }
}

/// Adds an equality of one value of each side as a key.
bool add_key(JoinProjectQuery& query, const RestrictInfo* clause) {
  if (!clause->can_join || !OidIsValid(clause->hashjoinoperator) || !IsA(clause->clause, OpExpr)) return false;
  const auto* const equality = castNode(OpExpr, clause->clause);
  const bool straight = bms_equal(clause->left_relids, query.sides[0].rel->relids) &&
                        bms_equal(clause->right_relids, query.sides[1].rel->relids);
  const bool turned = bms_equal(clause->left_relids, query.sides[1].rel->relids) &&
                      bms_equal(clause->right_relids, query.sides[0].rel->relids);
  if (!straight && !turned) return false;
  Node* keys[2] = {node_of(linitial(equality->args)), node_of(lsecond(equality->args))};
  if (turned) std::swap(keys[0], keys[1]);
  const Oid types[2] = {exprType(keys[0]), exprType(keys[1])};
  Oid equals = equality->opno;
  if (types[0] != types[1]) {
    if (!is_integer(types[0]) || !is_integer(types[1]) || !op_in_opfamily(equals, INTEGER_BTREE_FAM_OID)) return false;
    for (Node*& key : keys) key = as_int8(key);
    equals = get_opfamily_member(INTEGER_BTREE_FAM_OID, INT8OID, INT8OID, BTEqualStrategyNumber);
  }
  if (!is_default_equality(equals, exprType(keys[0]))) return false;
  if (!is_plain(keys[0]) || !is_plain(keys[1]) || !is_deterministic(equality->inputcollid) ||
      !is_deterministic(exprCollation(keys[0])) || !is_deterministic(exprCollation(keys[1])))
    return false;
  for (int side = 0; side < 2; ++side) query.sides[side].keys = lappend(query.sides[side].keys, keys[side]);
  query.key_operators = lappend_oid(query.key_operators, equals);
  return true;
}

/// The operand of a comparison without casts that change nothing: varchar is compared as text.
Node* compared(void* argument) {
  Node* expression = node_of(argument);
  while (IsA(expression, RelabelType)) expression = node_of(castNode(RelabelType, expression)->arg);
  return expression;
}

/// A comparison of two items that gives the same result for equal values, so that it can be made
/// after the grouping.
bool compares_items(const JoinProjectQuery& query, Expr* clause) {
  if (!IsA(clause, OpExpr) || list_length(castNode(OpExpr, clause)->args) != 2) return false;
  const auto* const comparison = castNode(OpExpr, clause);
  if (!is_deterministic(comparison->inputcollid) || !op_strict(comparison->opno)) return false;
  ListCell* argument;
  foreach (argument, comparison->args) {
    Node* const expression = compared(lfirst(argument));
    if (!is_item(query, expression)) return false;
    // The order must belong to the equality that forms the groups.
    const TypeCacheEntry* const type = lookup_type_cache(exprType(expression), TYPECACHE_BTREE_OPFAMILY);
    bool found = false;
    ListCell* cell;
    foreach (cell, operator_families(comparison->opno))
      found |= static_cast<OperatorFamily*>(lfirst(cell))->opfamily_id == type->btree_opf;
    if (!found) return false;
  }
  return true;
}

/// Reads the clauses that join the two relations: keys, and comparisons that are checked on the rows
/// of the answer.
bool read_join(PlannerInfo* root, const RelOptInfo* input, JoinProjectQuery& query) {
  RelOptInfo* const left = query.sides[0].rel;
  RelOptInfo* const right = query.sides[1].rel;
  List* const clauses = list_concat_copy(left->joininfo, join_equalities(root, input->relids, left->relids, right));
  ListCell* cell;
  foreach (cell, clauses) {
    const auto* const clause = lfirst_node(RestrictInfo, cell);
    if (clause->pseudoconstant) return false;
    if (add_key(query, clause)) continue;
    if (!compares_items(query, clause->clause)) return false;
    query.quals = lappend(query.quals, clause->clause);
  }
  return query.key_operators != NIL;
}

// ---- self-joins

/// Is `right` the same expression of the right relation as `left` is of the left one?
bool is_mirrored(const JoinProjectQuery& query, Node* left, Node* right) {
  Node* const moved = static_cast<Node*>(copyObjectImpl(right));
  ChangeVarNodes(moved, static_cast<int>(query.sides[1].rel->relid), static_cast<int>(query.sides[0].rel->relid), 0);
  return equal(left, moved);
}

bool are_mirrored(const JoinProjectQuery& query, const List* left, const List* right) {
  if (list_length(left) != list_length(right)) return false;
  const ListCell* a;
  const ListCell* b;
  forboth(a, left, b, right) if (!is_mirrored(query, node_of(lfirst(a)), node_of(lfirst(b)))) return false;
  return true;
}

/// Does each left condition have its mirror image among the right ones, and vice versa?
bool are_mirrored_sets(const JoinProjectQuery& query, const List* left, const List* right) {
  Bitmapset* matched = nullptr;  // indexes of right conditions
  const ListCell* a;
  foreach (a, left) {
    bool found = false;
    const ListCell* b;
    foreach (b, right) {
      if (!is_mirrored(query, node_of(lfirst_node(RestrictInfo, a)->clause), node_of(lfirst_node(RestrictInfo, b)->clause)))
        continue;
      found = true;
      matched = bms_add_member(matched, foreach_current_index(b));
    }
    if (!found) return false;
  }
  return bms_num_members(matched) == list_length(right);
}

bool is_self_join(PlannerInfo* root, const JoinProjectQuery& query) {
  const RangeTblEntry* const left = planner_rt_fetch(query.sides[0].rel->relid, root);
  const RangeTblEntry* const right = planner_rt_fetch(query.sides[1].rel->relid, root);
  if (left->rtekind != right->rtekind) return false;
  if (left->rtekind == RTE_CTE) {
    if (strcmp(left->ctename, right->ctename) != 0 || left->ctelevelsup != right->ctelevelsup || left->self_reference)
      return false;
  } else if (left->rtekind != RTE_RELATION || left->relid != right->relid || left->inh != right->inh ||
             checked_user(root, left) != checked_user(root, right)) {
    return false;
  }
  return are_mirrored_sets(query, query.sides[0].rel->baserestrictinfo, query.sides[1].rel->baserestrictinfo) &&
         are_mirrored(query, query.sides[0].keys, query.sides[1].keys) &&
         are_mirrored(query, query.sides[0].items, query.sides[1].items);
}

/// If the only clause that is left orders the two items of a self-join by their type, turns it into `order`.
void take_order(JoinProjectQuery& query) {
  if (!query.self_join || list_length(query.quals) != 1 || list_length(query.sides[0].items) != 1) return;
  const auto* const comparison = linitial_node(OpExpr, query.quals);
  Node* const items[2] = {node_of(linitial(query.sides[0].items)), node_of(linitial(query.sides[1].items))};
  Node* const first = compared(linitial(comparison->args));
  Node* const second = compared(lsecond(comparison->args));
  const bool straight = equal(first, items[0]) && equal(second, items[1]);
  const bool turned = equal(first, items[1]) && equal(second, items[0]);
  if (!straight && !turned) return;
  const TypeCacheEntry* const type = lookup_type_cache(exprType(items[0]), TYPECACHE_BTREE_OPFAMILY);
  if (comparison->inputcollid != exprCollation(items[0])) return;
  const int strategy = get_op_opfamily_strategy(comparison->opno, type->btree_opf);
  if (strategy != BTLessStrategyNumber && strategy != BTGreaterStrategyNumber) return;
  query.order = (strategy == BTLessStrategyNumber) == straight ? ItemOrder::kLeftSmaller : ItemOrder::kLeftLarger;
  query.quals = NIL;
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

// ---- counts

/// How count(x) depends on x. @return 0: it counts every row; 1 + side: it counts rows whose item on that
/// side is not NULL; -1: anything else
int null_rule(PlannerInfo* root, const JoinProjectQuery& query, Node* counted) {
  if (IsA(counted, Const) && !castNode(Const, counted)->constisnull) return 0;
  if (is_not_null(root, counted)) return 0;
  for (int side = 0; side < 2; ++side) {
    if (list_member(query.sides[side].keys, counted)) return 0;
    if (list_length(query.sides[side].items) == 1 && equal(linitial(query.sides[side].items), counted)) return 1 + side;
  }
  return -1;
}

bool add_aggregate(PlannerInfo* root, JoinProjectQuery& query, Aggref* aggregate) {
  if (list_member(query.aggregates, aggregate)) return true;
  if (aggregate->aggfilter != nullptr || aggregate->aggorder != NIL || aggregate->agglevelsup != 0) return false;
  JoinProjectCount counting = JoinProjectCount::kRows;
  int rule = 0;
  if (aggregate->aggfnoid == F_COUNT_ANY) {
    Node* const counted = node_of(linitial_node(TargetEntry, aggregate->args)->expr);
    if (aggregate->aggdistinct != NIL) {
      counting = JoinProjectCount::kKeys;
      if (list_length(query.key_operators) != 1) return false;
      if (!equal(counted, linitial(query.sides[0].keys)) && !equal(counted, linitial(query.sides[1].keys))) return false;
      if (!equality_ops_are_compatible(linitial_node(SortGroupClause, aggregate->aggdistinct)->eqop,
                                       linitial_oid(query.key_operators)))
        return false;
    } else {
      rule = null_rule(root, query, counted);
      if (rule < 0) return false;
    }
  } else if (aggregate->aggfnoid != F_COUNT_) {
    return false;
  }
  if (query.counting != JoinProjectCount::kNothing && query.counting != counting) return false;
  query.counting = counting;
  query.aggregates = lappend(query.aggregates, aggregate);
  query.null_when = lappend_int(query.null_when, rule);
  return true;
}

struct OutputCheck {
  PlannerInfo* root;
  JoinProjectQuery* query;
};

/// Walks an output expression. @return true (stop) at an expression that the node cannot compute
bool is_unknown(Node* node, void* arg) {
  auto* const check = static_cast<OutputCheck*>(arg);
  if (node == nullptr || is_item(*check->query, node)) return false;
  if (IsA(node, Aggref)) return !add_aggregate(check->root, *check->query, castNode(Aggref, node));
  if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc) || IsA(node, WindowFunc)) return true;
  return expression_tree_walker(node, reinterpret_cast<bool (*)()>(reinterpret_cast<void*>(is_unknown)), arg);
}

bool read_output(PlannerInfo* root, JoinProjectQuery& query, List* having) {
  OutputCheck check{root, &query};
  ListCell* cell;
  foreach (cell, query.target->exprs)
    if (contain_subplans(node_of(lfirst(cell))) || is_unknown(node_of(lfirst(cell)), &check)) return false;
  foreach (cell, having)
    if (!is_plain(node_of(lfirst(cell))) || is_unknown(node_of(lfirst(cell)), &check)) return false;
  return true;
}

/// Does it count all rows, or all keys, of a pair?
bool is_whole_count(const JoinProjectQuery& query, Node* expression) {
  ListCell* aggregate;
  ListCell* rule;
  forboth(aggregate, query.aggregates, rule,
          query.null_when) if (equal(lfirst(aggregate), expression)) return lfirst_int(rule) == 0;
  return false;
}

/// Does the value stay the same during a run?
bool is_fixed(PlannerInfo* root, Node* expression) {
  return bms_is_empty(pull_varnos(root, expression)) && !contain_agg_clause(expression) && is_plain(expression);
}

/// Takes `count >= k` or `count > k` as the threshold of the engine; k is a constant or a parameter. Another
/// expression could raise an error, also when there is no group for which the server would evaluate it.
bool take_threshold(JoinProjectQuery& query, Expr* clause) {
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
  query.threshold = reinterpret_cast<Expr*>(as_int8(bound));
  query.threshold_excluded = strategy == BTGreaterStrategyNumber;
  return true;
}

/// Takes ORDER BY count DESC LIMIT n, if all rows of the node go into that sort.
void take_limit(PlannerInfo* root, JoinProjectQuery& query) {
  const Query* const parse = root->parse;
  if (query.quals != NIL || parse->sortClause == NIL || parse->limitCount == nullptr || parse->distinctClause != NIL ||
      parse->hasWindowFuncs)
    return;
  const auto* const first = linitial_node(SortGroupClause, parse->sortClause);
  Node* const sorted = get_sortgroupclause_expr(const_cast<SortGroupClause*>(first), root->processed_tlist);
  if (!is_whole_count(query, sorted) ||
      get_op_opfamily_strategy(first->sortop, INTEGER_BTREE_FAM_OID) != BTGreaterStrategyNumber)
    return;
  if (!is_fixed(root, parse->limitCount) || (parse->limitOffset != nullptr && !is_fixed(root, parse->limitOffset))) return;
  query.limit = parse->limitCount;
  query.offset = parse->limitOffset;
}

/// Does a unique index say that no key has the same item twice? A row with a NULL key joins with nothing.
bool rows_are_distinct(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSide& side) {
  if (planner_rt_fetch(side.rel->relid, root)->rtekind != RTE_RELATION) return false;
  ListCell* cell;
  foreach (cell, side.items)  // an index treats NULLs as different; here they form one group
    if (side.null_items_are_wanted && !is_not_null(root, node_of(lfirst(cell)))) return false;
  return relation_has_unique_index_for(root, side.rel, NIL, list_concat_copy(side.keys, side.items),
                                       list_concat_copy(query.key_operators, side.item_operators));
}

}  // namespace

bool recognize_join_project(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                            JoinProjectQuery& query) {
  if (!is_plain_join(root, input)) return false;
  const Query* const parse = root->parse;
  const bool grouped = stage == UPPERREL_GROUP_AGG;
  if (grouped ? parse->groupClause == NIL
              : parse->hasDistinctOn || parse->groupClause != NIL || parse->hasAggs || parse->hasWindowFuncs ||
                    parse->havingQual != nullptr)
    return false;

  query = {};
  const int left = bms_next_member(input->relids, -1);
  query.sides[0].rel = find_base_rel(root, left);
  query.sides[1].rel = find_base_rel(root, bms_next_member(input->relids, left));
  query.target = grouped ? output->reltarget : root->upper_targets[UPPERREL_DISTINCT];
  auto* const having = grouped ? reinterpret_cast<List*>(parse->havingQual) : NIL;
  if (!sides_are_plain(root, query) || !add_items(root, query, grouped ? parse->groupClause : parse->distinctClause) ||
      !read_join(root, input, query) || !read_output(root, query, having))
    return false;
  find_unwanted_nulls(root, query);
  query.self_join = is_self_join(root, query);
  take_order(query);
  ListCell* cell;
  foreach (cell, having)
    if (!take_threshold(query, expr_of(cell))) query.quals = lappend(query.quals, lfirst(cell));
  if (grouped) take_limit(root, query);
  query.rows_repeat = query.counting == JoinProjectCount::kRows &&
                      !(rows_are_distinct(root, query, query.sides[0]) && rows_are_distinct(root, query, query.sides[1]));
  return true;
}

}  // namespace batmap::pg
