// Answers of the aggregates over pairs: batmap_pair[].
#pragma once

#include <span>

#include "pairs/best_pairs.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The result of a final function that is declared to return batmap_pair[].
/// @param table_function  with the same answer, for the hint
/// @raises 54000 beyond 1 GB
Datum pair_array(FunctionCallInfo fcinfo, std::span<const PairRow> rows, const char* table_function);

}  // namespace batmap::pg
