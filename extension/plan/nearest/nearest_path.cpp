// Recognises the order and estimates its cost. See nearest_path.h.
//
// The order must be that of one relation alone: ORDER BY tags <%> query, ascending, NULLS LAST, where `query` is a constant, a
// parameter or a subquery that is computed once. The index may be partial if the planner has proved that the query wants only
// rows in it; the other rows are read, too, when the index has no more, and the conditions of the query drop them.
#include "extension/plan/nearest/nearest_path.h"

#include <algorithm>
#include <cmath>

#include "extension/server/columns_read.h"
#include "extension/server/settings.h"
#include "extension/server/sorted_limit.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_gin.h"
#include "extension/types/set_likeness.h"
#include "extension/types/set_statistics.h"
#include "set/set_decode.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr int kConsistentFunction = 4;

// Costs in units of cpu_operator_cost.
constexpr double kListOperators = 100;     // to start reading the list of an element
constexpr double kEntryOperators = 2.5;    // an entry of a list
constexpr double kCompareOperators = 100;  // the cost of the function <%>

/// So many rows are compared before the first is known.
constexpr double kComparedRows = 100;
/// Of the lists, those of the rarest elements are read: of this share of the elements.
constexpr double kReadShare = 0.6;
/// The elements of a query of which nothing is known.
constexpr double kDefaultElements = 10;

/// The expression of the wanted order for this relation. @return nullptr: the order is not that of one of its expressions
Node* ordering_expression(PlannerInfo* root, RelOptInfo* rel) {
  if (root->query_pathkeys == NIL) return nullptr;
  const auto* const order = linitial_node(PathKey, root->query_pathkeys);
  if (order->pk_opfamily != kFloatOrder || !is_ascending(order) || order->pk_nulls_first) return nullptr;
  if (order->pk_eclass->ec_has_volatile) return nullptr;
  const bool is_child = rel->reloptkind == RELOPT_OTHER_MEMBER_REL;
  const ListCell* cell;
  foreach (cell, order->pk_eclass->ec_members) {
    const auto* const member = lfirst_node(EquivalenceMember, cell);
    if (member->em_is_child || !bms_equal(member->em_relids, is_child ? rel->top_parent_relids : rel->relids)) continue;
    auto* const expression = reinterpret_cast<Node*>(member->em_expr);
    return is_child ? expression_of_child(root, expression, rel) : expression;
  }
  return nullptr;
}

/// Can the column of an index be searched for the elements of sets of this type?
bool is_set_column(const IndexOptInfo* index, int column, Oid type) {
  if (index->opcintype[column] != type) return false;
  const Oid consistent = get_opfamily_proc(index->opfamily[column], type, type, kConsistentFunction);
  return OidIsValid(consistent) && is_set_index(consistent);
}

/// Splits the expression into the set of the index column and the query. @return false: it is not such
bool match_index(const IndexOptInfo* index, Node* expression, NearestPlan& plan) {
  if (!IsA(expression, OpExpr)) return false;
  const auto* const distance = castNode(OpExpr, expression);
  if (list_length(distance->args) != 2) return false;
  auto* const left = static_cast<Node*>(linitial(distance->args));
  auto* const right = static_cast<Node*>(lsecond(distance->args));
  for (int column = 0; column < index->nkeycolumns; ++column) {
    for (const bool commuted : {false, true}) {
      Node* const set = commuted ? right : left;
      Node* const query = commuted ? left : right;
      if (!match_index_to_operand(set, column, const_cast<IndexOptInfo*>(index)) || contain_var_clause(query) ||
          contain_volatile_functions(query) || exprType(query) != exprType(set) ||
          !is_set_column(index, column, exprType(set)) || !is_jaccard_distance(get_opcode(distance->opno)))
        continue;
      plan = {index->indexoid, column + 1, set, query, 0};
      return true;
    }
  }
  return false;
}

/// Does the plan need a column of the system that the rows of the node do not have?
bool wants_system_columns(const RelOptInfo* rel) {
  const Bitmapset* const columns = columns_read(rel);
  for (int column = rel->min_attr; column < 0; ++column) {
    if (column == SelfItemPointerAttributeNumber || column == TableOidAttributeNumber) continue;
    if (is_column_read(columns, column)) return true;
  }
  return false;
}

/// What a search reads.
struct SearchSize {
  double elements;  // of the query
  double entries;   // of the lists that are read
  double in_lists;  // sets that share an element with the query
};

/// @param set  a constant
SearchSize size_of_constant(const ElementStatistics& s, Datum set, double rows) {
  const uint64_t cardinality = header_of_datum(set).cardinality();
  if (cardinality > static_cast<uint64_t>(kMaxQueryKeys)) return {static_cast<double>(cardinality), rows, rows};
  SetWork* const work = open_work();
  const SetView view = set_of_datum(set);
  guarded([&] { decode(view, work->elements, work->options); });
  const size_t count = work->elements.size();
  auto* const lengths = static_cast<double*>(palloc(sizeof(double) * std::max<size_t>(count, 1)));
  double all = 0;
  for (size_t k = 0; k < count; ++k) all += lengths[k] = s.frequency(static_cast<int64>(work->elements[k])) * rows;
  close_work(work);
  std::sort(lengths, lengths + count);
  SearchSize size{static_cast<double>(count), 0, std::min(all, rows)};
  for (size_t k = 0; k < static_cast<size_t>(std::ceil(kReadShare * static_cast<double>(count))); ++k)
    size.entries += lengths[k];
  return size;
}

