// Finds lookups and takes them out of the sides. See join_lookups.h.
#include "extension/plan/query/join_lookups.h"

#include <utility>

#include "extension/input/key_column.h"
#include "extension/plan/query/join_aggregates.h"
#include "extension/plan/query/join_items.h"
#include "extension/plan/query/join_sides.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

Oid equality_of(Node* expression) { return lookup_type_cache(exprType(expression), TYPECACHE_EQ_OPR)->eq_opr; }

bool is_own_key_type(Node* expression) { return is_own_key(key_kind(exprType(expression))); }

/// Are the 64-bit keys of two expressions equal, or in order, if the values are?
bool have_the_same_keys(Node* a, Node* b) {
  const Oid types[2] = {exprType(a), exprType(b)};
  return is_own_key_type(a) &&
         ((is_integer(types[0]) && is_integer(types[1])) || getBaseType(types[0]) == getBaseType(types[1]));
}

/// Counts of all rows or keys can be added up, in whatever groups they were made.
bool counts_add_up(const JoinProjectQuery& query) {
  const ListCell* state;
  const ListCell* argument;
  const ListCell* condition;
  forthree(state, query.states, argument, query.arguments, condition, query.conditions) {
    if (static_cast<AggregateState>(lfirst_int(state)) != AggregateState::kCount || lfirst(argument) != nullptr ||
        lfirst(condition) != nullptr)
      return false;
  }
  return true;
}

/// A relation that has a path of its own, and is not empty.
bool set_lookup(PlannerInfo* root, int relation, Node* key, JoinProjectLookup& lookup) {
  lookup.rel = relation_of(root, bms_make_singleton(relation));
  lookup.key = key;
  return lookup.rel != nullptr;
}

struct Apart {
  PlannerInfo* root;
  const JoinProjectQuery& query;
  JoinProjectQuery& apart;
  Relids sides[2];  // base relations of each side that are not read apart
};

void add_item_of(const JoinProjectSide& from, int index, JoinProjectSide& to, void* value) {
  to.items = lappend(to.items, list_nth(from.items, index));
  to.item_operators = lappend_oid(to.item_operators, list_nth_oid(from.item_operators, index));
  to.item_refs = lappend_int(to.item_refs, list_nth_int(from.item_refs, index));
  to.lookup.values = lappend(to.lookup.values, value);
}

void clear_items(JoinProjectSide& side) { side.items = side.item_operators = side.item_refs = side.lookup.values = NIL; }

/// The relations that the returned items of a side read.
Relids relations_read(PlannerInfo* root, const JoinProjectSide& side) {
  Relids relids = nullptr;
  const ListCell* item;
  const ListCell* ref;
  forboth(item, side.items, ref, side.item_refs) if (lfirst_int(ref) != kOnlyCompared) relids =
      bms_add_members(relids, pull_varnos(root, node_of(lfirst(item))));
  return base_of(root, relids);
}

/// Takes a relation with values that the key of the join determines out of the sides, and its items with it.
/// @return false if an item reads it together with others
bool take_shared(Apart& state, int relation, const OneEquality& equality) {
  JoinProjectSide& shared = state.apart.shared;
  if (!set_lookup(state.root, relation, equality.key, shared.lookup)) return false;
  for (int number = 0; number < 2; ++number) {
    JoinProjectSide& side = state.apart.sides[number];
    const JoinProjectSide before = side;
    clear_items(side);
    for (int k = 0; k < list_length(before.items); ++k) {
      auto* const item = static_cast<Node*>(list_nth(before.items, k));
      const Relids relids = pull_varnos(state.root, item);
      if (!bms_is_member(relation, relids)) {
        add_item_of(before, k, side, item);
        continue;
      }
      if (bms_membership(relids) != BMS_SINGLETON || list_nth_int(before.item_refs, k) == kOnlyCompared) return false;
      add_item_of(before, k, shared, item);
    }
    if (side.items == NIL) return false;
    state.sides[number] = bms_del_member(bms_copy(state.sides[number]), relation);
  }
  return true;
}

