// See sorted_limit.h.
#include "extension/streams/sorted_limit.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr int64_t kMostRows = 100000;  // above this, the heap of the best rows costs more than it saves

/// Does the value stay the same during a run?
bool is_fixed(PlannerInfo* root, Node* expression) {
  return bms_is_empty(pull_varnos(root, expression)) && !contain_agg_clause(expression) && is_plain(expression);
}

}  // namespace

bool is_plain(Node* expression) { return !contain_volatile_functions(expression) && !contain_subplans(expression); }

std::optional<SortedLimit> sorted_limit(PlannerInfo* root) {
  const Query* const parse = root->parse;
  if (parse->sortClause == NIL || parse->limitCount == nullptr || parse->distinctClause != NIL || parse->hasWindowFuncs ||
      parse->hasTargetSRFs)
    return std::nullopt;
  const auto* const first = linitial_node(SortGroupClause, parse->sortClause);
  if (get_op_opfamily_strategy(first->sortop, INTEGER_BTREE_FAM_OID) != BTGreaterStrategyNumber &&
      get_op_opfamily_strategy(first->sortop, kFloatOrder) != BTGreaterStrategyNumber)
    return std::nullopt;
  if (!is_fixed(root, parse->limitCount) || (parse->limitOffset != nullptr && !is_fixed(root, parse->limitOffset)))
    return std::nullopt;
  return SortedLimit{get_sortgroupclause_expr(const_cast<SortGroupClause*>(first), root->processed_tlist), parse->limitCount,
                     parse->limitOffset, list_length(parse->sortClause) > 1 || parse->limitOption == LIMIT_OPTION_WITH_TIES};
}

std::optional<int64_t> rows_in_front(ExprState* limit, ExprState* offset, ExprContext* context) {
  if (limit == nullptr) return std::nullopt;
  bool is_null;
  const int64 rows = DatumGetInt64(ExecEvalExprSwitchContext(limit, context, &is_null));
  if (is_null || rows < 1 || rows > kMostRows) return std::nullopt;
  if (offset == nullptr) return rows;
  int64 skipped = DatumGetInt64(ExecEvalExprSwitchContext(offset, context, &is_null));
  if (is_null) skipped = 0;
  if (skipped < 0 || skipped > kMostRows) return std::nullopt;
  return rows + skipped;
}

}  // namespace batmap::pg
