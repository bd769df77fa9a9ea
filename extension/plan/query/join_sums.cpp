// Finds the factors of aggregates. See join_sums.h.
#include "extension/plan/query/join_sums.h"

#include "extension/plan/query/join_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

bool result_of(const Aggref* aggregate, SumResult& result) {
  switch (aggregate->aggfnoid) {
    case F_COUNT_:
    case F_COUNT_ANY: result = SumResult::kCount; return true;
    case F_SUM_INT2:
    case F_SUM_INT4: result = SumResult::kInt8; return true;
    case F_SUM_INT8:
    case F_SUM_NUMERIC: result = SumResult::kNumeric; return true;
    case F_AVG_INT2:
    case F_AVG_INT4:
    case F_AVG_INT8:
    case F_AVG_NUMERIC: result = SumResult::kAverage; return true;
    default: return false;
  }
}

/// Is it a product that is exact where its type holds it? @param[out] bytes  of that type; 0: any number fits
bool is_product(const OpExpr* operation, int& bytes) {
  switch (get_opcode(operation->opno)) {
    case F_INT2MUL: bytes = 2; return true;
    case F_INT4MUL:
    case F_INT24MUL:
    case F_INT42MUL: bytes = 4; return true;
    case F_INT8MUL:
    case F_INT82MUL:
    case F_INT28MUL:
    case F_INT84MUL:
    case F_INT48MUL: bytes = 8; return true;
    case F_NUMERIC_MUL: bytes = 0; return true;
    default: return false;
  }
}

/// An integer that is cast to numeric stays an integer.
Node* without_cast(Node* expression) {
  if (!IsA(expression, FuncExpr)) return expression;
  const auto* const call = castNode(FuncExpr, expression);
  const bool casts = call->funcid == F_NUMERIC_INT2 || call->funcid == F_NUMERIC_INT4 || call->funcid == F_NUMERIC_INT8;
  return casts ? node_of(linitial(call->args)) : expression;
}

bool is_number(Node* expression) {
  const Oid type = exprType(expression);
  return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID;
}

/// The operator int8 * int8, which has no name in the headers of the server.
constexpr Oid kInt8Times = 686;

/// A product of two integers of 32 bits or less as one of 64 bits, which does not overflow. @return another expression as it is
/// @param[out] bytes  of the type of the product; 0: it is none
Node* widened(Node* expression, int& bytes) {
  if (!IsA(expression, OpExpr) || !is_product(castNode(OpExpr, expression), bytes) || bytes == 0 || bytes > 4) {
    bytes = 0;
    return expression;
  }
  const List* const factors = castNode(OpExpr, expression)->args;
  Expr* const product =
      make_opclause(kInt8Times, INT8OID, false, reinterpret_cast<Expr*>(as_int8(node_of(linitial(factors)))),
                    reinterpret_cast<Expr*>(as_int8(node_of(lsecond(factors)))), InvalidOid, InvalidOid);
  castNode(OpExpr, product)->opfuncid = F_INT8MUL;
  return node_of(product);
}

bool is_widened(const OpExpr* operation) {
  const ListCell* cell;
  foreach (cell, operation->args) {
    const auto* const factor = static_cast<const FuncExpr*>(lfirst(cell));
    if (!IsA(factor, FuncExpr) || (factor->funcid != F_INT8_INT2 && factor->funcid != F_INT8_INT4)) return false;
  }
  return operation->opno == kInt8Times;
}

/// Comparisons of numerics, and +, - and *, which fail beyond 131,072 digits only. Those of integers overflow.
bool computes_numerics(const OpExpr* operation) {
  switch (get_opcode(operation->opno)) {
    case F_NUMERIC_EQ:
    case F_NUMERIC_NE:
    case F_NUMERIC_GT:
    case F_NUMERIC_GE:
    case F_NUMERIC_LT:
    case F_NUMERIC_LE:
    case F_NUMERIC_ADD:
    case F_NUMERIC_SUB:
    case F_NUMERIC_MUL: return true;
    default: return false;
  }
}

/// A function that is leakproof raises no errors.
bool is_fallible(Oid function, void*) { return !get_func_leakproof(function); }

