// Reads rows (id, set) of a query, for the functions over sets.
#pragma once

#include <cstdint>
#include <span>

#include "extension/input/dictionary.h"
#include "extension/streams/table_input.h"
#include "pairs/collected_sets.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct SetRows {
  /// Takes the set of a row. Runs in a memory context that ends with the row; may raise errors.
  void (*take)(void* arg, int64_t id, Datum set) = nullptr;
  void* arg = nullptr;

  // Set by read_set_rows(), if ids are not integers: the ids that were given to `take` count from 0.
  const Dictionary* ids = nullptr;  // by rank
  std::span<const uint32_t> ranks;  // of the ids
  uint64_t count = 0;               // of the rows without a NULL
};

/// Does the query return sets as its second column? False where the call names the columns.
/// @raises what analyze_select() does
bool has_set_rows(const TableInput& input);

/// @param input  its item_type is that of the ids @param meter  is charged for ids that are not integers
/// @raises 42804 unless the columns are an id and a batmap
void read_set_rows(const TableInput& input, MemoryMeter& meter, SetRows& rows);

/// Reads all sets of a query into `sets`, with the ranks of ids that are not integers, and seals it.
SetRows collect_sets(const TableInput& input, MemoryMeter& meter, CollectedSets& sets);

}  // namespace batmap::pg
