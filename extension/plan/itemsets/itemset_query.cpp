// Reads the structures of the planner. See itemset_query.h.
#include "extension/plan/itemsets/itemset_query.h"

#include "extension/plan/query/join_aggregates.h"
#include "extension/plan/query/join_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// ---- copies

/// The relations of each copy. One of them, the base, also has those that belong to the key.
struct Copies {
  int count = 0;
  int base = 0;
  Relids relations[kMaxRelations];
  RelOptInfo* rels[kMaxRelations];
  JoinProjectQuery pairs[kMaxRelations];  // of the base and each other copy

  /// The number of the copy that has some of these relations; kNone, kSeveral.
  int copy_of(Relids relids) const {
    int found = kNone;
    for (int copy = 0; copy < count; ++copy) {
      if (!bms_overlap(relations[copy], relids)) continue;
      if (found != kNone) return kSeveral;
      found = copy;
    }
    return found;
  }

  /// Does one copy have all of these relations?
  bool contain(Relids relids) const {
    for (int copy = 0; copy < count; ++copy)
      if (bms_is_subset(relids, relations[copy])) return true;
    return false;
  }

  static constexpr int kNone = -1;
  static constexpr int kSeveral = -2;
};

/// The relations that clauses of the query join to a relation.
Relids joined_to(const PlannerInfo* root, int relation) {
  Relids joined = nullptr;
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (bms_is_member(relation, equivalence->ec_relids)) joined = bms_add_members(joined, equivalence->ec_relids);
  }
  foreach (cell, root->simple_rel_array[relation]->joininfo)
    joined = bms_add_members(joined, lfirst_node(RestrictInfo, cell)->required_relids);
  return bms_del_member(base_of(root, joined), relation);
}

/// Gives the right hand of a special join to the copy on its left, which becomes the base.
void assign_special_joins(const PlannerInfo* root, Copies& copies) {
  const ListCell* cell;
  foreach (cell, root->join_info_list) {
    const auto* const special = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    const int copy = copies.copy_of(special->min_lefthand);
    const Relids right = base_of(root, special->min_righthand);
    if (copy < 0 || copies.copy_of(right) != Copies::kNone) continue;
    copies.relations[copy] = bms_union(copies.relations[copy], right);
    copies.base = copy;
  }
}

/// Gives each relation to the copy that it is joined to, and to the base if it is joined to several. A wrong guess makes no
/// copies. @return false if a relation is joined to nothing
bool assign_relations(const PlannerInfo* root, Copies& copies) {
  Relids rest = bms_copy(root->all_baserels);
  for (int copy = 0; copy < copies.count; ++copy) rest = bms_del_members(rest, copies.relations[copy]);
  while (!bms_is_empty(rest)) {
    int chosen[kMaxRelations];  // of the relations in `rest`
    bool has_own = false;
    bool has_shared = false;
    int at = 0;
    for (int k = -1; (k = bms_next_member(rest, k)) >= 0;) {
      chosen[at] = copies.copy_of(joined_to(root, k));
      has_own |= chosen[at] >= 0;
      has_shared |= chosen[at++] == Copies::kSeveral;
    }
    if (!has_own && !has_shared) return false;
    at = 0;
    Relids left = nullptr;
    for (int k = -1; (k = bms_next_member(rest, k)) >= 0; ++at) {
      const int copy = !has_own && chosen[at] == Copies::kSeveral ? copies.base : chosen[at];
      if (copy >= 0)
        copies.relations[copy] = bms_add_member(copies.relations[copy], k);
      else
        left = bms_add_member(left, k);
    }
    rest = left;
  }
  return true;
}

/// One item of each copy from GROUP BY, and the relations around it.
bool find_copies(PlannerInfo* root, const ItemsetJoin& join, Copies& copies) {
  const ListCell* cell;
  foreach (cell, join.items) {
    const Relids relations = base_of(root, pull_varnos(root, node_of(lfirst(cell))));
    if (bms_is_empty(relations) || copies.copy_of(relations) != Copies::kNone) return false;
    copies.relations[copies.count++] = relations;
  }
  assign_special_joins(root, copies);
  if (!assign_relations(root, copies)) return false;
  foreach (cell, root->join_info_list) {
    const auto* const special = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    if (!copies.contain(base_of(root, bms_union(special->min_lefthand, special->min_righthand)))) return false;
  }
  for (int copy = 0; copy < copies.count; ++copy) {
    copies.rels[copy] = relation_of(root, copies.relations[copy]);
    if (copies.rels[copy] == nullptr) return false;
  }
  return true;
}

