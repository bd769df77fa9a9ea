// Answers of the aggregates over pairs: batmap_pair[].
#pragma once

#include <span>

#include "pairs/best_pairs.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What a final function that is declared to return batmap_pair[] returns.
/// @param table_function  of the same answer, for the hint
/// @raises 54000 beyond 1 GB
Datum pair_array(FunctionCallInfo fcinfo, std::span<const PairRow> rows, const char* table_function);

}  // namespace batmap::pg
