// The rows of a table function, pulled one at a time. Every table function of the extension answers in
// this form. There are two consumers: materialize() fills the tuplestore that the server expects from a
// function in FROM; the plan node of node_row_stream.* passes the rows directly to the plan above, which
// can stop early.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

class RowStream {
 public:
  /// The number of last columns that are NULL in every row. No other column is ever NULL.
  virtual int null_columns() const { return 0; }
  /// Writes the next row to `values`. It calls the server, so it may raise errors.
  /// @return false after the last row; must not be called again then
  virtual bool next(Datum* values) = 0;
  /// Called once, when no more rows are wanted. Leaves the record for batmap_last_run().
  virtual void finish() = 0;
  /// Adds to EXPLAIN ANALYZE what happened in the run. Called during the run or after finish().
  virtual void explain(ExplainState* state) = 0;

 protected:
  ~RowStream() = default;  // owned by a memory context
};

/// Makes the stream of one call in `context`. The stream may allocate there, and `context` lives longer than
/// it. The arguments are not needed after the return. @return nullptr: no rows
using OpenStream = RowStream* (*)(FunctionCallInfo fcinfo, MemoryContext context);

/// The body of a table function: puts all rows of the stream into the tuplestore of the call.
void materialize(FunctionCallInfo fcinfo, OpenStream open);

/// A table function that the planner may read as a stream.
struct StreamedFunction {
  PGFunction function;
  const char* symbol;  // its name in the library
  OpenStream open;
};

/// The entry of a function in the table of streamed functions. @return nullptr if it has none
const StreamedFunction* find_streamed_function(PGFunction function);

}  // namespace batmap::pg
