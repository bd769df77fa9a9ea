// Reads the rows of a plan node many at a time, where they lie in memory.
#pragma once

#include "extension/streams/row_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The columns are those of the scan slot of the node, at most RowBlock::kMaxColumns.
struct BlockReader {
  /// Starts the run of the node if it has not been.
  /// @param values  columns of int8 that are wanted as they are
  /// @param keys    columns whose values are wanted as keys, of 64 bits: equal values have equal keys. None is NULL in every row
  /// @return false: these columns, or the rows of this run, must be read one row at a time
  bool (*start)(CustomScanState* node, ColumnSet values, ColumnSet keys);
  /// Takes all rows that lie in memory, and lets the run find more if there are none. To be called after start().
  /// @param[out] rows  `next` is 0. A column whose `first` is nullptr is NULL in every row. Columns of float8 may hold NaN for NULL
  /// @return false after the last row
  bool (*take)(CustomScanState* node, RowBlock& rows);
  /// The value of a key. It may point into memory of the run.
  void (*decode)(const CustomScanState* node, int column, int64_t key, Datum& value, bool& is_null);
};

}  // namespace batmap::pg
