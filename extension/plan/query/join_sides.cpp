// Divides relations and compares sides. See join_sides.h.
#include "extension/plan/query/join_sides.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// ---- divisions

/// Do all special joins (outer, semi- and anti-joins) stay within one of the two sides?
bool special_joins_fit(const PlannerInfo* root, Relids left, Relids right) {
  const ListCell* cell;
  foreach (cell, root->join_info_list) {
    const auto* const join = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    const Relids relations = base_of(root, bms_union(join->min_lefthand, join->min_righthand));
    if (!bms_is_subset(relations, left) && !bms_is_subset(relations, right)) return false;
  }
  return true;
}

/// Does each grouped expression read one side only, and does each side have one?
bool groups_fit(const List* groups, Relids left, Relids right) {
  bool has_left = false;
  bool has_right = false;
  const ListCell* cell;
  foreach (cell, groups) {
    auto* const relations = static_cast<Bitmapset*>(lfirst(cell));
    const bool is_left = bms_is_subset(relations, left);
    if (!is_left && !bms_is_subset(relations, right)) return false;
    (is_left ? has_left : has_right) = true;
  }
  return has_left && has_right;
}

}  // namespace

Relids base_of(const PlannerInfo* root, Relids relids) { return bms_intersect(relids, root->all_baserels); }

RelOptInfo* relation_of(PlannerInfo* root, Relids base) {
  int single;
  RelOptInfo* const relation = bms_get_singleton_member(base, &single) ? find_base_rel(root, single)
                                                                       : find_join_rel(root, with_outer_joins(root, base));
  if (relation == nullptr || relation->cheapest_total_path == nullptr ||
      relation->cheapest_total_path->param_info != nullptr || is_dummy_rel(relation))
    return nullptr;
  return relation;
}