/// Has a relation at most one row for each key of the join, and no other condition that reads others, too?
bool hangs_on_key(const Apart& state, int relation, OneEquality& equality) {
  auto* const key = static_cast<Node*>(linitial(state.query.sides[0].keys));
  const Relids others = bms_del_member(bms_union(state.sides[0], state.sides[1]), relation);
  return find_one_equality(state.root, relation, others, NIL, equality) && have_the_same_keys(equality.key, key) &&
         is_plain(equality.key) && (equal(key, equality.key) || list_member(equality.partners, key));
}

/// Is there a key in what a relation leaves of its side?
bool leaves_key(const Apart& state, int relation) {
  for (int number = 0; number < 2; ++number) {
    if (!bms_is_member(relation, state.sides[number])) continue;
    const Relids rest = bms_del_member(bms_copy(state.sides[number]), relation);
    auto* const key = static_cast<Node*>(linitial(state.query.sides[number].keys));
    if (bms_is_empty(rest) || (!bms_is_subset(base_of(state.root, pull_varnos(state.root, key)), rest) &&
                               equal_within(state.root, key, state.sides[number], rest) == nullptr))
      return false;
  }
  return true;
}

/// Finds a relation whose columns the key of the join determines: one with items, or else one that only says which keys
/// have rows, such as the orders of a day. @return false if the query cannot be read apart
bool find_shared(Apart& state) {
  const JoinProjectQuery& query = state.query;
  if (list_length(query.key_operators) != 1) return true;
  Relids read = nullptr;
  for (const JoinProjectSide& side : query.sides) read = bms_add_members(read, relations_read(state.root, side));
  OneEquality equality;
  for (int k = -1; (k = bms_next_member(read, k)) >= 0;)
    if (hangs_on_key(state, k, equality)) return take_shared(state, k, equality);
  const Relids filters = bms_difference(bms_union(state.sides[0], state.sides[1]), read);
  for (int k = -1; (k = bms_next_member(filters, k)) >= 0;)
    if (leaves_key(state, k) && hangs_on_key(state, k, equality)) return take_shared(state, k, equality);
  return true;
}

/// Is an expression of a side the same as its code in each row?
bool is_code(const Apart& state, int number, Node* code, Node* expression) {
  return equal(code, expression) ||
         (have_the_same_keys(code, expression) &&
          are_equivalent(state.root, code, expression, base_of(state.root, state.query.sides[number].rel->relids)));
}

/// The partner that is compared or returned, or else the first one.
Node* choose_code(const JoinProjectSide& side, const OneEquality& equality) {
  const ListCell* cell;
  foreach (cell, equality.partners)
    if (item_index(side, node_of(lfirst(cell))) >= 0) return node_of(lfirst(cell));
  return node_of(linitial(equality.partners));
}

/// Takes the relation that the returned items of a side read out of the side. @return whether it can be
bool take_lookup(Apart& state, int number, int relation) {
  JoinProjectSide& side = state.apart.sides[number];
  OneEquality equality;
  const Relids others = bms_del_member(bms_copy(state.sides[number]), relation);
  if (!find_one_equality(state.root, relation, others, state.query.compared, equality)) return false;
  Node* const code = choose_code(side, equality);
  if (!have_the_same_keys(code, equality.key) || !is_plain(code) || !is_plain(equality.key)) return false;
  const JoinProjectSide before = side;
  clear_items(side);
  if (!set_lookup(state.root, relation, equality.key, side.lookup)) return false;
  for (int k = 0; k < list_length(before.items); ++k) {
    auto* const item = static_cast<Node*>(list_nth(before.items, k));
    const bool stands_for_code = is_code(state, number, code, item);
    if (list_nth_int(before.item_refs, k) == kOnlyCompared) {
      if (!stands_for_code) return false;
    } else if (bms_is_subset(pull_varnos(state.root, item), bms_make_singleton(relation))) {
      add_item_of(before, k, side, item);
    } else if (stands_for_code && exprType(item) == exprType(equality.key)) {
      add_item_of(before, k, side, equality.key);
    } else {
      return false;
    }
  }
  if (side.items == NIL) return false;
  side.codes = list_make1(code);
  side.code_operators = list_make1_oid(equality_of(code));
  side.items_are_not_null = is_not_null(state.root, code);
  side.null_items_are_wanted = false;
  state.sides[number] = others;
  return true;
}

