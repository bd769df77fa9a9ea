// Rows of a table function, pulled one at a time: the shape in which every table function of the extension gives
// its answer. Two consumers: materialize() fills the tuplestore that the server wants from a function in FROM, and
// the plan node of node_row_stream.* hands the rows straight to the plan above, which can stop early.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

class RowStream {
 public:
  /// How many of the last columns are NULL in every row; no other is ever NULL.
  virtual int null_columns() const { return 0; }
  /// The next row. Server calls happen, so errors may be raised.
  /// @return false after the last row; not to be called again then
  virtual bool next(Datum* values) = 0;
  /// Called once, when no more rows are wanted: leaves the record of batmap_last_run().
  virtual void finish() = 0;
  /// What EXPLAIN ANALYZE says about the run; after finish() or in the middle.
  virtual void explain(ExplainState* state) = 0;

 protected:
  ~RowStream() = default;  // owned by a memory context
};

/// Makes the stream of one call in `context`, which it may use for all it needs and which outlives it.
/// Arguments are used up when it returns. @return nullptr: no rows
using OpenStream = RowStream* (*)(FunctionCallInfo fcinfo, MemoryContext context);

/// The body of a table function: all rows of the stream into the tuplestore of the call.
void materialize(FunctionCallInfo fcinfo, OpenStream open);

/// A table function that the planner may read as a stream.
struct StreamedFunction {
  PGFunction function;
  const char* symbol;  // its name in the library
  OpenStream open;
};

/// The row of the table of all such functions. @return nullptr when it is none
const StreamedFunction* find_streamed_function(PGFunction function);
bool is_streamed_symbol(const char* symbol);

}  // namespace batmap::pg