namespace {

double rows_of(const ListCell* division) {
  const auto* const sides = static_cast<const List*>(lfirst(division));
  return static_cast<const RelOptInfo*>(linitial(sides))->rows + static_cast<const RelOptInfo*>(lsecond(sides))->rows;
}

int by_rows(const ListCell* a, const ListCell* b) {
  const double difference = rows_of(a) - rows_of(b);
  return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

// ---- copies

/// How relations of the right side are renamed to those of the left side.
struct Renaming {
  int relations = 0;
  int left[kMaxRelations];
  int right[kMaxRelations];

  Node* renamed(Node* expression) const {
    Node* const moved = static_cast<Node*>(copyObjectImpl(expression));
    for (int k = 0; k < relations; ++k) ChangeVarNodes(moved, right[k], left[k], 0);
    return moved;
  }

  Relids renamed(Relids relids) const {
    Relids moved = bms_copy(relids);
    for (int k = 0; k < relations; ++k)
      if (bms_is_member(right[k], relids)) moved = bms_add_member(bms_del_member(moved, right[k]), left[k]);
    return moved;
  }
};

bool are_copies(const Renaming& renaming, const List* left, const List* right) {
  if (list_length(left) != list_length(right)) return false;
  const ListCell* a;
  const ListCell* b;
  forboth(a, left, b, right) if (!equal(lfirst(a), renaming.renamed(static_cast<Node*>(lfirst(b))))) return false;
  return true;
}

/// The same, in any order.
bool are_copied_sets(const Renaming& renaming, const List* left, const List* right) {
  if (list_length(left) != list_length(right)) return false;
  List* rest = list_copy(left);
  const ListCell* cell;
  foreach (cell, right) {
    Node* const moved = renaming.renamed(static_cast<Node*>(lfirst(cell)));
    if (!list_member(rest, moved)) return false;
    rest = list_delete(rest, moved);
  }
  return true;
}

/// Do two entries of the range table stand for the same rows?
bool are_same_rows(PlannerInfo* root, int left, int right) {
  const RangeTblEntry* const a = planner_rt_fetch(left, root);
  const RangeTblEntry* const b = planner_rt_fetch(right, root);
  if (a->rtekind != b->rtekind) return false;
  if (a->rtekind == RTE_CTE)
    return strcmp(a->ctename, b->ctename) == 0 && a->ctelevelsup == b->ctelevelsup && !a->self_reference;
  return a->rtekind == RTE_RELATION && a->relid == b->relid && a->inh == b->inh &&
         checked_user(root, a) == checked_user(root, b);
}

/// Pairs each relation of the left side with the first one on the right that has the same rows. What finds no partner goes to
/// `rest`.
Renaming pair_relations(PlannerInfo* root, Relids left, Relids right, Relids rest[2]) {
  Renaming renaming;
  rest[0] = bms_difference(left, right);
  rest[1] = bms_difference(right, left);
  for (int a = -1; (a = bms_next_member(bms_difference(left, right), a)) >= 0;) {
    for (int b = -1; (b = bms_next_member(rest[1], b)) >= 0;) {
      if (!are_same_rows(root, a, b)) continue;
      renaming.left[renaming.relations] = a;
      renaming.right[renaming.relations++] = b;
      rest[0] = bms_del_member(rest[0], a);
      rest[1] = bms_del_member(rest[1], b);
      break;
    }
  }
  return renaming;
}

/// The conditions of a list that read relations of a side only.
List* conditions_within(List* restrictions, Relids side, List* conditions) {
  ListCell* cell;
  foreach (cell, restrictions)
    if (bms_is_subset(lfirst_node(RestrictInfo, cell)->required_relids, side))
      conditions = list_append_unique_ptr(conditions, lfirst(cell));
  return conditions;
}

/// All conditions within a side but equivalences: a list of RestrictInfo.
List* conditions_of(PlannerInfo* root, Relids side) {
  List* conditions = NIL;
  for (int k = -1; (k = bms_next_member(side, k)) >= 0;) {
    const RelOptInfo* const relation = find_base_rel(root, k);
    conditions = conditions_within(relation->baserestrictinfo, side, conditions);
    conditions = conditions_within(relation->joininfo, side, conditions);
  }
  return conditions;
}

/// Does each condition of one side have its copy in the other? Not only its expression counts, but also the join at which it is
/// checked: ON of an outer join is not WHERE.
bool conditions_are_copied(const Renaming& renaming, List* left, List* right) {
  if (list_length(left) != list_length(right)) return false;
  List* rest = list_copy(left);
  ListCell* cell;
  foreach (cell, right) {
    const auto* const condition = lfirst_node(RestrictInfo, cell);
    Node* const clause = renaming.renamed(reinterpret_cast<Node*>(condition->clause));
    const Relids relations = renaming.renamed(condition->required_relids);
    void* match = nullptr;
    ListCell* candidate;
    foreach (candidate, rest) {
      const auto* const other = lfirst_node(RestrictInfo, candidate);
      if (equal(other->clause, clause) && bms_equal(other->required_relids, relations) &&
          other->is_pushed_down == condition->is_pushed_down)
        match = lfirst(candidate);
    }
    if (match == nullptr) return false;
    rest = list_delete_ptr(rest, match);
  }
  return true;
}

/// The expressions of a side that an equivalence class makes equal. An aggregate by which the query sorts reads no relation.
List* members_within(const EquivalenceClass* equivalence, Relids side) {
  List* members = NIL;
  const ListCell* cell;
  foreach (cell, equivalence->ec_members) {
    const auto* const member = lfirst_node(EquivalenceMember, cell);
    if (!member->em_is_child && !member->em_is_const && !bms_is_empty(member->em_relids) &&
        bms_is_subset(member->em_relids, side))
      members = lappend(members, member->em_expr);
  }
  return members;
}

/// Do both sides have the same equivalences? A class of one member within a side says nothing about it: equality with a constant
/// is a condition of each relation.
bool equivalences_are_copied(const PlannerInfo* root, const Renaming& renaming, Relids left, Relids right) {
  List* unmatched = NIL;  // of the left side: lists of expressions
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (equivalence->ec_broken || is_below_outer_join(equivalence)) return false;
    List* const members = members_within(equivalence, left);
    if (list_length(members) > 1) unmatched = lappend(unmatched, members);
  }
  foreach (cell, root->eq_classes) {
    List* const members = members_within(lfirst_node(EquivalenceClass, cell), right);
    if (list_length(members) < 2) continue;
    void* match = nullptr;
    const ListCell* candidate;
    foreach (candidate, unmatched)
      if (are_copied_sets(renaming, static_cast<List*>(lfirst(candidate)), members)) match = lfirst(candidate);
    if (match == nullptr) return false;
    unmatched = list_delete_ptr(unmatched, match);
  }
  return unmatched == NIL;
}

/// Does each special join within one side have its copy in the other? A semi-join whose right hand is in both sides
/// is one of both.
bool special_joins_are_copied(const PlannerInfo* root, const Renaming& renaming, Relids left, Relids right) {
  const Relids both = bms_intersect(left, right);
  List* joins[2] = {NIL, NIL};
  const ListCell* cell;
  foreach (cell, root->join_info_list) {
    auto* const join = static_cast<SpecialJoinInfo*>(lfirst(cell));
    if (join->jointype == JOIN_SEMI && bms_is_subset(join->syn_righthand, both)) continue;
    if (join->jointype != JOIN_SEMI && join->jointype != JOIN_ANTI) return false;
    const Relids relations = base_of(root, bms_union(join->min_lefthand, join->min_righthand));
    const int side = bms_is_subset(relations, left) ? 0 : 1;
    joins[side] = lappend(joins[side], join);
  }
  if (list_length(joins[0]) != list_length(joins[1])) return false;
  foreach (cell, joins[1]) {
    const auto* const join = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    bool found = false;
    const ListCell* candidate;
    foreach (candidate, joins[0]) {
      const auto* const other = static_cast<const SpecialJoinInfo*>(lfirst(candidate));
      found |= other->jointype == join->jointype && bms_equal(other->min_lefthand, renaming.renamed(join->min_lefthand)) &&
               bms_equal(other->min_righthand, renaming.renamed(join->min_righthand));
    }
    if (!found) return false;
  }
  return true;
}

bool sides_are_copies(PlannerInfo* root, const Renaming& renaming, const JoinProjectQuery& query, Relids left,
                      Relids right) {
  return are_copies(renaming, query.sides[0].items, query.sides[1].items) &&
         conditions_are_copied(renaming, conditions_of(root, left), conditions_of(root, right)) &&
         equivalences_are_copied(root, renaming, left, right) && special_joins_are_copied(root, renaming, left, right);
}

/// Makes the keys of both sides copies, by the equivalences within the left side.
bool copy_keys(const PlannerInfo* root, const Renaming& renaming, Relids left, JoinProjectQuery& query) {
  List* keys = NIL;
  const ListCell* a;
  const ListCell* b;
  forboth(a, query.sides[0].keys, b, query.sides[1].keys) {
    auto* const key = static_cast<Node*>(lfirst(a));
    Node* const copy = renaming.renamed(static_cast<Node*>(lfirst(b)));
    if (!equal(key, copy) && !are_equivalent(root, key, copy, left)) return false;
    keys = lappend(keys, copy);
  }
  query.sides[0].keys = keys;
  return true;
}

/// The expressions of a relation that are equal to an expression in each row of a side.
List* equals_within(const PlannerInfo* root, Node* expression, Relids side, int relation) {
  List* equals = list_make1(expression);
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (!is_below_outer_join(equivalence) && list_member(members_within(equivalence, side), expression))
      equals = list_concat(equals, members_within(equivalence, bms_make_singleton(relation)));
  }
  return equals;
}