/// Sets what the engine counts of a side: the key of a lookup, or all items. @return false if a value is only compared
bool set_codes(Apart& state, int number) {
  JoinProjectSide& side = state.apart.sides[number];
  const Relids relations = relations_read(state.root, side);
  for (int k = -1; (k = bms_next_member(relations, k)) >= 0;) {
    const JoinProjectSide before = side;
    if (take_lookup(state, number, k)) return true;
    side = before;
  }
  side.codes = side.items;
  side.code_operators = side.item_operators;
  side.lookup.values = NIL;
  side.items_are_not_null = list_length(side.items) == 1 && is_not_null(state.root, node_of(linitial(side.items)));
  side.null_items_are_wanted = true;
  return !list_member_int(side.item_refs, kOnlyCompared);
}

/// Is a code a number of 32 bits, so that a prefix has room?
bool has_room_for_prefix(const JoinProjectSide& side) {
  if (list_length(side.codes) != 1) return false;
  const KeyKind kind = key_kind(exprType(static_cast<Node*>(linitial(side.codes))));
  return (kind == KeyKind::kInt2 || kind == KeyKind::kInt4) && (!side.null_items_are_wanted || side.items_are_not_null);
}

/// Are the operands of a comparison, in the order of the sides, their codes?
bool compares_codes(Apart& state, Node* const operands[2]) {
  JoinProjectQuery& apart = state.apart;
  for (int number = 0; number < 2; ++number) {
    const JoinProjectSide& side = apart.sides[number];
    if (list_length(side.codes) != 1 || !is_code(state, number, node_of(linitial(side.codes)), operands[number]))
      return false;
  }
  if (!have_the_same_keys(node_of(linitial(apart.sides[0].codes)), node_of(linitial(apart.sides[1].codes)))) return false;
  for (JoinProjectSide& side : apart.sides) side.null_items_are_wanted = false;  // a comparison is never true of NULL
  return true;
}

/// Are the operands of a comparison, in the order of the sides, the same value of one lookup of both sides?
bool compares_values(Apart& state, const OpExpr* comparison, Node* const operands[2]) {
  JoinProjectQuery& apart = state.apart;
  const int left = item_index(apart.sides[0], operands[0]);
  const int right = item_index(apart.sides[1], operands[1]);
  if (left < 0 || left != right || !has_one_lookup(state.root, apart)) return false;
  const TypeCacheEntry* const type = lookup_type_cache(exprType(operands[0]), TYPECACHE_CMP_PROC);
  if (!OidIsValid(type->cmp_proc) || exprType(operands[0]) != exprType(operands[1]) ||
      comparison->inputcollid != exprCollation(operands[0]))
    return false;
  apart.compared_value = left;
  return true;
}

/// Turns the comparison of two items, if there is one, into a condition on the codes, or on values of the lookups.
bool take_condition(Apart& state) {
  JoinProjectQuery& apart = state.apart;
  apart.condition = PairCondition::kNone;
  apart.compared_value = -1;
  if (apart.compared == NIL) return true;
  if (list_length(apart.compared) != 1) return false;
  const auto* const comparison = linitial_node(OpExpr, apart.compared);
  Node* operands[2] = {compared(linitial(comparison->args)), compared(lsecond(comparison->args))};
  Oid operation = comparison->opno;
  if (side_of(state.root, state.query, operands[0]) != 0) {
    std::swap(operands[0], operands[1]);
    operation = get_commutator(operation);
  }
  if (!read_condition(operation, exprType(operands[0]), apart.condition)) return false;
  return compares_codes(state, operands) || compares_values(state, comparison, operands);
}

/// Lets the keys of a side read what is left of it.
bool keep_keys(const Apart& state, int number) {
  JoinProjectSide& side = state.apart.sides[number];
  List* keys = NIL;
  ListCell* cell;
  foreach (cell, side.keys) {
    Node* key = node_of(lfirst(cell));
    if (!bms_is_subset(base_of(state.root, pull_varnos(state.root, key)), state.sides[number]))
      key = equal_within(state.root, key, base_of(state.root, state.query.sides[number].rel->relids), state.sides[number]);
    if (key == nullptr) return false;
    keys = lappend(keys, key);
  }
  side.keys = keys;
  return true;
}

