// Reads the structures of the planner. See listed_query.h.
#include "extension/plan/listed/listed_query.h"

#include <bit>

#include "extension/plan/query/join_aggregates.h"
#include "extension/plan/query/join_items.h"
#include "extension/plan/query/join_sides.h"
#include "extension/server/equality.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// ---- the two inputs and the list

constexpr int kParts = 3;
constexpr int kList = 2;  // after the left and the right input

/// The base relations of a block are numbered from 0: a set of them is a mask.
using RelationMask = unsigned;

RelationMask mask_of(const PlannerInfo* root, Relids relids) {
  RelationMask mask = 0;
  int number = 0;
  for (int k = -1; (k = bms_next_member(root->all_baserels, k)) >= 0; ++number)
    if (bms_is_member(k, relids)) mask |= 1u << number;
  return mask;
}

Relids relids_of(const PlannerInfo* root, RelationMask mask) {
  Relids relids = nullptr;
  int number = 0;
  for (int k = -1; (k = bms_next_member(root->all_baserels, k)) >= 0; ++number)
    if ((mask >> number & 1) != 0) relids = bms_add_member(relids, k);
  return relids;
}

/// What the planner knows about the relations of a block together.
struct JoinGraph {
  List* classes = NIL;   // for each equivalence that joins relations: a list of ints, the masks of its members
  List* together = NIL;  // int: masks of relations that must be in one part
};

/// @return false if the block has equivalences that do not hold in all of its rows
bool read_graph(const PlannerInfo* root, JoinGraph& graph) {
  const ListCell* cell;
  foreach (cell, root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (equivalence->ec_broken || is_below_outer_join(equivalence)) return false;
    if (list_length(equivalence->ec_members) == 1) continue;  // what the query sorts by
    List* members = NIL;
    RelationMask joined = 0;
    const ListCell* element;
    foreach (element, equivalence->ec_members) {
      const auto* const member = lfirst_node(EquivalenceMember, element);
      if (member->em_is_child || member->em_is_const) continue;
      const RelationMask mask = mask_of(root, member->em_relids);
      if (mask == 0) continue;
      members = lappend_int(members, static_cast<int>(mask));
      graph.together = lappend_int(graph.together, static_cast<int>(mask));
      joined |= mask;
    }
    // Equality with a constant is a condition of each relation.
    if (!equivalence->ec_has_const && std::popcount(joined) > 1) graph.classes = lappend(graph.classes, members);
  }
  foreach (cell, root->join_info_list) {
    const auto* const join = static_cast<const SpecialJoinInfo*>(lfirst(cell));
    graph.together =
        lappend_int(graph.together, static_cast<int>(mask_of(root, bms_union(join->min_lefthand, join->min_righthand))));
  }
  return true;
}

struct Parts {
  RelationMask masks[kParts];
  RelOptInfo* rels[kParts];
  double cost;     // rows read and looked up
  double lookups;  // see ListedJoin
};

/// Does an equality join each two of the parts, and none all three?
bool are_linked(const JoinGraph& graph, const RelationMask masks[kParts]) {
  bool linked[1 << kParts] = {};  // by the set of parts
  const ListCell* cell;
  foreach (cell, graph.classes) {
    unsigned touched = 0;
    const ListCell* member;
    foreach (member, static_cast<const List*>(lfirst(cell)))
      for (int part = 0; part < kParts; ++part)
        if ((static_cast<RelationMask>(lfirst_int(member)) & masks[part]) != 0) touched |= 1u << part;
    linked[touched] = true;
  }
  return linked[0b011] && linked[0b101] && linked[0b110] && !linked[0b111];
}

bool keep_together(const JoinGraph& graph, const RelationMask masks[kParts]) {
  const ListCell* cell;
  foreach (cell, graph.together) {
    const auto mask = static_cast<RelationMask>(lfirst_int(cell));
    bool fits = false;
    for (int part = 0; part < kParts; ++part) fits |= (mask & ~masks[part]) == 0;
    if (!fits) return false;
  }
  return true;
}

