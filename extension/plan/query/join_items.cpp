// Reads expressions and clauses of the planner. See join_items.h.
#include "extension/plan/query/join_items.h"

#include <utility>

#include "extension/input/key_column.h"
#include "extension/plan/query/join_sides.h"
#include "extension/server/equality.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

bool append_item(PlannerInfo* root, JoinProjectQuery& query, Node* expression, Oid equals, int ref) {
  const int side = side_of(root, query, expression);
  if (side < 0) return query.refuse(Refusal::kGroupReadsBoth, expression);
  if (!is_plain(expression)) return query.refuse(Refusal::kGroupVolatile, expression);
  const Oid type = exprType(expression);
  if (!is_own_equality(equals, type, exprCollation(expression)) || !op_hashjoinable(equals, type))
    return query.refuse(Refusal::kGroupEquality, expression);
  query.sides[side].items = lappend(query.sides[side].items, expression);
  query.sides[side].item_operators = lappend_oid(query.sides[side].item_operators, equals);
  query.sides[side].item_refs = lappend_int(query.sides[side].item_refs, ref);
  return true;
}

}  // namespace

// ---- keys: what the query joins by

bool add_key(JoinProjectQuery& query, const RestrictInfo* clause) {
  if (!clause->can_join || !OidIsValid(clause->hashjoinoperator) || !IsA(clause->clause, OpExpr)) return false;
  const auto* const equality = castNode(OpExpr, clause->clause);
  const Relids left = query.sides[0].rel->relids;
  const Relids right = query.sides[1].rel->relids;
  const bool straight = bms_is_subset(clause->left_relids, left) && bms_is_subset(clause->right_relids, right);
  const bool turned = bms_is_subset(clause->left_relids, right) && bms_is_subset(clause->right_relids, left);
  if (!straight && !turned) return false;
  Node* keys[2] = {node_of(linitial(equality->args)), node_of(lsecond(equality->args))};
  if (!straight) std::swap(keys[0], keys[1]);
  const Oid types[2] = {exprType(keys[0]), exprType(keys[1])};
  Oid equals = equality->opno;
  if (types[0] != types[1]) {
    if (!is_integer(types[0]) || !is_integer(types[1]) || !op_in_opfamily(equals, INTEGER_BTREE_FAM_OID)) return false;
    for (Node*& key : keys) key = as_int8(key);
    equals = get_opfamily_member(INTEGER_BTREE_FAM_OID, INT8OID, INT8OID, BTEqualStrategyNumber);
  }
  if (!is_own_equality(equals, exprType(keys[0]), equality->inputcollid)) return false;
  if (!is_plain(keys[0]) || !is_plain(keys[1]) || !is_deterministic(exprCollation(keys[0])) ||
      !is_deterministic(exprCollation(keys[1])))
    return false;
  for (int side = 0; side < 2; ++side) query.sides[side].keys = lappend(query.sides[side].keys, keys[side]);
  query.key_operators = lappend_oid(query.key_operators, equals);
  return true;
}

namespace {

// ---- comparisons

/// Must a comparison give the same result for values that are equal by the equality of their type? Its
/// operator must belong to the same order.
bool respects_equality(Oid comparison, Oid type) {
  const Oid family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
  bool found = false;
  ListCell* cell;
  foreach (cell, operator_families(comparison)) found |= static_cast<OperatorFamily*>(lfirst(cell))->opfamily_id == family;
  return found;
}

}  // namespace

int side_of(PlannerInfo* root, const JoinProjectQuery& query, Node* expression) {
  const Relids relids = pull_varnos(root, expression);
  if (bms_is_empty(relids)) return -1;
  for (int side = 0; side < 2; ++side)
    if (bms_is_subset(relids, query.sides[side].rel->relids)) return side;
  return -1;
}

int item_index(const JoinProjectSide& side, Node* expression) {
  const ListCell* cell;
  foreach (cell, side.items)
    if (equal(lfirst(cell), expression)) return foreach_current_index(cell);
  return -1;
}

bool is_item(const JoinProjectQuery& query, Node* expression) {
  return item_index(query.sides[0], expression) >= 0 || item_index(query.sides[1], expression) >= 0;
}

bool return_item(JoinProjectQuery& query, Node* expression) {
  for (JoinProjectSide& side : query.sides) {
    const int index = item_index(side, expression);
    if (index < 0) continue;
    ListCell* const ref = list_nth_cell(side.item_refs, index);
    if (lfirst_int(ref) == kOnlyCompared) lfirst_int(ref) = 0;
    return true;
  }
  return false;
}

bool add_grouped_items(PlannerInfo* root, JoinProjectQuery& query) {
  ListCell* cell;
  foreach (cell, query.groups) {
    auto* const group = lfirst_node(SortGroupClause, cell);
    Node* const expression = get_sortgroupclause_expr(group, root->processed_tlist);
    if (!append_item(root, query, expression, group->hashable ? group->eqop : InvalidOid,
                     static_cast<int>(group->tleSortGroupRef)))
      return false;
  }
  // The calls of an expansion get what only one of them has.
  return query.expansion != nullptr || (query.sides[0].items != NIL && query.sides[1].items != NIL);
}

