// Reads calls of functions that return sets. See join_unnest.h.
#include "extension/plan/query/join_unnest.h"

#include <initializer_list>

#include "extension/plan/query/join_aggregates.h"
#include "extension/plan/query/join_items.h"
#include "extension/plan/query/join_sides.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// The call of an entry of the range table that is a function with one column of one value; nullptr: it is no such entry.
FuncExpr* call_of(PlannerInfo* root, int relation) {
  const RangeTblEntry* const entry = planner_rt_fetch(relation, root);
  if (entry->rtekind != RTE_FUNCTION || entry->funcordinality || list_length(entry->functions) != 1) return nullptr;
  const auto* const function = linitial_node(RangeTblFunction, entry->functions);
  if (!IsA(function->funcexpr, FuncExpr) || function->funccolcount != 1 || function->funccolnames != NIL) return nullptr;
  auto* const call = castNode(FuncExpr, function->funcexpr);
  const bool is_set = call->funcretset && get_func_prokind(call->funcid) == PROKIND_FUNCTION;
  return is_set && !type_is_rowtype(call->funcresulttype) && is_plain(function->funcexpr) ? call : nullptr;
}

bool is_within(PlannerInfo* root, Relids relids, Relids within) {
  return bms_is_subset(bms_intersect(relids, root->all_baserels), within);
}

/// Does no outer join, semi- or anti-join read one of the functions?
bool special_joins_are_within(PlannerInfo* root, Relids rows) {
  const ListCell* cell;
  foreach (cell, root->join_info_list) {
    const auto* const join = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    for (const Relids hand : {join->min_lefthand, join->min_righthand, join->syn_righthand})
      if (!is_within(root, hand, rows)) return false;
  }
  return true;
}

/// @return nullptr if the calls differ, or the planner has no path for the rest of the block
List* expansion_of(PlannerInfo* root, int left, int right) {
  FuncExpr* const call = call_of(root, left);
  if (call == nullptr || !equal(call, call_of(root, right))) return nullptr;
  const Relids called = bms_add_member(bms_make_singleton(left), right);
  const Relids rows = bms_difference(root->all_baserels, called);
  const Relids read = find_base_rel(root, left)->lateral_relids;
  if (bms_is_empty(read) || !is_within(root, read, rows) || !special_joins_are_within(root, rows)) return nullptr;
  auto* const expansion = static_cast<RowExpansion*>(palloc0(sizeof(RowExpansion)));
  expansion->rows = relation_of(root, rows);
  expansion->functions[0] = left;
  expansion->functions[1] = right;
  expansion->call = call;
  RelOptInfo* sides[2];
  for (int side = 0; side < 2; ++side)
    sides[side] = relation_of(root, bms_add_member(bms_copy(rows), expansion->functions[side]));
  if (expansion->rows == nullptr || sides[0] == nullptr || sides[1] == nullptr) return nullptr;
  return list_make3(expansion, sides[0], sides[1]);
}

/// The row of all relations as a number. Nothing computes it: the node counts the rows. EXPLAIN shows it.
Expr* row_number_of(PlannerInfo* root, const RelOptInfo* rows) {
  List* whole = NIL;
  const Relids relations = bms_intersect(rows->relids, root->all_baserels);
  for (int k = -1; (k = bms_next_member(relations, k)) >= 0;)
    whole = lappend(whole, makeWholeRowVar(planner_rt_fetch(k, root), k, 0, false));
  auto* row = static_cast<Expr*>(linitial(whole));
  if (list_length(whole) > 1) {
    auto* const tuple = makeNode(RowExpr);
    tuple->args = whole;
    tuple->row_typeid = RECORDOID;
    tuple->row_format = COERCE_IMPLICIT_CAST;
    tuple->location = -1;
    row = &tuple->xpr;
  }
  return &makeRelabelType(row, INT8OID, -1, InvalidOid, COERCE_EXPLICIT_CAST)->xpr;
}

// ---- conditions

Node* renamed(const RowExpansion& expansion, Node* expression, int from) {
  Node* const moved = static_cast<Node*>(copyObjectImpl(expression));
  ChangeVarNodes(moved, expansion.functions[from], expansion.functions[1 - from], 0);
  return moved;
}