SearchSize size_of_search(PlannerInfo* root, const RelOptInfo* rel, const NearestPlan& plan) {
  VariableStatData variable;
  examine_variable(root, plan.set, static_cast<int>(rel->relid), &variable);
  const ElementStatistics s = element_statistics(&variable, InvalidOid);
  ReleaseVariableStats(variable);
  Node* const query = estimate_expression_value(root, plan.query);
  if (s.known && IsA(query, Const) && !castNode(Const, query)->constisnull)
    return size_of_constant(s, castNode(Const, query)->constvalue, rel->tuples);
  if (!s.known) return {kDefaultElements, 0.01 * kDefaultElements * rel->tuples, rel->tuples};
  // The query is like a set of the column: it has each element with the frequency of the element. Rare ones come first.
  auto* const frequencies = static_cast<float4*>(palloc(sizeof(float4) * static_cast<size_t>(s.common_count + 1)));
  std::copy_n(s.frequencies, s.common_count, frequencies);
  std::sort(frequencies, frequencies + s.common_count);
  double elements = s.other_count * s.other_frequency;
  double entries = elements * s.other_frequency;
  double all = entries;
  for (int k = 0; k < s.common_count; ++k) {
    const double instances = static_cast<double>(frequencies[k]) * frequencies[k];
    all += instances;
    if (elements < kReadShare * s.mean_cardinality) entries += instances;
    elements += frequencies[k];
  }
  pfree(frequencies);
  return {s.mean_cardinality, entries * rel->tuples, std::min(all, 1.0) * rel->tuples};
}

/// How many rows the query takes from the relation, if it has a LIMIT.
int rows_wanted(const PlannerInfo* root, const RelOptInfo* rel) {
  if (root->limit_tuples <= 0) return 0;
  const double rows = root->limit_tuples * std::max(rel->tuples / std::max(rel->rows, 1.0), 1.0);
  return static_cast<int>(std::min(rows, static_cast<double>(INT_MAX)));
}

void set_cost(PlannerInfo* root, const RelOptInfo* rel, const IndexOptInfo* index, const NearestPlan& plan, Path* path) {
  const SearchSize size = size_of_search(root, rel, plan);
  const double compare = cpu_tuple_cost + kCompareOperators * cpu_operator_cost;
  const double compared = std::min(kComparedRows, rel->tuples);
  // Each list reads the entries that wait to be put into the index.
  GinStatsData statistics{};
  const Relation relation = index_open(index->indexoid, NoLock);
  ginGetStats(relation, &statistics);
  index_close(relation, NoLock);
  const double list = kListOperators * cpu_operator_cost + random_page_cost + statistics.nPendingPages * seq_page_cost;
  path->startup_cost = rel->baserestrictcost.startup + size.elements * list +
                       size.entries * kEntryOperators * cpu_operator_cost + compared * (random_page_cost + compare);
  // All rows: those in lists are fetched one by one, and two scans find the others.
  path->total_cost = path->startup_cost + size.in_lists * (random_page_cost + compare) +
                     2 * (rel->pages * seq_page_cost + rel->tuples * compare) +
                     rel->tuples * rel->baserestrictcost.per_tuple;
}

}  // namespace

// Positions in CustomPath::custom_private.
enum PathList { kPathSet, kPathQuery, kPathIndex };

NearestPlan nearest_plan(const CustomPath* path) {
  const auto* const index = static_cast<const List*>(list_nth(path->custom_private, kPathIndex));
  return {static_cast<Oid>(linitial_int(index)), lsecond_int(index),
          static_cast<Node*>(list_nth(path->custom_private, kPathSet)),
          static_cast<Node*>(list_nth(path->custom_private, kPathQuery)), lthird_int(index)};
}

void add_nearest_paths(PlannerInfo* root, RelOptInfo* rel, const RangeTblEntry* entry, const CustomPathMethods* methods) {
  if (!settings.enable_nearest || GinFuzzySearchLimit > 0) return;
  if (rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL) return;
  // Versions of locked rows are looked at again in a slot of the table; the rows of this node have another one.
  if (root->rowMarks != NIL || root->parse->commandType != CMD_SELECT) return;
  if (entry->rtekind != RTE_RELATION || entry->inh || entry->tablesample != nullptr || rel->indexlist == NIL) return;
  Node* const expression = ordering_expression(root, rel);
  if (expression == nullptr) return;
  const ListCell* cell;
  foreach (cell, rel->indexlist) {
    const auto* const index = lfirst_node(IndexOptInfo, cell);
    NearestPlan plan;
    if (index->relam != GIN_AM_OID || index->hypothetical || (index->indpred != NIL && !index->predOK) ||
        !match_index(index, expression, plan) || wants_system_columns(rel))
      continue;
    // All rows are compared, also those that the index leaves out and those that row-level security hides: for them, an expression
    // may fail, and say why.
    if (!IsA(plan.set, Var) && (index->indpred != NIL || (root->qual_security_level > 0 && contain_leaked_vars(plan.set))))
      continue;
    CustomPath* const path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = rel;
    path->path.pathtarget = rel->reltarget;
    path->path.param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
    path->path.parallel_safe = rel->consider_parallel;
    path->path.rows = path->path.param_info != nullptr ? path->path.param_info->ppi_rows : rel->rows;
    path->path.pathkeys = list_make1(linitial(root->query_pathkeys));
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->methods = methods;
    path->custom_private =
        list_make3(plan.set, plan.query, list_make3_int(static_cast<int>(plan.index), plan.column, rows_wanted(root, rel)));
    set_cost(root, rel, index, plan, &path->path);
    add_path(rel, &path->path);
  }
}

}  // namespace batmap::pg