/// Adds the parts if the planner has a path for each.
List* add_parts(PlannerInfo* root, const RelationMask masks[kParts], List* ways) {
  Parts parts{};
  for (int part = 0; part < kParts; ++part) {
    parts.masks[part] = masks[part];
    parts.rels[part] = relation_of(root, relids_of(root, masks[part]));
    if (parts.rels[part] == nullptr) return ways;
  }
  // Each listed pair looks up the rows of its rarer item. The join of the list with an input has the rows of all its items.
  parts.lookups = -1;
  for (int input = 0; input < kList; ++input) {
    const RelOptInfo* const joined = relation_of(root, relids_of(root, masks[input] | masks[kList]));
    if (joined != nullptr && (parts.lookups < 0 || joined->rows < parts.lookups)) parts.lookups = joined->rows;
  }
  if (parts.lookups < 0) parts.lookups = parts.rels[0]->rows + parts.rels[1]->rows;
  parts.cost = parts.lookups + 10 * (parts.rels[0]->rows + parts.rels[1]->rows + parts.rels[kList]->rows);
  auto* const way = static_cast<Parts*>(palloc(sizeof(Parts)));
  *way = parts;
  return lappend(ways, way);
}

int by_cost(const ListCell* a, const ListCell* b) {
  const double difference = static_cast<const Parts*>(lfirst(a))->cost - static_cast<const Parts*>(lfirst(b))->cost;
  return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

/// The ways to divide the relations, the cheapest ones first: a list of Parts.
List* ways_to_divide(PlannerInfo* root, const JoinGraph& graph) {
  List* ways = NIL;
  const RelationMask all = (1u << bms_num_members(root->all_baserels)) - 1;
  for (RelationMask list = 1; list < all; ++list) {
    const RelationMask rest = all & ~list;
    const RelationMask first = rest & (~rest + 1);  // is on the left
    for (RelationMask left = first; left < rest; left = (left + 1) | first) {
      if ((left & list) != 0) continue;
      const RelationMask masks[kParts] = {left, rest & ~left, list};
      if (are_linked(graph, masks) && keep_together(graph, masks)) ways = add_parts(root, masks, ways);
    }
  }
  list_sort(ways, by_cost);
  return ways;
}

// ---- what a row of one part says

struct InPart {
  const PlannerInfo* root;
  Relids part;
  bool failed;
};

/// What a part has for a value of another one; nullptr: nothing. The two are equal in each row of the join.
Node* equal_in_part(const InPart& in, Node* expression) {
  const ListCell* cell;
  foreach (cell, in.root->eq_classes) {
    const auto* const equivalence = lfirst_node(EquivalenceClass, cell);
    if (equivalence->ec_has_const) continue;  // no path keeps its members for others
    bool found = false;
    List* others = NIL;
    const ListCell* element;
    foreach (element, equivalence->ec_members) {
      const auto* const member = lfirst_node(EquivalenceMember, element);
      if (member->em_is_child || member->em_is_const) continue;
      Node* const value = compared(member->em_expr);
      found |= equal(value, expression);
      if (!bms_is_empty(member->em_relids) && bms_is_subset(member->em_relids, in.part)) others = lappend(others, value);
    }
    if (!found || !equal_values_look_same(expression)) continue;
    foreach (element, others)
      if (exprType(node_of(lfirst(element))) == exprType(expression) && equal_values_look_same(node_of(lfirst(element))))
        return node_of(lfirst(element));
  }
  return nullptr;
}

/// Writes an expression with columns of a part only.
Node* put_in_part(Node* node, void* arg) {
  auto* const in = static_cast<InPart*>(arg);
  if (node == nullptr || in->failed) return node;
  // A list and a branch of CASE are no expressions, and the server cannot walk a branch alone.
  if (!IsA(node, List) && !IsA(node, CaseWhen)) {
    if (bms_is_subset(pull_varnos(const_cast<PlannerInfo*>(in->root), node), in->part))
      return static_cast<Node*>(copyObjectImpl(node));
    if (Node* const other = equal_in_part(*in, node); other != nullptr) return static_cast<Node*>(copyObjectImpl(other));
    if (IsA(node, Var) || IsA(node, PlaceHolderVar)) {
      in->failed = true;
      return node;
    }
  }
  return expression_tree_mutator(node, reinterpret_cast<Node* (*)()>(reinterpret_cast<void*>(put_in_part)), arg);
}

/// An expression with columns of a part; nullptr: a row of the part does not say its value.
Node* in_part(const PlannerInfo* root, const RelOptInfo* part, Node* expression) {
  InPart in{root, part->relids, false};
  Node* const written = put_in_part(expression, &in);
  return in.failed ? nullptr : written;
}

// ---- joins

/// Reads the equalities between two parts.
bool read_link(PlannerInfo* root, RelOptInfo* left, RelOptInfo* right, JoinProjectQuery& block, JoinProjectQuery& link) {
  link = {};
  link.sides[0].rel = left;
  link.sides[1].rel = right;
  const Relids both = bms_union(left->relids, right->relids);
  const ListCell* cell;
  foreach (cell, join_equalities(root, both, left->relids, right)) {
    const auto* const clause = lfirst_node(RestrictInfo, cell);
    if (!add_key(link, clause)) return block.refuse(Refusal::kKeyEquality, clause->clause);
  }
  return link.key_operators != NIL || block.refuse(Refusal::kNoKey);
}

struct Links {
  JoinProjectQuery inputs;    // with each other
  JoinProjectQuery items[2];  // of each input with the list
};

bool read_links(PlannerInfo* root, const Parts& parts, ListedJoin& join, Links& links) {
  if (!read_link(root, parts.rels[0], parts.rels[1], join.block, links.inputs)) return false;
  join.key_operators = links.inputs.key_operators;
  join.list.rel = parts.rels[kList];
  for (int input = 0; input < 2; ++input) {
    if (!read_link(root, parts.rels[input], parts.rels[kList], join.block, links.items[input])) return false;
    JoinProjectSide& side = join.inputs[input];
    side.rel = parts.rels[input];
    side.keys = links.inputs.sides[input].keys;
    side.codes = links.items[input].sides[0].keys;
    side.code_operators = join.code_operators[input] = links.items[input].key_operators;
  }
  join.list.keys = links.items[0].sides[1].keys;
  join.list.codes = links.items[1].sides[1].keys;
  return true;
}

/// Reads the other conditions between the parts: those that a row of one of them decides.
/// @param[out] conditions  of each part
bool read_conditions(PlannerInfo* root, const Parts& parts, ListedJoin& join, List* conditions[kParts]) {
  List* seen = NIL;
  for (int k = -1; (k = bms_next_member(root->all_baserels, k)) >= 0;) {
    const ListCell* cell;
    foreach (cell, find_base_rel(root, k)->joininfo) {
      auto* const clause = lfirst_node(RestrictInfo, cell);
      if (list_member_ptr(seen, clause)) continue;
      seen = lappend(seen, clause);
      if (clause->pseudoconstant || is_clone(clause)) return join.block.refuse(Refusal::kPseudoConstant, clause->clause);
      const RelationMask mask = mask_of(root, clause->required_relids);
      bool is_decided = false;
      for (const RelationMask part : parts.masks) is_decided |= (mask & ~part) == 0;  // by the planner's path
      for (int part = kList; part >= 0 && !is_decided; --part) {
        Node* const condition = in_part(root, parts.rels[part], node_of(clause->clause));
        if (condition == nullptr) continue;
        conditions[part] = lappend(conditions[part], condition);
        is_decided = true;
      }
      if (!is_decided) return join.block.refuse(Refusal::kListedClause, clause->clause);
    }
  }
  return true;
}

/// Reads the inputs once if they are copies of one another.
void find_copies(PlannerInfo* root, ListedJoin& join, const Links& links) {
  JoinProjectQuery pair = links.inputs;
  for (int input = 0; input < 2; ++input) {
    pair.sides[input].items = pair.sides[input].codes = join.inputs[input].codes;
    pair.sides[input].code_operators = join.code_operators[input];
  }
  join.self_join = make_copies(root, pair);
  if (!join.self_join) return;
  for (int input = 0; input < 2; ++input) {
    join.inputs[input].rel = pair.sides[input].rel;
    join.inputs[input].keys = pair.sides[input].keys;
  }
}

// ---- the answer

constexpr int kNoInput = -1;

struct OutputCheck {
  PlannerInfo* root;
  ListedJoin* join;
  const Links* links;
  const List* grouped;  // all expressions of GROUP BY or DISTINCT, also those that the planner has found to be constant
  const List* columns;  // see columns_of_groups()
};

/// Is an expression the only one of these codes, in each row of some relations? Integers may have another width in the code.
bool is_code(const PlannerInfo* root, Relids relids, const List* codes, Node* expression) {
  if (list_length(codes) != 1) return false;
  Node* const code = node_of(linitial(codes));
  if (!equal_values_look_same(expression) || !equal_values_look_same(code)) return false;
  if (equal(code, expression) || equal(code, as_int8(expression))) return true;
  return exprType(code) == exprType(expression) && are_equivalent(root, code, expression, relids);
}

/// The input of which a value is the code, in its own rows or in those of the list; kNoInput.
int source_of(const PlannerInfo* root, const ListedJoin& join, Node* expression, Node* in_list) {
  const List* const listed[2] = {join.list.keys, join.list.codes};
  for (int input = 0; input < 2; ++input) {
    if (is_code(root, join.inputs[input].rel->relids, join.inputs[input].codes, expression) ||
        (in_list != nullptr && is_code(root, join.list.rel->relids, listed[input], in_list)))
      return input;
  }
  return kNoInput;
}

/// Adds a value that the node returns. @param ref  see JoinProjectSide::item_refs
bool add_value(const OutputCheck& check, Node* expression, Oid equals, int ref) {
  JoinProjectQuery& block = check.join->block;
  JoinProjectSide& side = block.sides[0];
  if (!is_plain(expression)) return block.refuse(Refusal::kGroupVolatile, expression);
  const Oid type = exprType(expression);
  if (!is_own_equality(equals, type, exprCollation(expression)) || !op_hashjoinable(equals, type))
    return block.refuse(Refusal::kGroupEquality, expression);
  Node* const value = in_part(check.root, check.join->list.rel, expression);
  const int source = source_of(check.root, *check.join, expression, value);
  if (value == nullptr && source == kNoInput) return block.refuse(Refusal::kListedOutput, expression);
  side.items = lappend(side.items, expression);
  side.item_operators = lappend_oid(side.item_operators, equals);
  side.item_refs = lappend_int(side.item_refs, ref);
  check.join->values = lappend(check.join->values, value);
  check.join->sources = lappend_int(check.join->sources, source);
  return true;
}

/// Takes count(*), count(x) where x is never NULL, and count(DISTINCT key).
bool take_count(const OutputCheck& check, Aggref* aggregate) {
  JoinProjectQuery& block = check.join->block;
  if (list_member(block.aggregates, aggregate)) return true;
  if (state_of(aggregate) != AggregateState::kCount || aggregate->aggfilter != nullptr)
    return block.refuse(Refusal::kListedAggregate, aggregate);
  const JoinProjectCount counting = counted_by(check.root, check.links->inputs, aggregate);
  if (counting == JoinProjectCount::kNothing) return block.refuse(Refusal::kListedAggregate, aggregate);
  if (aggregate->args != NIL) {
    Node* const argument = node_of(linitial_node(TargetEntry, aggregate->args)->expr);
    bool counts_all = false;
    for (const JoinProjectQuery* const link : {&check.links->inputs, &check.links->items[0], &check.links->items[1]})
      counts_all |= is_never_null(check.root, *link, argument);
    if (!counts_all) return block.refuse(Refusal::kListedAggregate, aggregate);
  }
  if (block.counting != JoinProjectCount::kNothing && block.counting != counting)
    return block.refuse(Refusal::kTwoCountings, aggregate);
  block.counting = counting;
  block.aggregates = lappend(block.aggregates, aggregate);
  return true;
}

/// Walks an output expression. @return true (stop) at an expression that the node cannot compute
bool is_unknown(Node* node, void* arg) {
  const auto* const check = static_cast<const OutputCheck*>(arg);
  if (node == nullptr || item_index(check->join->block.sides[0], node) >= 0) return false;
  if (IsA(node, Aggref)) return !take_count(*check, castNode(Aggref, node));
  if (list_member(check->columns, node) || list_member(check->grouped, node))
    return !add_value(*check, node, lookup_type_cache(exprType(node), TYPECACHE_EQ_OPR)->eq_opr, 0);
  if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc) || IsA(node, WindowFunc))
    return !check->join->block.refuse(Refusal::kOutput, node);
  return expression_tree_walker(node, walker(is_unknown), arg);
}

