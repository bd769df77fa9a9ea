// What the aggregates of the plan node "BatmapAggregate" add up, and what they return.
#pragma once

#include <cstddef>
#include <cstdint>

#include "extension/streams/row_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// All but kCount are of int8.
enum class AggregateKind : int { kCount, kSum, kAvg, kMin, kMax };

/// What an aggregate knows of the rows of a group.
struct Total {
  int128 sum;  // the type of the server, which palloc aligns
  int64 extreme;
  uint64_t rows;  // whose argument is not NULL
};

/// Adds the values of a column. @param rows  at least one
void add_values(AggregateKind kind, Total& total, RowBlock::Column column, size_t rows);

/// The same, each value to the total of the group of its row.
/// @param totals  of the aggregate in the first group; those of the next one are `step` behind
void add_values(AggregateKind kind, Total* totals, size_t step, RowBlock::Column column, const uint32_t* groups,
                size_t rows);

/// What the aggregate of the server returns, in the current memory context.
Datum result_of(AggregateKind kind, const Total& total, bool& is_null);

}  // namespace batmap::pg