/// Divides the conditions that read elements into those of each call and those between them.
bool read_conditions(PlannerInfo* root, const RelOptInfo* input, JoinProjectQuery& query, List* of_call[2], List*& between) {
  const RowExpansion& expansion = *query.expansion;
  RelOptInfo* functions[2];
  for (int side = 0; side < 2; ++side) functions[side] = find_base_rel(root, expansion.functions[side]);
  // An equality of an element with a value of the row is one of each call, or of one.
  List* all[3] = {NIL, NIL, join_equalities(root, input->relids, query.sides[0].rel->relids, functions[1])};
  for (int side = 0; side < 2; ++side)
    all[side] = list_concat(list_concat_copy(functions[side]->baserestrictinfo, functions[side]->joininfo),
                            join_equalities(root, query.sides[side].rel->relids, expansion.rows->relids, functions[side]));
  for (int from = 0; from < 3; ++from) {
    ListCell* cell;
    foreach (cell, all[from]) {
      const auto* const clause = lfirst_node(RestrictInfo, cell);
      if (clause->pseudoconstant || is_clone(clause)) return query.refuse(Refusal::kPseudoConstant, clause->clause);
      if (!is_plain(node_of(clause->clause))) return query.refuse(Refusal::kVolatileClause, clause->clause);
      const bool reads_both = bms_is_member(expansion.functions[0], clause->required_relids) &&
                              bms_is_member(expansion.functions[1], clause->required_relids);
      // One of both is in the lists of both functions.
      if (reads_both && from != 1) between = lappend(between, clause->clause);
      if (!reads_both && from < 2) of_call[from] = lappend(of_call[from], clause->clause);
    }
  }
  return true;
}

/// A condition that the node checks on rows of the answer. What it reads becomes an item.
bool add_condition_of_answer(PlannerInfo* root, JoinProjectQuery& query, Node* clause) {
  const Refusal refusal = query.refusal;
  Node* const about = query.about;
  if (!read_aggregate_input(root, query, clause)) {
    query.refusal = refusal;
    query.about = about;
    return query.refuse(Refusal::kOneCall, clause);
  }
  query.expansion->of_answer = lappend(query.expansion->of_answer, clause);
  return true;
}

struct CallInPlace {
  const RowExpansion* expansion;
};

Node* put_call(Node* node, void* arg) {
  const auto* const put = static_cast<const CallInPlace*>(arg);
  if (node == nullptr) return nullptr;
  if (IsA(node, Var) && castNode(Var, node)->varno == put->expansion->functions[0])
    return static_cast<Node*>(copyObjectImpl(put->expansion->call));
  return expression_tree_mutator(node, reinterpret_cast<Node* (*)()>(reinterpret_cast<void*>(put_call)), arg);
}

/// Adds a copy of an item of the other side, at the end.
void add_copy(PlannerInfo* root, JoinProjectQuery& query, int to, Node* copy, Oid equals) {
  JoinProjectSide& side = query.sides[to];
  // What reads the row only has one value for both sides.
  if (item_index(side, copy) < 0 && bms_is_member(query.expansion->functions[to], pull_varnos(root, copy)))
    query.finer = true;
  side.items = lappend(side.items, copy);
  side.item_operators = lappend_oid(side.item_operators, equals);
  side.item_refs = lappend_int(side.item_refs, kOnlyCompared);
}

/// Moves an item to the end.
void move_item(JoinProjectSide& side, int index) {
  side.items = lappend(side.items, list_nth(side.items, index));
  side.item_operators = lappend_oid(side.item_operators, list_nth_oid(side.item_operators, index));
  side.item_refs = lappend_int(side.item_refs, list_nth_int(side.item_refs, index));
  side.items = list_delete_nth_cell(side.items, index);
  side.item_operators = list_delete_nth_cell(side.item_operators, index);
  side.item_refs = list_delete_nth_cell(side.item_refs, index);
}

// ---- rows of which an expression is unique

bool is_unique_on(PlannerInfo* root, List* expressions, List* operators, RelOptInfo* rel) {
  JoinProjectSide side{};
  side.rel = rel;
  side.keys = expressions;
  JoinProjectQuery query{};
  query.key_operators = operators;
  return is_unique_on(root, query, side);
}

/// Has a relation at most one row for each row of others, by equalities with a unique index?
bool is_determined(PlannerInfo* root, int relation, Relids others) {
  List* columns = NIL;
  List* operators = NIL;
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (equivalence->ec_broken || is_below_outer_join(equivalence)) continue;
    bool has_other = equivalence->ec_has_const;
    Expr* column = nullptr;
    const ListCell* each;
    foreach (each, equivalence->ec_members) {
      const auto* const member = lfirst_node(EquivalenceMember, each);
      if (member->em_is_child || member->em_is_const) continue;
      has_other |= !bms_is_empty(member->em_relids) && bms_is_subset(member->em_relids, others);
      if (bms_equal(member->em_relids, bms_make_singleton(relation))) column = member->em_expr;
    }
    const Oid type = column == nullptr ? InvalidOid : exprType(reinterpret_cast<Node*>(column));
    const Oid equals = column == nullptr || !has_other ? InvalidOid
                                                       : get_opfamily_member(linitial_oid(equivalence->ec_opfamilies), type,
                                                                             type, BTEqualStrategyNumber);
    if (!OidIsValid(equals)) continue;
    columns = lappend(columns, column);
    operators = lappend_oid(operators, equals);
  }
  return columns != NIL && is_unique_on(root, columns, operators, find_base_rel(root, relation));
}

}  // namespace

