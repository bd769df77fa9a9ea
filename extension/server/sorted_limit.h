// ORDER BY a number, the largest first, with LIMIT: a run then need keep only its best rows.
#pragma once

#include <optional>

#include "extension/server/pg.h"

namespace batmap::pg {

constexpr Oid kFloatOrder = 1970;  // the btree family of float8, which has no name in the headers of the server

/// Has an expression the same value each time, and no subquery?
bool is_plain(Node* expression);

/// The order and the limit of a query.
struct SortedLimit {
  Node* sorted;  // the expression by which the query sorts first, the largest value first
  Node* limit;
  Node* offset;  // nullptr: there is none
  bool ties;     // rows with equal values are not all the same to the query
};

/// @return nothing if the query has another order, if its limit may change or does not count the rows that are sorted, or if
/// something volatile is computed for each of these
std::optional<SortedLimit> sorted_limit(PlannerInfo* root);

/// The number of rows that LIMIT and OFFSET take from the front. Runs when the plan does.
/// @param limit, offset  nullptr: there is none
/// @return nothing if all are wanted, or so many that keeping the best ones saves nothing or takes much of batmap.memory_limit
std::optional<int64_t> rows_in_front(ExprState* limit, ExprState* offset, ExprContext* context);

/// A bound for EXPLAIN: 20, not '20'::bigint. @param names  as for deparse_expression()
char* bound_text(Node* bound, List* names);

}  // namespace batmap::pg
