// States of aggregates. See join_aggregates.h.
#include "extension/plan/query/join_aggregates.h"

#include "extension/plan/query/join_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

struct StateOfFunction {
  Oid aggregate;
  AggregateState state;
};

constexpr StateOfFunction kStates[] = {
    {F_COUNT_, AggregateState::kCount},       {F_COUNT_ANY, AggregateState::kCount},
    {F_SUM_INT2, AggregateState::kInt8},      {F_SUM_INT4, AggregateState::kInt8},
    {F_AVG_INT2, AggregateState::kAverage},   {F_AVG_INT4, AggregateState::kAverage},
    {F_BOOL_AND, AggregateState::kValue},     {F_BOOL_OR, AggregateState::kValue},
    {F_EVERY, AggregateState::kValue},        {F_BIT_AND_INT2, AggregateState::kValue},
    {F_BIT_AND_INT4, AggregateState::kValue}, {F_BIT_AND_INT8, AggregateState::kValue},
    {F_BIT_OR_INT2, AggregateState::kValue},  {F_BIT_OR_INT4, AggregateState::kValue},
    {F_BIT_OR_INT8, AggregateState::kValue},
};

/// Is it the minimum or maximum of the server's own types? Such an aggregate has a sort operator.
bool is_extremum(const Aggref* aggregate) {
  if (aggregate->aggfnoid >= FirstNormalObjectId || aggregate->aggtranstype != aggregate->aggtype) return false;
  const HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
  if (!HeapTupleIsValid(tuple)) return false;
  const bool sorts = OidIsValid(reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple))->aggsortop);
  ReleaseSysCache(tuple);
  return sorts;
}

struct InputWalk {
  PlannerInfo* root;
  JoinProjectQuery* query;
  Node* input;  // the whole expression
};

/// Makes the columns that an expression reads items. The expression itself is computed for rows of pairs only, because its
/// condition may keep it from errors. @return true (stop) where that cannot be done
bool add_columns(Node* node, void* arg) {
  auto* const walk = static_cast<InputWalk*>(arg);
  if (node == nullptr) return false;
  const bool is_known = is_item(*walk->query, node);
  if (is_known || IsA(node, Var)) {
    // One value stands for all that are equal to it.
    if (node != walk->input) walk->query->looked_at = list_append_unique(walk->query->looked_at, node);
    if (is_known) return false;
    walk->query->finer = true;
    return side_of(walk->root, *walk->query, node) < 0 || !add_item(walk->root, *walk->query, node, kOnlyCompared);
  }
  if (IsA(node, PlaceHolderVar)) return true;
  return expression_tree_walker(node, walker(add_columns), arg);
}

int64_t times(int64_t value, int64_t count) {
  int64 product;
  if (pg_mul_s64_overflow(value, count, &product))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
  return product;
}

int64_t integer_of(Datum value, int16 length) {
  return length == sizeof(int16) ? DatumGetInt16(value) : DatumGetInt32(value);
}

Datum average_of(int64_t count, int64_t sum) {
  Datum members[2] = {Int64GetDatum(count), Int64GetDatum(sum)};
  return PointerGetDatum(construct_array(members, 2, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

}  // namespace

AggregateState state_of(const Aggref* aggregate) {
  if (aggregate->aggorder != NIL || aggregate->aggdirectargs != NIL || aggregate->agglevelsup != 0)
    return AggregateState::kNone;
  for (const StateOfFunction& known : kStates)
    if (known.aggregate == aggregate->aggfnoid) return known.state;
  return is_extremum(aggregate) ? AggregateState::kValue : AggregateState::kNone;
}

bool read_aggregate_input(PlannerInfo* root, JoinProjectQuery& query, Node* input) {
  InputWalk walk{root, &query, input};
  if (!is_plain(input) || add_columns(input, &walk)) return query.refuse(Refusal::kAggregateInput, input);
  return true;
}

Datum aggregate_state(const RunningAggregate& aggregate, int64_t count, ExprContext* context, bool& is_null) {
  const bool counts = aggregate.state == AggregateState::kCount;
  is_null = !counts;
  const Datum nothing = counts ? Int64GetDatum(0) : Datum{0};
  bool null;
  if (aggregate.condition != nullptr &&
      (!DatumGetBool(ExecEvalExprSwitchContext(aggregate.condition, context, &null)) || null)) {
    if (aggregate.state != AggregateState::kAverage) return nothing;
    is_null = false;  // its first state is {0, 0}
    return average_of(0, 0);
  }
  Datum value = 0;
  if (aggregate.argument != nullptr) {
    value = ExecEvalExprSwitchContext(aggregate.argument, context, &null);
    if (null && aggregate.state == AggregateState::kAverage) {
      is_null = false;
      return average_of(0, 0);
    }
    if (null) return nothing;
  }
  is_null = false;
  switch (aggregate.state) {
    case AggregateState::kCount: return Int64GetDatum(count);
    case AggregateState::kInt8: return Int64GetDatum(times(integer_of(value, aggregate.length), count));
    case AggregateState::kAverage: return average_of(count, times(integer_of(value, aggregate.length), count));
    case AggregateState::kValue:
    case AggregateState::kNone: break;
  }
  return value;
}

}  // namespace batmap::pg