/// Does the snapshot see all unique indexes of a relation?
bool are_unique_indexes_seen(const RelOptInfo* relation) {
  const ListCell* cell;
  foreach (cell, relation->indexlist) {
    const auto* const index = lfirst_node(IndexOptInfo, cell);
    if (!index->unique) continue;
    const HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index->indexoid));
    if (!HeapTupleIsValid(tuple)) return false;
    const TransactionId defined = HeapTupleHeaderGetXmin(tuple->t_data);
    ReleaseSysCache(tuple);
    if (!is_seen(defined)) return false;
  }
  return true;
}

/// Does a unique index of a relation cover some of these expressions, or what is equal to them in each row of a side?
bool has_unique_index(PlannerInfo* root, int relation, Relids side, const List* expressions, const List* operators) {
  if (planner_rt_fetch(relation, root)->rtekind != RTE_RELATION) return false;
  List* clauses = NIL;
  const ListCell* expression;
  const ListCell* equality;
  forboth(expression, expressions, equality, operators) {
    const ListCell* cell;
    foreach (cell, equals_within(root, static_cast<Node*>(lfirst(expression)), side, relation)) {
      auto* const column = static_cast<Expr*>(lfirst(cell));
      auto* const clause = makeNode(RestrictInfo);
      clause->clause = make_opclause(lfirst_oid(equality), BOOLOID, false, column, column, InvalidOid,
                                     exprCollation(reinterpret_cast<Node*>(column)));
      clause->mergeopfamilies = get_mergejoin_opfamilies(lfirst_oid(equality));
      clause->outer_is_left = true;
      clauses = lappend(clauses, clause);
    }
  }
  RelOptInfo* const rel = find_base_rel(root, relation);
  return clauses != NIL && has_unique_index_for(root, rel, clauses) && are_unique_indexes_seen(rel);
}