/// May an expression raise an error? Factors and conditions are computed for every row of their side, the plain plan computes them
/// for rows that join, and factors where the conditions hold.
bool may_fail(Node* node, void* context) {
  if (node == nullptr) return false;
  switch (nodeTag(node)) {
    case T_List:
    case T_Var:
    case T_Const:
    case T_Param:
    case T_RelabelType:
    case T_BoolExpr:
    case T_CaseExpr:
    case T_CaseWhen:
    case T_CaseTestExpr:
    case T_CoalesceExpr:
    case T_NullTest:
    case T_BooleanTest: break;
    case T_FuncExpr:
      if (without_cast(node) == node && check_functions_in_node(node, is_fallible, nullptr)) return true;
      break;
    case T_OpExpr:
      if (!computes_numerics(castNode(OpExpr, node)) && !is_widened(castNode(OpExpr, node)) &&
          check_functions_in_node(node, is_fallible, nullptr))
        return true;
      break;
    case T_DistinctExpr:
    case T_NullIfExpr:
    case T_ScalarArrayOpExpr:
    case T_MinMaxExpr:
      if (check_functions_in_node(node, is_fallible, nullptr)) return true;
      break;
    default: return true;
  }
  return expression_tree_walker(node, walker(may_fail), context);
}

/// The factors and the condition of one aggregate, by side.
struct Parts {
  Node* factors[2] = {nullptr, nullptr};
  List* conditions[2] = {NIL, NIL};
  int bytes = 0;
};

/// Splits the argument of a sum.
bool split_argument(PlannerInfo* root, const JoinProjectQuery& query, Node* argument, Parts& parts) {
  const int side = side_of(root, query, argument);
  if (side >= 0) {
    parts.factors[side] = widened(without_cast(argument), parts.bytes);
    return is_number(parts.factors[side]);
  }
  if (!IsA(argument, OpExpr) || !is_product(castNode(OpExpr, argument), parts.bytes)) return false;
  const ListCell* cell;
  foreach (cell, castNode(OpExpr, argument)->args) {
    Node* const factor = without_cast(node_of(lfirst(cell)));
    const int of = side_of(root, query, factor);
    if (of < 0 || parts.factors[of] != nullptr || !is_number(factor)) return false;
    parts.factors[of] = factor;
  }
  return true;
}

/// Splits FILTER into conditions of one side each.
bool split_condition(PlannerInfo* root, const JoinProjectQuery& query, Node* condition, Parts& parts) {
  ListCell* cell;
  foreach (cell, make_ands_implicit(reinterpret_cast<Expr*>(condition))) {
    const int side = side_of(root, query, node_of(lfirst(cell)));
    if (side < 0) return false;
    parts.conditions[side] = lappend(parts.conditions[side], lfirst(cell));
  }
  return true;
}

/// The factor where the conditions hold.
Node* where(Node* factor, List* conditions) {
  if (conditions == NIL) return factor;
  Expr* const condition = make_ands_explicit(static_cast<List*>(copyObjectImpl(conditions)));
  if (factor == nullptr) return reinterpret_cast<Node*>(condition);
  CaseWhen* const when = makeNode(CaseWhen);
  when->expr = condition;
  when->result = static_cast<Expr*>(copyObjectImpl(factor));
  when->location = -1;
  CaseExpr* const choice = makeNode(CaseExpr);
  choice->casetype = exprType(factor);
  choice->args = list_make1(when);
  choice->defresult = reinterpret_cast<Expr*>(makeNullConst(choice->casetype, exprTypmod(factor), InvalidOid));
  choice->location = -1;
  return reinterpret_cast<Node*>(choice);
}

int factor_index(JoinProjectSide& side, Node* factor) {
  if (factor == nullptr) return -1;
  const ListCell* cell;
  foreach (cell, side.factors)
    if (equal(lfirst(cell), factor)) return foreach_current_index(cell);
  side.factors = lappend(side.factors, factor);
  return list_length(side.factors) - 1;
}

