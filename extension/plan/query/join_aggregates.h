// Aggregates over the rows of a group of pairs. The node knows how often a row of the join occurs, and gives the
// server the state that an aggregate would have after as many equal rows; the server combines the states of a group.
//
//   SELECT a.item, b.item, sum(a.quantity * b.quantity), avg(a.price), count(*) FILTER (WHERE b.is_new) ...
//
// What an aggregate reads of each side becomes an item of the node, so its groups become finer.
#pragma once

#include <cstdint>

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What the state of an aggregate is after n rows with the value x.
enum class AggregateState : int {
  kCount,    // n
  kInt8,     // n * x as int8, of int2 or int4
  kAverage,  // {n, n * x} as int8[], of int2 or int4
  kValue,    // x: min, max, bool_and, ...
  kNone      // another aggregate
};

AggregateState state_of(const Aggref* aggregate);

/// Reads the argument or the condition of an aggregate; the columns that it reads become items where they are none.
/// @return whether the node can compute it
bool read_aggregate_input(PlannerInfo* root, JoinProjectQuery& query, Node* input);

/// An aggregate when it is run.
struct RunningAggregate {
  AggregateState state;
  ExprState* argument;   // nullptr: it has none
  ExprState* condition;  // nullptr: it has none
  int16 length;          // of the type of the argument
};

/// The state after `count` rows whose items are in the tuple of the context.
/// @param[out] is_null  the state of no rows is NULL
/// @raises 22003 if a sum is out of range
Datum aggregate_state(const RunningAggregate& aggregate, int64_t count, ExprContext* context, bool& is_null);

}  // namespace batmap::pg