/// Does each equivalence join all copies, or hold within one? Then the keys of any two copies follow from those of the base and
/// each other.
bool equivalences_fit(const PlannerInfo* root, const Copies& copies) {
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (equivalence->ec_broken || is_below_outer_join(equivalence)) return false;
    Relids read = nullptr;
    const ListCell* element;
    foreach (element, equivalence->ec_members) {
      const auto* const member = lfirst_node(EquivalenceMember, element);
      if (member->em_is_child || member->em_is_const) continue;
      const Relids relations = base_of(root, member->em_relids);
      if (!copies.contain(relations)) return false;
      read = bms_add_members(read, relations);
    }
    if (copies.contain(read)) continue;
    for (int copy = 0; copy < copies.count; ++copy)
      if (!bms_overlap(copies.relations[copy], read)) return false;
  }
  return true;
}

/// Reads the keys that join the base and another copy, and proves that the two are copies.
bool read_pair(PlannerInfo* root, const List* items, Copies& copies, int other) {
  JoinProjectQuery& pair = copies.pairs[other];
  pair = {};
  pair.sides[0].rel = copies.rels[copies.base];
  pair.sides[1].rel = copies.rels[other];
  if (!add_item(root, pair, node_of(list_nth(items, copies.base)), 0) ||
      !add_item(root, pair, node_of(list_nth(items, other)), 0) || list_length(pair.sides[0].items) != 1)
    return false;
  for (JoinProjectSide& side : pair.sides) {
    side.codes = side.items;
    side.code_operators = side.item_operators;
  }
  const Relids both = bms_union(pair.sides[0].rel->relids, pair.sides[1].rel->relids);
  const ListCell* cell;
  foreach (cell, join_equalities(root, both, pair.sides[0].rel->relids, pair.sides[1].rel))
    if (!add_key(pair, lfirst_node(RestrictInfo, cell))) return false;
  return pair.key_operators != NIL && make_copies(root, pair) && pair.sides[0].rel == copies.rels[copies.base];
}

// ---- the order of the items

/// Which items the query wants to be smaller than which.
struct Order {
  bool less[kMaxRelations][kMaxRelations] = {};

  /// Adds what follows.
  void close(int count) {
    for (int via = 0; via < count; ++via)
      for (int a = 0; a < count; ++a)
        for (int b = 0; b < count; ++b) less[a][b] |= less[a][via] && less[via][b];
  }
};

/// Is the clause a comparison of two items by < or > in the default order of their type?
bool read_comparison(const List* items, const Expr* clause, Order& order) {
  if (!IsA(clause, OpExpr) || list_length(castNode(OpExpr, clause)->args) != 2) return false;
  const auto* const comparison = castNode(OpExpr, clause);
  int numbers[2] = {-1, -1};
  for (int side = 0; side < 2; ++side) {
    const ListCell* cell;
    foreach (cell, items)
      if (equal(lfirst(cell), compared(list_nth(comparison->args, side)))) numbers[side] = foreach_current_index(cell);
  }
  if (numbers[0] < 0 || numbers[1] < 0) return false;
  Node* const item = node_of(list_nth(items, numbers[0]));
  if (comparison->inputcollid != exprCollation(item)) return false;
  const TypeCacheEntry* const type = lookup_type_cache(exprType(item), TYPECACHE_BTREE_OPFAMILY);
  switch (get_op_opfamily_strategy(comparison->opno, type->btree_opf)) {
    case BTLessStrategyNumber: order.less[numbers[0]][numbers[1]] = true; return true;
    case BTGreaterStrategyNumber: order.less[numbers[1]][numbers[0]] = true; return true;
    default: return false;
  }
}

/// Reads the conditions between the copies: they must be comparisons that put the items into one order.
bool read_order(PlannerInfo* root, const Copies& copies, ItemsetJoin& join) {
  Order order;
  for (int k = -1; (k = bms_next_member(root->all_baserels, k)) >= 0;) {
    const ListCell* cell;
    foreach (cell, find_base_rel(root, k)->joininfo) {
      const auto* const clause = lfirst_node(RestrictInfo, cell);
      if (clause->pseudoconstant || is_clone(clause)) return join.block.refuse(Refusal::kPseudoConstant, clause->clause);
      if (copies.contain(base_of(root, clause->required_relids))) continue;
      if (!read_comparison(join.items, clause->clause, order))
        return join.block.refuse(Refusal::kItemsetClause, clause->clause);
    }
  }
  order.close(copies.count);
  for (int a = 0; a < copies.count; ++a) {
    for (int b = 0; b < copies.count; ++b) {
      if (order.less[a][b] == (a == b || order.less[b][a]))
        return join.block.refuse(Refusal::kItemsetOrder, list_make2(list_nth(join.items, a), list_nth(join.items, b)));
      join.positions[a] += order.less[b][a];
    }
  }
  return true;
}

// ---- counts

struct OutputCheck {
  PlannerInfo* root;
  ItemsetJoin* join;
  const Copies* copies;
};