bool read_output(const OutputCheck& check, List* having) {
  JoinProjectQuery& block = check.join->block;
  auto* const arg = const_cast<OutputCheck*>(&check);
  const ListCell* cell;
  foreach (cell, block.groups) {
    auto* const group = lfirst_node(SortGroupClause, cell);
    Node* const expression = get_sortgroupclause_expr(group, check.root->processed_tlist);
    if (!add_value(check, expression, group->hashable ? group->eqop : InvalidOid, static_cast<int>(group->tleSortGroupRef)))
      return false;
  }
  foreach (cell, block.target->exprs) {
    Node* const expression = node_of(lfirst(cell));
    if (contain_subplans(expression)) return block.refuse(Refusal::kSubplan, expression);
    if (is_unknown(expression, arg)) return false;
  }
  foreach (cell, having) {
    Node* const expression = node_of(lfirst(cell));
    if (!is_plain(expression)) return block.refuse(Refusal::kVolatileHaving, expression);
    if (is_unknown(expression, arg)) return false;
  }
  return true;
}

/// The index of the first nullptr of a list; -1: there is none.
int first_null(const List* list) {
  const ListCell* cell;
  foreach (cell, list)
    if (lfirst(cell) == nullptr) return foreach_current_index(cell);
  return -1;
}