/// Is a relation the right hand of a semi-join?
bool is_semi_joined(const PlannerInfo* root, int relation) {
  const ListCell* cell;
  foreach (cell, root->join_info_list) {
    const auto* const join = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    int single;
    if (join->jointype == JOIN_SEMI && bms_get_singleton_member(join->syn_righthand, &single) && single == relation)
      return true;
  }
  return false;
}

/// Does a relation of a side have at most one row for each key?
bool adds_no_rows(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSide& keys, int relation, Relids side) {
  return is_semi_joined(root, relation) || has_unique_index(root, relation, side, keys.keys, query.key_operators);
}

/// Is a relation part of an outer, semi- or anti-join?
bool is_specially_joined(const PlannerInfo* root, int relation) {
  const ListCell* cell;
  foreach (cell, root->join_info_list) {
    const auto* const join = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    if (bms_is_member(relation, join->min_lefthand) || bms_is_member(relation, join->min_righthand)) return true;
  }
  return false;
}

}  // namespace

Node* equal_within(const PlannerInfo* root, Node* expression, Relids side, Relids relids) {
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    // Where all are equal to a constant, no path keeps them for others.
    if (equivalence->ec_has_const || is_below_outer_join(equivalence) ||
        !list_member(members_within(equivalence, side), expression))
      continue;
    const ListCell* member;
    foreach (member, members_within(equivalence, relids)) {
      auto* const other = static_cast<Node*>(lfirst(member));
      if (exprType(other) == exprType(expression)) return other;
    }
  }
  return nullptr;
}

bool find_one_equality(PlannerInfo* root, int relation, Relids others, const List* comparisons, OneEquality& found) {
  const Relids single = bms_make_singleton(relation);
  ListCell* cell;
  foreach (cell, find_base_rel(root, relation)->joininfo)
    if (!list_member(comparisons, lfirst_node(RestrictInfo, cell)->clause)) return false;
  if (is_specially_joined(root, relation)) return false;
  found = {};
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    const ListCell* member;
    foreach (member, equivalence->ec_members) {
      const Relids relids = lfirst_node(EquivalenceMember, member)->em_relids;
      if (bms_is_member(relation, relids) && !bms_equal(relids, single)) return false;
    }
    List* const keys = members_within(equivalence, single);
    List* const partners = members_within(equivalence, others);
    if (keys == NIL || partners == NIL || equivalence->ec_has_const) continue;
    if (found.key != nullptr || equivalence->ec_broken || is_below_outer_join(equivalence)) return false;
    found.key = static_cast<Node*>(linitial(keys));
    found.partners = partners;
  }
  if (found.key == nullptr) return false;
  const Oid equals = lookup_type_cache(exprType(found.key), TYPECACHE_EQ_OPR)->eq_opr;
  return has_unique_index(root, relation, single, list_make1(found.key), list_make1_oid(equals));
}

bool are_equivalent(const PlannerInfo* root, Node* a, Node* b, Relids relids) {
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (is_below_outer_join(equivalence)) continue;
    const List* const members = members_within(equivalence, relids);
    if (list_member(members, a) && list_member(members, b)) return true;
  }
  return false;
}

