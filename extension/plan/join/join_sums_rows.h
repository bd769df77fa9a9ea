// A run of the engine that adds up products (join_sums.h): it reads the inputs with their factors, and makes the results of
// the aggregates.
#pragma once

#include "extension/plan/join/join_project_rows.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct RunningSums;

/// @param[out] sums  of the current row; lives in `context`
/// @param[out] why   set if no stream is returned because of the numbers
JoinProjectRows open_sums(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context,
                          const RunningSums*& sums, const char*& why);

/// The result of an aggregate for a pair of the last batch, in the current memory context.
/// @param position  the `support` of the pair @raises 22003 if it is out of range
Datum sum_of(const RunningSums& sums, uint64_t position, int aggregate, bool& is_null);

}  // namespace batmap::pg