List* expansions(PlannerInfo* root) {
  List* found = NIL;
  for (int a = -1; (a = bms_next_member(root->all_baserels, a)) >= 0;)
    for (int b = a; (b = bms_next_member(root->all_baserels, b)) >= 0;)
      if (List* const expansion = expansion_of(root, a, b); expansion != NIL) found = lappend(found, expansion);
  return found;
}

bool read_expansion(PlannerInfo* root, const RelOptInfo* input, JoinProjectQuery& query) {
  RowExpansion& expansion = *query.expansion;
  Expr* const number = row_number_of(root, expansion.rows);
  for (JoinProjectSide& side : query.sides) side.keys = list_make1(number);
  query.key_operators = list_make1_oid(get_opfamily_member(INTEGER_BTREE_FAM_OID, INT8OID, INT8OID, BTEqualStrategyNumber));

  List* of_call[2] = {NIL, NIL};
  List* between = NIL;
  if (!read_conditions(root, input, query, of_call, between)) return false;
  List* of_answer = of_call[0];
  ListCell* cell;
  foreach (cell, of_call[1]) {
    Node* const copy = renamed(expansion, node_of(lfirst(cell)), 1);
    if (list_member(of_answer, copy)) {
      of_answer = list_delete(of_answer, copy);
      expansion.conditions = lappend(expansion.conditions, copy);
    } else {
      of_answer = lappend(of_answer, lfirst(cell));
    }
  }
  // Conditions of one call come first: they may keep those of both from errors.
  foreach (cell, between)
    if (!add_comparison(root, query, static_cast<Expr*>(lfirst(cell)))) of_answer = lappend(of_answer, lfirst(cell));
  foreach (cell, of_answer)
    if (!add_condition_of_answer(root, query, node_of(lfirst(cell)))) return false;
  return true;
}

bool complete_items(PlannerInfo* root, JoinProjectQuery& query) {
  JoinProjectSide& left = query.sides[0];
  JoinProjectSide& right = query.sides[1];
  int rest = list_length(right.items);  // those at the front of the right side that have no copy yet
  for (int k = 0; k < list_length(left.items); ++k) {
    Node* const copy = renamed(*query.expansion, node_of(list_nth(left.items, k)), 0);
    const int index = item_index(right, copy);
    if (index >= 0 && index < rest) {
      move_item(right, index);
      --rest;
    } else {
      add_copy(root, query, 1, copy, list_nth_oid(left.item_operators, k));
    }
  }
  for (; rest > 0; --rest) {
    add_copy(root, query, 0, renamed(*query.expansion, node_of(linitial(right.items)), 1),
             linitial_oid(right.item_operators));
    move_item(right, 0);
  }
  if (left.items == NIL) return query.refuse(Refusal::kNoDivision);
  if (query.finer && query.counting == JoinProjectCount::kKeys) return query.refuse(Refusal::kFinerKeys);
  // Items are computed before conditions of the answer are checked, which may keep them from errors.
  if (query.expansion->of_answer == NIL) return true;
  const ListCell* cell;
  foreach (cell, left.items)
    if (!IsA(lfirst(cell), Var)) return query.refuse(Refusal::kOneCall, linitial(query.expansion->of_answer));
  return true;
}

bool numbers_rows(PlannerInfo* root, const JoinProjectQuery& query, Node* expression, Oid equals) {
  if (!is_not_null(root, expression)) return false;
  const RelOptInfo* const rows = query.expansion->rows;
  if (is_unique_on(root, list_make1(expression), list_make1_oid(equals), query.expansion->rows)) return true;
  // A relation of which the expression is unique, and others that have at most one row for each of its rows.
  const Relids all = bms_intersect(rows->relids, root->all_baserels);
  const int first = castNode(Var, expression)->varno;
  if (!is_unique_on(root, list_make1(expression), list_make1_oid(equals), find_base_rel(root, first))) return false;
  Relids determined = bms_make_singleton(first);
  for (bool found = true; found;) {
    found = false;
    const Relids rest = bms_difference(all, determined);
    for (int k = -1; (k = bms_next_member(rest, k)) >= 0;) {
      if (!is_determined(root, k, determined)) continue;
      determined = bms_add_member(determined, k);
      found = true;
    }
  }
  return bms_equal(determined, all);
}

double pair_instances(PlannerInfo* root, const JoinProjectQuery& query, double rows) {
  return rows / Max(clauselist_selectivity(root, query.expansion->of_answer, 0, JOIN_INNER, nullptr), 1e-6);
}

Node* with_call(const RowExpansion& expansion, Node* expression) {
  CallInPlace put{&expansion};
  return put_call(expression, &put);
}

}  // namespace batmap::pg