/// Decides what becomes a row of the node, and whether the server must add rows up.
bool choose_answer(ListedJoin& join, List* having) {
  JoinProjectQuery& block = join.block;
  bool groups_by[2] = {false, false};
  const ListCell* source;
  const ListCell* ref;
  forboth(source, join.sources, ref, block.sides[0].item_refs) if (lfirst_int(source) != kNoInput && lfirst_int(ref) != 0)
      groups_by[lfirst_int(source)] = true;
  const bool are_codes = !list_member_int(join.sources, kNoInput);
  // A value that is no code is read from the list, and then all are.
  const int unknown = are_codes ? -1 : first_null(join.values);
  if (unknown >= 0) return block.refuse(Refusal::kListedOutput, list_nth(block.sides[0].items, unknown));
  join.answer = !are_codes ? ListedAnswer::kRow : block.groups == NIL ? ListedAnswer::kAll : ListedAnswer::kPair;
  block.finer = !are_codes || !groups_by[0] || !groups_by[1];
  if (block.finer && block.counting == JoinProjectCount::kKeys)
    return block.refuse(Refusal::kListedAggregate, linitial(block.aggregates));
  if (!block.finer) block.quals = having;
  return true;
}

/// Lets no row join that does not pass the conditions: it gets NULL for its first key.
void apply_conditions(JoinProjectSide& side, List* conditions) {
  if (conditions == NIL) return;
  auto* const key = static_cast<Expr*>(linitial(side.keys));
  const Oid collation = exprCollation(node_of(key));
  CaseWhen* const when = makeNode(CaseWhen);
  when->expr = make_ands_explicit(conditions);
  when->result = key;
  when->location = -1;
  CaseExpr* const choice = makeNode(CaseExpr);
  choice->casetype = exprType(node_of(key));
  choice->casecollid = collation;
  choice->args = list_make1(when);
  choice->defresult = reinterpret_cast<Expr*>(makeNullConst(choice->casetype, exprTypmod(node_of(key)), collation));
  choice->location = -1;
  side.keys = list_copy(side.keys);
  linitial(side.keys) = choice;
}