bool is_unique_on(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSide& side) {
  const Relids relations = base_of(root, side.rel->relids);
  const List* const columns = list_concat_copy(side.keys, side.codes);
  const List* const operators = list_concat_copy(query.key_operators, side.code_operators);
  for (int k = -1; (k = bms_next_member(relations, k)) >= 0;) {
    if (!has_unique_index(root, k, relations, columns, operators)) continue;
    bool rest_adds_none = true;
    for (int other = -1; (other = bms_next_member(relations, other)) >= 0;)
      rest_adds_none &= other == k || adds_no_rows(root, query, side, other, relations);
    if (rest_adds_none) return true;
  }
  return false;
}

List* divisions(PlannerInfo* root, const List* grouped) {
  const int relations = bms_num_members(root->all_baserels);
  List* groups = NIL;
  const ListCell* cell;
  foreach (cell, grouped) groups = lappend(groups, base_of(root, pull_varnos(root, static_cast<Node*>(lfirst(cell)))));
  List* divisions = NIL;
  for (unsigned mask = 1; mask < (1u << relations) - 1; mask += 2) {  // the first relation is on the left
    Relids left = nullptr;
    int relation = -1;
    for (int k = 0; k < relations; ++k) {
      relation = bms_next_member(root->all_baserels, relation);
      if ((mask >> k & 1) != 0) left = bms_add_member(left, relation);
    }
    const Relids right = bms_difference(root->all_baserels, left);
    if (!groups_fit(groups, left, right) || !special_joins_fit(root, left, right)) continue;
    RelOptInfo* const sides[2] = {relation_of(root, left), relation_of(root, right)};
    if (sides[0] != nullptr && sides[1] != nullptr) divisions = lappend(divisions, list_make2(sides[0], sides[1]));
  }
  list_sort(divisions, by_rows);
  return divisions;
}

namespace {

/// Can the plan of a relation compute expressions? It has the columns that the query needs of it, and a scan of a table has all.
bool can_compute(PlannerInfo* root, const RelOptInfo* relation, const List* expressions) {
  if (expressions == NIL) return true;
  int single;
  if (bms_get_singleton_member(relation->relids, &single) && planner_rt_fetch(single, root)->rtekind == RTE_RELATION) {
    switch (relation->cheapest_total_path->pathtype) {
      case T_SeqScan:
      case T_IndexScan:
      case T_BitmapHeapScan: return true;
      default: break;
    }
  }
  List* const columns =
      pull_var_clause(const_cast<Node*>(reinterpret_cast<const Node*>(expressions)), PVC_RECURSE_PLACEHOLDERS);
  return list_difference(columns, relation->reltarget->exprs) == NIL;
}

}  // namespace

bool make_copies(PlannerInfo* root, JoinProjectQuery& query) {
  Relids sides[2] = {base_of(root, query.sides[0].rel->relids), base_of(root, query.sides[1].rel->relids)};
  Relids rest[2];
  const Renaming renaming = pair_relations(root, sides[0], sides[1], rest);
  if (renaming.relations == 0) return false;
  RelOptInfo* relations[2] = {query.sides[0].rel, query.sides[1].rel};
  for (int side = 0; side < 2; ++side) {
    const Relids added = rest[1 - side];
    if (bms_is_empty(added)) continue;
    for (int k = -1; (k = bms_next_member(added, k)) >= 0;)
      if (!adds_no_rows(root, query, query.sides[1 - side], k, sides[1 - side])) return false;
    relations[side] = relation_of(root, bms_union(sides[side], added));
    if (relations[side] == nullptr) return false;
  }
  for (int side = 0; side < 2; ++side) sides[side] = base_of(root, relations[side]->relids);
  List* const keys = query.sides[0].keys;
  List* factors = NIL;
  ListCell* cell;
  foreach (cell, query.sides[1].factors) factors = lappend(factors, renaming.renamed(static_cast<Node*>(lfirst(cell))));
  if (can_compute(root, relations[0], factors) && sides_are_copies(root, renaming, query, sides[0], sides[1]) &&
      copy_keys(root, renaming, sides[0], query)) {
    for (int side = 0; side < 2; ++side) query.sides[side].rel = relations[side];
    query.sides[1].factors = factors;
    return true;
  }
  query.sides[0].keys = keys;
  return false;
}

}  // namespace batmap::pg