/// Are what is left of the two sides copies of one another?
bool make_rests_copies(PlannerInfo* root, JoinProjectQuery& apart) {
  JoinProjectSide& left = apart.sides[0];
  JoinProjectSide& right = apart.sides[1];
  if (left.null_items_are_wanted != right.null_items_are_wanted) {
    // One input has NULLs for both sides. Where NULL has a number, no lookup finds it.
    const KeyKind kind = key_kind(exprType(static_cast<Node*>(linitial(left.codes))));
    if (kind != KeyKind::kInt2 && kind != KeyKind::kInt4) return false;
  }
  JoinProjectQuery rests = apart;
  for (JoinProjectSide& side : rests.sides) side.items = side.codes;
  if (!make_copies(root, rests)) return false;
  for (int number = 0; number < 2; ++number) {
    apart.sides[number].rel = rests.sides[number].rel;
    apart.sides[number].keys = rests.sides[number].keys;
  }
  left.null_items_are_wanted = right.null_items_are_wanted = left.null_items_are_wanted || right.null_items_are_wanted;
  return true;
}

}  // namespace

bool has_one_lookup(PlannerInfo* root, const JoinProjectQuery& query) {
  if (query.sides[0].lookup.rel == nullptr || query.sides[1].lookup.rel == nullptr) return false;
  JoinProjectQuery lookups{};
  for (int number = 0; number < 2; ++number) {
    const JoinProjectLookup& lookup = query.sides[number].lookup;
    lookups.sides[number].rel = lookup.rel;
    lookups.sides[number].items = lcons(lookup.key, list_copy(lookup.values));
  }
  return make_copies(root, lookups);
}

bool read_lookups_apart(PlannerInfo* root, UpperRelationKind stage, const JoinProjectQuery& query, JoinProjectQuery& apart) {
  const bool grouped = stage == UPPERREL_GROUP_AGG;
  if (!counts_add_up(query)) return false;
  apart = query;
  apart.shared = {};
  apart.share_of_keys = 1;
  apart.order = PairCondition::kNone;
  apart.finer = false;
  apart.grouped = true;
  Apart state{root, query, apart, {}};
  for (int number = 0; number < 2; ++number) state.sides[number] = base_of(root, query.sides[number].rel->relids);
  if (!find_shared(state)) return false;
  for (int number = 0; number < 2; ++number)
    if (!set_codes(state, number)) return false;
  const bool adds_up = apart.sides[0].lookup.rel != nullptr || apart.sides[1].lookup.rel != nullptr;
  if (!adds_up && apart.shared.lookup.rel == nullptr) return false;
  // Keys of codes are not keys of what the codes stand for.
  if (adds_up && query.counting == JoinProjectCount::kKeys) return false;
  if (!take_condition(state)) return false;
  for (int number = 0; number < 2; ++number) {
    JoinProjectSide& side = apart.sides[number];
    if (apart.shared.items != NIL && !has_room_for_prefix(side)) return false;
    if (bms_is_empty(state.sides[number]) || !keep_keys(state, number)) return false;
    side.rel = relation_of(root, state.sides[number]);
    if (side.rel == nullptr) return false;
  }
  if (const RelOptInfo* const shared = apart.shared.lookup.rel; shared != nullptr && shared->tuples > 0)
    apart.share_of_keys = Min(1, shared->rows / shared->tuples);
  apart.self_join = make_rests_copies(root, apart);
  apart.rows_repeat = rows_may_repeat(root, apart);
  apart.quals = NIL;
  apart.comparisons = 0;
  apart.threshold = nullptr;
  apart.limit = apart.offset = nullptr;
  take_having(root, apart, grouped ? reinterpret_cast<List*>(root->parse->havingQual) : NIL);
  if (grouped) take_limit(root, apart);
  return true;
}

}  // namespace batmap::pg