/// Reads a block whose relations are divided.
bool recognize_division(PlannerInfo* root, const Parts& parts, const List* grouped, List* having, ListedJoin& join) {
  Links links;
  List* conditions[kParts] = {NIL, NIL, NIL};
  if (!read_links(root, parts, join, links) || !read_conditions(root, parts, join, conditions)) return false;
  const OutputCheck check{root, &join, &links, grouped, columns_of_groups(root, grouped, having)};
  if (!read_output(check, having) || !choose_answer(join, having)) return false;
  if (conditions[0] == NIL && conditions[1] == NIL) find_copies(root, join, links);
  for (int input = 0; input < 2; ++input) apply_conditions(join.inputs[input], conditions[input]);
  apply_conditions(join.list, conditions[kList]);
  join.lookups = parts.lookups;
  return true;
}

/// Does the stage group rows, take DISTINCT of them, or count all of them?
bool is_counted(const PlannerInfo* root, UpperRelationKind stage) {
  return groups_rows(root, stage) || (stage == UPPERREL_GROUP_AGG && root->parse->hasAggs);
}

}  // namespace

bool recognize_listed_pairs(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                            ListedJoin& join) {
  join = {};
  const int relations = bms_num_members(root->all_baserels);
  if (relations < kParts || relations > kMaxListedRelations || root->hasLateralRTEs || !is_counted(root, stage))
    return false;
  JoinGraph graph;
  if (!read_graph(root, graph) || list_length(graph.classes) < kParts) return false;
  List* const ways = ways_to_divide(root, graph);
  // For what all nodes refuse, the first one has noted the reason.
  JoinProjectQuery checked{};
  if (ways == NIL || !is_plain_block(root, stage, input, checked) || !relations_are_plain(root, checked)) return false;
  const bool grouped = stage == UPPERREL_GROUP_AGG;
  ListedJoin block{};
  block.block.target = grouped ? output->reltarget : root->upper_targets[UPPERREL_DISTINCT];
  block.block.groups = grouped ? group_clause(root) : distinct_clause(root);
  // With nothing left to group by, there are still no groups if there are no rows.
  if (block.block.groups == NIL && groups_rows(root, stage)) return false;
  auto* const having = grouped ? reinterpret_cast<List*>(root->parse->havingQual) : NIL;
  const Query* const parse = root->parse;
  const List* const all_grouped =
      get_sortgrouplist_exprs(parse->groupClause != NIL ? parse->groupClause : parse->distinctClause, root->processed_tlist);
  const ListCell* cell;
  foreach (cell, ways) {
    ListedJoin divided = block;
    divided.block.refusal = join.block.refusal;
    divided.block.about = join.block.about;
    if (recognize_division(root, *static_cast<const Parts*>(lfirst(cell)), all_grouped, having, divided)) {
      join = divided;
      return true;
    }
    join.block.refusal = divided.block.refusal;
    join.block.about = divided.block.about;
  }
  return false;
}

}  // namespace batmap::pg
