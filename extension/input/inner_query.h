// Running a query given as text, for what reads its rows: parsed, analysed, planned and run as the caller, in the snapshot
// of the calling statement, like the query of COPY (query) TO. It must be one SELECT of two columns, or three.
#pragma once

#include <span>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Between the two calls errors are pointed into the text of the inner query, as SQL functions do. No destructor: errors
/// jump, and the server resets the stack itself.
void enter_inner_query(ErrorContextCallback& callback, const char* query);
inline void leave_inner_query(const ErrorContextCallback& callback) { error_context_stack = callback.previous; }

/// @param columns  what the two columns are, for hints: "the transaction and the item"
/// @raises 42601 unless it is one SELECT
RawStmt* parse_select(const char* query, const char* columns);

/// Scribbles on the statement. @raises 42601, 0A000 where it would change data; whatever is wrong with the query
Query* analyze_select(RawStmt* statement, const char* query);

struct TwoColumns {
  Oid types[2];
  Oid collations[2];
};

/// @raises 42P10 unless there are two
TwoColumns two_columns(const Query* query, const char* columns);

struct UpToThreeColumns {
  int count;
  Oid types[3];
  Oid collations[3];
};

/// @raises 42P10 unless there are two or three
UpToThreeColumns two_or_three_columns(const Query* query, const char* columns);

/// A receiver that hands each row to `receive` and does nothing else; the first member of what the caller wants there.
DestReceiver make_receiver(bool (*receive)(TupleTableSlot*, DestReceiver*));

/// @param types  of the columns that the receiver takes
/// @raises 42804 where the plan gives others
void run_plan(PlannedStmt* plan, const char* query, std::span<const Oid> types, DestReceiver* receiver);

}  // namespace batmap::pg
