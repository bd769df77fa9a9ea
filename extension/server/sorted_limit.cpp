// See sorted_limit.h.
#include "extension/server/sorted_limit.h"

#include <algorithm>

#include "extension/server/backend.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr size_t kMostRows = 100000;  // above this, the heap of the best rows costs more than it saves
constexpr size_t kRowBytes = 256;     // of a row that is kept: a heap that has just grown, the answer, rows that wait
constexpr size_t kShareOfMemory = 8;  // of batmap.memory_limit, an eighth

/// Has a bound the same value each time? The plan above evaluates it, too.
bool is_fixed(PlannerInfo* root, Node* bound) {
  return bms_is_empty(pull_varnos(root, bound)) && !contain_agg_clause(bound) && !contain_mutable_functions(bound) &&
         !contain_subplans(bound);
}

bool is_null(const Node* bound) { return IsA(bound, Const) && castNode(const Const, bound)->constisnull; }

}  // namespace

bool is_plain(Node* expression) { return !contain_volatile_functions(expression) && !contain_subplans(expression); }

std::optional<SortedLimit> sorted_limit(PlannerInfo* root) {
  const Query* const parse = root->parse;
  if (parse->sortClause == NIL || parse->limitCount == nullptr || is_null(parse->limitCount) ||
      parse->distinctClause != NIL || parse->hasWindowFuncs || parse->hasTargetSRFs ||
      contain_volatile_functions(reinterpret_cast<Node*>(root->processed_tlist)))
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
  const auto value = [&](ExprState* bound) {
    bool is_null = true;
    const int64 rows = bound == nullptr ? 0 : DatumGetInt64(ExecEvalExprSwitchContext(bound, context, &is_null));
    return is_null ? 0 : rows;
  };
  const auto most = static_cast<int64>(std::min(kMostRows, memory_limit_bytes() / kShareOfMemory / kRowBytes));
  const int64 rows = value(limit);
  const int64 skipped = value(offset);
  if (rows < 1 || rows > most || skipped < 0 || skipped > most - rows) return std::nullopt;
  return rows + skipped;
}

char* bound_text(Node* bound, List* names) {
  if (IsA(bound, OpExpr) && castNode(OpExpr, bound)->opfuncid == F_INT8PL) {
    const List* const terms = castNode(OpExpr, bound)->args;
    return psprintf("%s + %s", bound_text(static_cast<Node*>(linitial(terms)), names),
                    bound_text(static_cast<Node*>(lsecond(terms)), names));
  }
  const Const* const value = IsA(bound, Const) ? castNode(Const, bound) : nullptr;
  if (value == nullptr || value->consttype != INT8OID || value->constisnull)
    return deparse_expression(bound, names, true, false);
  return psprintf(INT64_FORMAT, DatumGetInt64(value->constvalue));
}

}  // namespace batmap::pg
