// Answers of the aggregates over pairs: batmap_pair[] and batmap_text_pair[].
#pragma once

#include <span>

#include "pairs/best_pairs.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The result of a final function that is declared to return an array of pairs.
/// @param table_function  with the same answer, for the hint
/// @param texts  of the items, which then are indexes of them; nullptr: the items are integers
/// @raises 54000 beyond 1 GB
Datum pair_array(FunctionCallInfo fcinfo, std::span<const PairRow> rows, const char* table_function,
                 const Datum* texts = nullptr);

}  // namespace batmap::pg
