// Reads the statistics of the planner. See item_supports.h.
#include "extension/input/item_supports.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

void add_items(ItemSupports& supports, double items, double support) {
  constexpr double kAlmost = 1.1;
  support = Min(Max(support, 1), supports.transactions);
  SupportClass* last = supports.count > 0 ? &supports.classes[supports.count - 1] : nullptr;
  const bool is_near = last != nullptr && support * kAlmost > last->support && last->support * kAlmost > support;
  if (!is_near && supports.count < ItemSupports::kMaxClasses) {
    supports.classes[supports.count++] = {items, support};
    return;
  }
  last->support += (support - last->support) * items / (last->items + items);
  last->items += items;
}

double distinct_values(PlannerInfo* root, List* expressions, double rows) {
  return Max(1, estimate_num_groups(root, expressions, rows, nullptr, nullptr));
}

/// The array whose elements an expression is. @return nullptr: it is something else
Node* unnested_array(PlannerInfo* root, Node* item) {
  if (IsA(item, Var) && castNode(Var, item)->varlevelsup == 0) {
    const auto* const column = castNode(Var, item);
    const RangeTblEntry* const entry = planner_rt_fetch(column->varno, root);
    if (entry->rtekind != RTE_FUNCTION || list_length(entry->functions) != 1 || column->varattno != 1) return nullptr;
    item = linitial_node(RangeTblFunction, entry->functions)->funcexpr;
  }
  if (item == nullptr || !IsA(item, FuncExpr) || castNode(FuncExpr, item)->funcid != F_UNNEST_ANYARRAY) return nullptr;
  return static_cast<Node*>(linitial(castNode(FuncExpr, item)->args));
}

/// The mean number of different elements of an array. @return 0: unknown
double mean_elements(HeapTuple statistics) {
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, statistics, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS)) return 0;
  const double mean = slot.nnumbers > 0 ? slot.numbers[slot.nnumbers - 1] : 0;
  free_attstatsslot(&slot);
  return mean;
}

}  // namespace

bool element_supports(PlannerInfo* root, Node* item, double transactions, ItemSupports& supports) {
  constexpr int kOthers = 3;  // numbers after those of elements: the smallest, the largest, that of NULL
  Node* const array = unnested_array(root, item);
  if (array == nullptr) return false;
  VariableStatData statistics{};
  AttStatsSlot slot;
  examine_variable(root, array, 0, &statistics);
  const double mean = HeapTupleIsValid(statistics.statsTuple) ? mean_elements(statistics.statsTuple) : 0;
  bool known = false;
  if (mean > 0 && get_attstatsslot(&slot, statistics.statsTuple, STATISTIC_KIND_MCELEM, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
    known = slot.nnumbers > kOthers;
    if (known) {
      const int elements = slot.nnumbers - kOthers;
      const double arrays = 1 - reinterpret_cast<Form_pg_statistic>(GETSTRUCT(statistics.statsTuple))->stanullfrac;
      supports = {};
      supports.transactions = Max(1, transactions * arrays);
      supports.rows = Max(1, supports.transactions * mean);
      double rest = supports.rows;
      for (int k = 0; k < elements; ++k) {
        add_items(supports, 1, slot.numbers[k] * supports.transactions);
        rest -= slot.numbers[k] * supports.transactions;
      }
      const double other = Max(1, slot.numbers[elements] * supports.transactions / 2);
      if (rest > other) add_items(supports, rest / other, other);
    }
    free_attstatsslot(&slot);
  }
  ReleaseVariableStats(statistics);
  return known;
}

double ItemSupports::frequent(double min_count) const {
  double found = 0;
  for (const SupportClass& each : items())
    if (each.support >= min_count) found += each.items;
  return found;
}

double ItemSupports::frequent_share(double min_count) const {
  double found = 0;
  for (const SupportClass& each : items())
    if (each.support >= min_count) found += each.items * each.support;
  return found / rows;
}

ItemSupports item_supports(PlannerInfo* root, List* tids, List* items, double rows) {
  ItemSupports supports{};
  supports.rows = Max(rows, 1);
  supports.transactions = distinct_values(root, tids, supports.rows);
  if (list_length(items) == 1 &&
      element_supports(root, static_cast<Node*>(linitial(items)), supports.transactions, supports))
    return supports;
  double others = distinct_values(root, items, supports.rows);  // items that are not among the most common values
  double share = 1;                                             // of the rows, that those items have
  VariableStatData statistics{};
  AttStatsSlot slot;
  if (list_length(items) == 1) examine_variable(root, static_cast<Node*>(linitial(items)), 0, &statistics);
  if (HeapTupleIsValid(statistics.statsTuple)) {
    share -= reinterpret_cast<Form_pg_statistic>(GETSTRUCT(statistics.statsTuple))->stanullfrac;
    if (get_attstatsslot(&slot, statistics.statsTuple, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
      // A filter that leaves fewer values than are most common has left out some of them, nobody knows which.
      for (int k = 0; k < slot.nnumbers && slot.nnumbers <= others + 0.5; ++k) {
        add_items(supports, 1, slot.numbers[k] * supports.rows);
        share -= slot.numbers[k];
      }
      others -= supports.count > 0 ? slot.nnumbers : 0;
      free_attstatsslot(&slot);
    }
  }
  if (list_length(items) == 1) ReleaseVariableStats(statistics);
  if (others >= 0.5 && share > 0) add_items(supports, others, share * supports.rows / others);
  return supports;
}

}  // namespace batmap::pg
