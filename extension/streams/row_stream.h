// The rows of a table function, pulled one at a time. Every table function of the extension answers in
// this form. There are two consumers: materialize() fills the tuplestore that the server expects from a
// function in FROM; the plan node of node_row_stream.* passes the rows directly to the plan above, which
// can stop early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Columns of a stream: column k is bit k.
using ColumnSet = uint32_t;

constexpr ColumnSet one(int column) { return ColumnSet{1} << column; }

constexpr ColumnSet kAllColumns = ~ColumnSet{0};

/// Rows that lie in memory. The values of a column are `stride` bytes apart. Who reads a row counts `next` up.
struct RowBlock {
  struct Column {
    const void* first;
    size_t stride;
  };
  static constexpr int kMaxColumns = 12;

  size_t next = 0;
  size_t rows = 0;
  Column columns[kMaxColumns] = {};
  ColumnSet nan_is_null = 0;  // columns of float8 where NaN stands for NULL

  Datum value(int column) const {
    const Column& values = columns[column];
    return *reinterpret_cast<const Datum*>(static_cast<const char*>(values.first) + next * values.stride);
  }
  /// The column from the next row on.
  Column rest_of(int column) const {
    const Column& values = columns[column];
    return {static_cast<const char*>(values.first) + next * values.stride, values.stride};
  }
};

/// What the plan above reads of a stream.
struct WantedRows {
  ColumnSet columns = kAllColumns;  // the others need not be made
  std::optional<int64_t> best;      // only this many rows, those with the largest values of a column
  int best_column = -1;             // this one, of TableFunction::ranked_columns
  bool ties = false;                // and all with the value of the last of them, because more columns order them
};

class RowStream {
 public:
  /// The number of last columns that are NULL in every row. No other column is ever NULL but those of `nan_columns()`.
  virtual int null_columns() const { return 0; }
  /// The columns of float8 in which NaN stands for NULL. A stream with a block says so there.
  virtual ColumnSet nan_columns() const { return 0; }
  /// Writes the next row to `values`. It calls the server, so it may raise errors.
  /// @return false after the last row; must not be called again then
  virtual bool next(Datum* values) = 0;
  /// Where the stream puts its rows, if it makes many at a time. Then they can be read there, instead of by next().
  virtual RowBlock* block() { return nullptr; }
  /// Puts the next rows into the block, of which all have been read. It calls the server, so it may raise errors.
  /// @return false after the last row; must not be called again then
  virtual bool fill_block() { return false; }
  /// Called when no more rows are wanted. May be called again. Leaves the record for batmap_last_run().
  virtual void finish() = 0;
  /// Adds to EXPLAIN ANALYZE what happened in the run. Called during the run or after finish().
  virtual void explain(ExplainState* state) = 0;

 protected:
  ~RowStream() = default;  // owned by a memory context
};

/// The columns in which NaN stands for NULL, of a stream with or without a block.
ColumnSet nan_columns_of(RowStream* stream);

/// Makes the stream of one call in `context`. The stream may allocate there, and `context` lives longer than
/// it. The arguments are not needed after the return. @return nullptr: no rows
using OpenStream = RowStream* (*)(FunctionCallInfo fcinfo, MemoryContext context, const WantedRows& wanted);

/// Puts all rows of the stream into the tuplestore of the call, as a table function must if it is not a plan node.
Datum materialize(FunctionCallInfo fcinfo, OpenStream open);

/// A table function that the planner may read as a stream. Objects of this class are static: they link themselves into
/// a list when the library is loaded.
class TableFunction {
 public:
  /// @param ranked_columns  those by which the stream may find the best rows, of int8 or float8 and never NULL
  TableFunction(PGFunction address, OpenStream open, ColumnSet ranked_columns = 0) noexcept
      : address_(address), open_(open), ranked_columns_(ranked_columns), next_(first_) {
    first_ = this;
  }
  TableFunction(const TableFunction&) = delete;
  TableFunction& operator=(const TableFunction&) = delete;

  /// The table function of the library at this address. @return nullptr if there is none
  static const TableFunction* find(PGFunction address);

  RowStream* open(FunctionCallInfo fcinfo, MemoryContext context, const WantedRows& wanted) const {
    return open_(fcinfo, context, wanted);
  }
  ColumnSet ranked_columns() const { return ranked_columns_; }

 private:
  static inline const TableFunction* first_ = nullptr;

  PGFunction address_;
  OpenStream open_;
  ColumnSet ranked_columns_;
  const TableFunction* next_;
};

}  // namespace batmap::pg

/// Defines an exported table function, which SQL can call and which the plan node finds. Its body is an OpenStream:
/// it sees `fcinfo`, `context` and `wanted`. After the name, the ranked columns of the TableFunction may follow.
#define BATMAP_TABLE_FUNCTION(name, ...)                                                                                    \
  static batmap::pg::RowStream* open_##name(FunctionCallInfo fcinfo, MemoryContext context, const batmap::pg::WantedRows&); \
  BATMAP_FUNCTION(name) { return batmap::pg::materialize(fcinfo, open_##name); }                                            \
  static const batmap::pg::TableFunction table_function_##name(name, open_##name __VA_OPT__(, ) __VA_ARGS__);               \
  static batmap::pg::RowStream* open_##name(FunctionCallInfo fcinfo, MemoryContext context,                                 \
                                            [[maybe_unused]] const batmap::pg::WantedRows& wanted)
