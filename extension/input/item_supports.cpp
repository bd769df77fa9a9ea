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

}  // namespace

double ItemSupports::frequent(double min_count) const {
  double found = 0;
  for (const SupportClass& each : items())
    if (each.support >= min_count) found += each.items;
  return found;
}

ItemSupports item_supports(PlannerInfo* root, List* tids, List* items, double rows) {
  ItemSupports supports{};
  supports.rows = Max(rows, 1);
  supports.transactions = distinct_values(root, tids, supports.rows);
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