Node* is_there(Node* expression) {
  NullTest* const test = makeNode(NullTest);
  test->arg = reinterpret_cast<Expr*>(expression);
  test->nulltesttype = IS_NOT_NULL;
  // Of a row, count() takes the row itself, whatever its columns are.
  test->argisrow = false;
  test->location = -1;
  return reinterpret_cast<Node*>(test);
}

}  // namespace

bool add_sum(PlannerInfo* root, JoinProjectQuery& query, Aggref* aggregate) {
  if (list_member(query.aggregates, aggregate)) return true;
  SumSpec spec{};
  if (!result_of(aggregate, spec.result) || aggregate->aggorder != NIL || aggregate->aggdirectargs != NIL ||
      aggregate->agglevelsup != 0)
    return query.refuse(Refusal::kAggregate, aggregate);
  Node* const argument = aggregate->args == NIL ? nullptr : node_of(linitial_node(TargetEntry, aggregate->args)->expr);
  Node* const condition = node_of(aggregate->aggfilter);
  Parts parts;
  switch (counted_by(root, query, aggregate)) {
    case JoinProjectCount::kNothing: return query.refuse(Refusal::kDistinctValues, aggregate);
    case JoinProjectCount::kKeys:
      if (condition != nullptr) return query.refuse(Refusal::kTwoCountings, aggregate);
      spec.result = SumResult::kKeys;
      break;
    case JoinProjectCount::kRows:
      if (argument == nullptr || (spec.result == SumResult::kCount && is_never_null(root, query, argument))) break;
      if (!is_plain(argument)) return query.refuse(Refusal::kAggregateInput, argument);
      if (spec.result == SumResult::kCount) {
        const int side = side_of(root, query, argument);
        if (side < 0) return query.refuse(Refusal::kSumInput, argument);
        parts.factors[side] = is_there(argument);
      } else if (!split_argument(root, query, argument, parts)) {
        return query.refuse(Refusal::kSumInput, argument);
      }
      break;
  }
  if (condition != nullptr) {
    if (!is_plain(condition)) return query.refuse(Refusal::kAggregateInput, condition);
    if (!split_condition(root, query, condition, parts)) return query.refuse(Refusal::kSumInput, condition);
  }
  for (int side = 0; side < 2; ++side) {
    const ListCell* cell;
    foreach (cell, lappend(list_copy(parts.conditions[side]), parts.factors[side]))
      if (may_fail(node_of(lfirst(cell)), nullptr)) return query.refuse(Refusal::kSumFails, lfirst(cell));
    spec.factors[side] = factor_index(query.sides[side], where(parts.factors[side], parts.conditions[side]));
  }
  spec.bytes = parts.bytes;
  query.counting = JoinProjectCount::kRows;
  query.aggregates = lappend(query.aggregates, aggregate);
  query.sums = lappend_int(query.sums, static_cast<int>(spec.result));
  for (const int number : {spec.factors[0], spec.factors[1], spec.bytes}) query.sums = lappend_int(query.sums, number);
  return true;
}

bool counts_all_rows(const JoinProjectQuery& query, Node* expression) {
  const ListCell* cell;
  foreach (cell, query.aggregates) {
    if (!equal(lfirst(cell), expression)) continue;
    const auto number = [&](int k) { return list_nth_int(query.sums, foreach_current_index(cell) * kSumNumbers + k); };
    return static_cast<SumResult>(number(0)) == SumResult::kCount && number(1) < 0 && number(2) < 0;
  }
  return false;
}

void share_factors(JoinProjectQuery& query) {
  for (int at = 2; at < list_length(query.sums); at += kSumNumbers) {
    ListCell* const right = list_nth_cell(query.sums, at);
    if (lfirst_int(right) >= 0)
      lfirst_int(right) = factor_index(query.sides[0], node_of(list_nth(query.sides[1].factors, lfirst_int(right))));
  }
  query.sides[1].factors = NIL;
}

bool may_sum(const PlannerInfo* root, const JoinProjectQuery& query, bool counts) {
  return root->parse->hasAggs && !root->hasLateralRTEs && (!counts || query.finer) &&
         (counts || query.refusal >= Refusal::kNoDivision);
}

}  // namespace batmap::pg
