// Runs a query that is given as text and hands its rows to a receiver. The query is parsed, analysed, planned
// and run as the caller, in the snapshot of the calling statement, like the query of COPY (query) TO. It must
// be one SELECT of two or three columns.
#pragma once

#include <span>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Between these two calls, errors point into the text of the inner query, as in SQL functions. This is no
/// destructor, because errors jump and the server resets the stack itself.
void enter_inner_query(ErrorContextCallback& callback, const char* query);
inline void leave_inner_query(const ErrorContextCallback& callback) { error_context_stack = callback.previous; }

/// @param columns  the names of the columns for hints: "the transaction and the item"; nullptr: any will do
/// @raises 42601 unless the query is one SELECT
RawStmt* parse_select(const char* query, const char* columns);

/// Modifies the statement. @raises 42601; 0A000 if the query would change data; any error of the query itself
Query* analyze_select(RawStmt* statement, const char* query);

struct TwoColumns {
  Oid types[2];
  Oid collations[2];
};

/// @raises 42P10 unless there are two columns
TwoColumns two_columns(const Query* query, const char* columns);

struct UpToThreeColumns {
  int count;
  Oid types[3];
  Oid collations[3];
};

/// @raises 42P10 unless there are two or three columns
UpToThreeColumns two_or_three_columns(const Query* query, const char* columns);

/// A receiver that passes each row to `receive` and does nothing else. The caller makes it the first member
/// of a struct with its own data.
DestReceiver make_receiver(bool (*receive)(TupleTableSlot*, DestReceiver*));

/// @param types  the column types that the receiver expects
/// @raises 42804 if the plan returns others
void run_plan(PlannedStmt* plan, const char* query, std::span<const Oid> types, DestReceiver* receiver);

}  // namespace batmap::pg