/// Takes count(*), count(x) where x is never NULL, and count(DISTINCT key).
bool take_count(const OutputCheck& check, Aggref* aggregate) {
  JoinProjectQuery& block = check.join->block;
  if (list_member(block.aggregates, aggregate)) return true;
  if (state_of(aggregate) != AggregateState::kCount || aggregate->aggfilter != nullptr)
    return block.refuse(Refusal::kItemsetAggregate, aggregate);
  JoinProjectCount counting = JoinProjectCount::kNothing;
  bool counts_all = aggregate->args == NIL;
  for (int other = 0; other < check.copies->count; ++other) {
    if (other == check.copies->base) continue;
    const JoinProjectQuery& pair = check.copies->pairs[other];
    if (counting == JoinProjectCount::kNothing) counting = counted_by(check.root, pair, aggregate);
    if (aggregate->args == NIL) continue;
    Node* const argument = node_of(linitial_node(TargetEntry, aggregate->args)->expr);
    // An item of an answer has been compared.
    counts_all |= is_never_null(check.root, pair, argument) || list_member(check.join->items, argument);
  }
  if (counting == JoinProjectCount::kNothing || !counts_all) return block.refuse(Refusal::kItemsetAggregate, aggregate);
  if (counting == JoinProjectCount::kRows) block.counting = JoinProjectCount::kRows;
  if (block.counting == JoinProjectCount::kNothing) block.counting = JoinProjectCount::kKeys;
  block.aggregates = lappend(block.aggregates, aggregate);
  block.arguments = lappend(block.arguments, nullptr);
  block.conditions = lappend(block.conditions, nullptr);
  return true;
}

/// Walks an output expression. @return true (stop) at an expression that the node cannot compute
bool is_unknown(Node* node, void* arg) {
  const auto* const check = static_cast<const OutputCheck*>(arg);
  if (node == nullptr || list_member(check->join->items, node)) return false;
  if (IsA(node, Aggref)) return !take_count(*check, castNode(Aggref, node));
  if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc) || IsA(node, WindowFunc))
    return !check->join->block.refuse(Refusal::kOutput, node);
  return expression_tree_walker(node, walker(is_unknown), arg);
}

bool read_output(PlannerInfo* root, const Copies& copies, ItemsetJoin& join) {
  OutputCheck check{root, &join, &copies};
  JoinProjectQuery& block = join.block;
  auto* const having = reinterpret_cast<List*>(root->parse->havingQual);
  ListCell* cell;
  foreach (cell, block.target->exprs) {
    Node* const expression = node_of(lfirst(cell));
    if (contain_subplans(expression)) return block.refuse(Refusal::kSubplan, expression);
    if (is_unknown(expression, &check)) return false;
  }
  foreach (cell, having) {
    Node* const expression = node_of(lfirst(cell));
    if (!is_plain(expression)) return block.refuse(Refusal::kVolatileHaving, expression);
    if (is_unknown(expression, &check)) return false;
  }
  foreach (cell, having)
    if (!take_threshold(root, block, static_cast<Expr*>(lfirst(cell)))) block.quals = lappend(block.quals, lfirst(cell));
  return true;
}

/// Reads the groups: an item of each copy, with the equality that hash tables use.
bool read_items(const PlannerInfo* root, ItemsetJoin& join) {
  const ListCell* cell;
  foreach (cell, join.block.groups) {
    const auto* const group = lfirst_node(SortGroupClause, cell);
    Node* const item = get_sortgroupclause_expr(const_cast<SortGroupClause*>(group), root->processed_tlist);
    if (!group->hashable || lookup_type_cache(exprType(item), TYPECACHE_EQ_OPR)->eq_opr != group->eqop) return false;
    join.items = lappend(join.items, item);
  }
  return true;
}

}  // namespace

bool recognize_itemsets(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                        ItemsetJoin& join) {
  join = {};
  JoinProjectQuery& block = join.block;
  const bool grouped = stage == UPPERREL_GROUP_AGG;
  block.groups = grouped ? group_clause(root) : distinct_clause(root);
  const int groups = list_length(block.groups);
  if (groups < 3 || groups > kMaxRelations || groups > bms_num_members(root->all_baserels)) return false;
  // For what all nodes refuse, the first one has noted the reason.
  JoinProjectQuery checked{};
  if (!groups_rows(root, stage) || !is_plain_block(root, stage, input, checked) || !relations_are_plain(root, checked))
    return false;
  block.target = grouped ? output->reltarget : root->upper_targets[UPPERREL_DISTINCT];
  Copies copies;
  if (!read_items(root, join) || !find_copies(root, join, copies) || !equivalences_fit(root, copies)) return false;
  for (int other = 0; other < copies.count; ++other)
    if (other != copies.base && !read_pair(root, join.items, copies, other)) return false;
  if (!read_order(root, copies, join) || !read_output(root, copies, join)) return false;
  const JoinProjectQuery& pair = copies.pairs[copies.base == 0 ? 1 : 0];
  block.sides[0] = pair.sides[0];
  block.key_operators = pair.key_operators;
  join.rows_may_repeat = block.counting == JoinProjectCount::kRows && !is_unique_on(root, pair, pair.sides[0]);
  return true;
}

}  // namespace batmap::pg
