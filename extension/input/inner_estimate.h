// What the planner expects of the query in the text of a table function: its cost, its rows, and how often the
// items in them occur. For this the query is planned, and not run, while the statement that contains it is planned.
//
// The text may be wrong, or the user may not be allowed to run it. Nothing is known then; the error is raised when the
// function is called. Cost: that of planning the query once, and a subtransaction.
#pragma once

#include "extension/input/inner_query.h"
#include "extension/input/item_supports.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct InnerEstimate {
  Cost cost;  // of reading all rows and grouping them
  double rows;
  bool has_own_keys;  // tids and items are numbers
  bool has_items;     // `items` is known
  ItemSupports items;
};

/// Calls a function that may fail because of the text of a query. Errors that say nothing about the text are raised again:
/// the statement is cancelled, a lock cannot be had, memory is exhausted.
/// @return false if it failed, or if this is no time to try it
bool succeeds(void (*attempt)(void* arg), void* arg);

/// @param item_first  the columns are (item, tid), not (tid, item)
/// @raises any error of the query: to be called within succeeds()
/// @return false if the user may not run it, or its cost is unknown
bool estimate_inner_query(const InnerQuery& query, bool item_first, InnerEstimate& estimate);

/// Is a query planned only for an estimate?
bool is_estimating();

/// Called once, at load. Installs the hook that sees the columns of the query while it is planned.
void install_inner_estimates();

}  // namespace batmap::pg
