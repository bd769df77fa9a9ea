// See join_estimate.h.
#include "extension/plan/join/join_estimate.h"

#include "extension/input/item_supports.h"
#include "extension/plan/query/join_unnest.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// A number that the planner knows. @return `otherwise` if it does not
double known_number(PlannerInfo* root, Node* expression, double otherwise) {
  if (expression == nullptr) return otherwise;
  Node* const value = estimate_expression_value(root, expression);
  if (!IsA(value, Const) || castNode(Const, value)->constisnull) return otherwise;
  return static_cast<double>(DatumGetInt64(castNode(Const, value)->constvalue));
}

/// What is counted on one side. @return false: there are no statistics
bool supports_of(PlannerInfo* root, const JoinProjectQuery& query, const JoinProjectSide& side, ItemSupports& supports) {
  if (query.expansion != nullptr)
    return list_length(side.codes) == 1 &&
           element_supports(root, static_cast<Node*>(linitial(side.codes)), query.expansion->rows->rows, supports);
  const double share = query.grouped ? query.share_of_keys : 1;
  supports = item_supports(root, side.keys, side.codes, side.rel->rows * share);
  if (share < 1)
    supports.transactions = Max(1, estimate_num_groups(root, side.keys, side.rel->rows, nullptr, nullptr) * share);
  return true;
}

/// Pairs of codes with at least `min_count`, without other conditions.
double expected_codes(const JoinProjectQuery& query, const ItemSupports* supports, double min_count) {
  const ItemSupports& right = supports[query.self_join ? 0 : 1];
  const double transactions = Max(supports[0].transactions, right.transactions);
  if (query.order != PairCondition::kNone) {
    const double pairs = expected_pairs(supports[0].items(), transactions, min_count);
    return query.order == PairCondition::kNotEqual ? 2 * pairs : pairs;
  }
  return expected_joined_pairs(supports[0].items(), right.items(), transactions, min_count);
}

}  // namespace

double min_count_of(PlannerInfo* root, const JoinProjectQuery& query) {
  const double bound = known_number(root, reinterpret_cast<Node*>(query.threshold), 1);
  return Max(1, bound + (query.threshold_excluded ? 1 : 0));
}

double expected_rows(PlannerInfo* root, const JoinProjectQuery& query, double joined_rows, double plain_rows) {
  const double limit = known_number(root, query.limit, joined_rows) + known_number(root, query.offset, 0);
  // Groups by more than the pair have no counts that statistics tell of.
  ItemSupports supports[2];
  for (int side = 0; side < (query.self_join ? 1 : 2); ++side)
    if (query.shared.items != NIL || !supports_of(root, query, query.sides[side], supports[side]))
      return clamp_row_est(Min(plain_rows, limit));
  const double min_count = min_count_of(root, query);
  double rows =
      expected_codes(query, supports, min_count) * clauselist_selectivity(root, query.quals, 0, JOIN_INNER, nullptr);
  if (query.grouped) {
    // The counts of some pairs of codes add up to that of a group: of as many rows as other groups, or of more.
    List* const items = list_concat_copy(query.sides[0].items, query.sides[1].items);
    const double groups = estimate_num_groups(root, items, joined_rows, nullptr, nullptr);
    const double mean = joined_rows / groups;
    rows = Min(groups, Max(rows, groups * probability_of_count(mean, mean, min_count)));
  }
  return clamp_row_est(Min(rows, limit));
}

}  // namespace batmap::pg