bool add_item(PlannerInfo* root, JoinProjectQuery& query, Node* expression, int ref) {
  return append_item(root, query, expression, lookup_type_cache(exprType(expression), TYPECACHE_EQ_OPR)->eq_opr, ref);
}

bool add_comparison(PlannerInfo* root, JoinProjectQuery& query, Expr* clause) {
  if (!IsA(clause, OpExpr) || list_length(castNode(OpExpr, clause)->args) != 2) return false;
  const auto* const comparison = castNode(OpExpr, clause);
  if (!is_deterministic(comparison->inputcollid) || !op_strict(comparison->opno) || !is_plain(node_of(clause))) return false;
  ListCell* cell;
  foreach (cell, comparison->args)
    if (!respects_equality(comparison->opno, exprType(compared(lfirst(cell))))) return false;
  foreach (cell, comparison->args) {
    Node* const operand = compared(lfirst(cell));
    if (is_item(query, operand)) continue;
    if (side_of(root, query, operand) < 0 || !add_item(root, query, operand, kOnlyCompared)) return false;
    query.finer = true;
  }
  query.quals = lappend(query.quals, clause);
  return true;
}

bool read_join(PlannerInfo* root, const RelOptInfo* input, JoinProjectQuery& query) {
  RelOptInfo* const left = query.sides[0].rel;
  RelOptInfo* const right = query.sides[1].rel;
  List* const clauses = list_concat_copy(left->joininfo, join_equalities(root, input->relids, left->relids, right));
  ListCell* cell;
  foreach (cell, clauses) {
    const auto* const clause = lfirst_node(RestrictInfo, cell);
    if (clause->pseudoconstant || is_clone(clause)) return query.refuse(Refusal::kPseudoConstant, clause->clause);
    if (add_key(query, clause)) continue;
    if (!add_comparison(root, query, clause->clause))
      return query.refuse(clause->can_join ? Refusal::kKeyEquality : Refusal::kClause, clause->clause);
  }
  if (query.key_operators == NIL) return query.refuse(Refusal::kNoKey);
  return true;
}

Node* compared(void* argument) {
  Node* expression = node_of(argument);
  while (IsA(expression, RelabelType)) expression = node_of(castNode(RelabelType, expression)->arg);
  return expression;
}

bool read_condition(Oid operation, Oid type, PairCondition& condition) {
  if (!OidIsValid(operation)) return false;
  const Oid order = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
  switch (get_op_opfamily_strategy(operation, order)) {
    case BTLessStrategyNumber: condition = PairCondition::kLess; return true;
    case BTLessEqualStrategyNumber: condition = PairCondition::kLessEqual; return true;
    case BTGreaterStrategyNumber: condition = PairCondition::kGreater; return true;
    case BTGreaterEqualStrategyNumber: condition = PairCondition::kGreaterEqual; return true;
    default: break;
  }
  const Oid negation = get_negator(operation);
  if (!OidIsValid(negation) || get_op_opfamily_strategy(negation, order) != BTEqualStrategyNumber) return false;
  condition = PairCondition::kNotEqual;
  return true;
}

/// A column that is declared NOT NULL, of a table that is read alone: children of a table, and foreign
/// servers, may lack the constraint.
bool is_not_null(PlannerInfo* root, Node* expression) {
  if (!IsA(expression, Var)) return false;
  const auto* const var = castNode(Var, expression);
  const RangeTblEntry* const entry = planner_rt_fetch(var->varno, root);
  if (entry->rtekind != RTE_RELATION || entry->inh || entry->relkind == RELKIND_FOREIGN_TABLE || var->varattno <= 0 ||
      is_nullable_by_join(root, var))
    return false;
  return is_declared_not_null(root, var);
}

bool is_key(PlannerInfo* root, const JoinProjectQuery& query, Node* expression) {
  for (const JoinProjectSide& side : query.sides) {
    const ListCell* cell;
    foreach (cell, side.keys)
      if (equal(lfirst(cell), expression) || are_equivalent(root, node_of(lfirst(cell)), expression, side.rel->relids))
        return true;
  }
  return false;
}

namespace {

struct ColumnWalk {
  const List* grouped;
  List* columns;
};

bool add_columns_of_groups(Node* node, void* arg) {
  auto* const walk = static_cast<ColumnWalk*>(arg);
  if (node == nullptr || IsA(node, Aggref) || list_member(walk->grouped, node)) return false;
  if (IsA(node, Var)) walk->columns = list_append_unique(walk->columns, node);
  return expression_tree_walker(node, walker(add_columns_of_groups), arg);
}

}  // namespace

List* columns_of_groups(PlannerInfo* root, const List* grouped, List* having) {
  ColumnWalk walk{grouped, NIL};
  expression_tree_walker(reinterpret_cast<Node*>(root->processed_tlist), walker(add_columns_of_groups), &walk);
  expression_tree_walker(reinterpret_cast<Node*>(having), walker(add_columns_of_groups), &walk);
  return walk.columns;
}

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

}  // namespace batmap::pg
