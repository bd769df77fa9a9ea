// Runs a query that is given as text and hands its rows to a receiver. The query is parsed, analysed, planned
// and run as the caller, in the snapshot of the calling statement, like the query of COPY (query) TO. It must
// be one SELECT of two or three columns.
//
// Values for its parameters may be given beside the text. They become constants of the analysed query, so that it is
// planned as if they stood in the text.
#pragma once

#include <span>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Between these two calls, errors point into the text of the inner query, as in SQL functions. This is no
/// destructor, because errors jump and the server resets the stack itself.
void enter_inner_query(ErrorContextCallback& callback, const char* query);
inline void leave_inner_query(const ErrorContextCallback& callback) { error_context_stack = callback.previous; }

/// A query as it is given.
struct InnerQuery {
  const char* text;          // see query_text()
  Datum params = 0;          // a record whose fields are $1, $2 ...; 0: the text has no parameters
  bool open_params = false;  // its parameters stay without values, as in a generic plan
  // The names of the columns to read. nullptr: the query returns both, in their order
  const char* tid_column = nullptr;
  const char* item_column = nullptr;
};

/// The text of a query that is given, in the current memory context. Where only the name of a table is given, as regclass and
/// quote_ident() write it, the query is TABLE and this name. No name is a query by itself, so there is no doubt what is meant.
const char* query_text(const text* given);

/// The query TABLE of a table or view, in the current memory context. @raises 42P01 if it is not there
const char* table_query(Oid table);

/// Whether a text is only the name of a table, with or without its schema.
bool is_table_name(const char* text);

/// @param columns  what the columns are, for hints: "the transaction and the item"; nullptr: any will do
/// @raises 42601 unless the query is one SELECT; 42P02 unless there is a value for each parameter, or they stay open; 0A000 if
/// the query would change data; any error of the query itself
Query* analyze_select(const InnerQuery& query, const char* columns);

struct TwoColumns {
  Oid types[2];
  Oid collations[2];
};

/// @param can_be_named  the call may name the two columns
/// @raises 42P10 unless there are two columns
TwoColumns two_columns(const Query* query, const char* columns, bool can_be_named);

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

/// @param types    the column types that the receiver expects
/// @param running  if not null, gets the state of the plan before the first row comes
/// @raises 42804 if the plan returns others
void run_plan(PlannedStmt* plan, const char* query, std::span<const Oid> types, DestReceiver* receiver,
              const PlanState** running = nullptr);

}  // namespace batmap::pg
