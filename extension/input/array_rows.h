// Reads rows (tid, unnest(array)) array by array. The node ProjectSet, which makes them, stays in the plan. Its child is
// read in its place, so that an element costs neither a slot nor a call.
#pragma once

#include <cstdint>

#include "extension/input/key_encoder.h"
#include "relation/chunk.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct ArrayRows {
  PlanState* sets;             // the ProjectSet
  const KeyEncoder* encoders;  // [2] of the tid and of the item
  int tid_column;              // of a row below the ProjectSet
  int array_column;            // likewise
  MemoryContext row;           // lives as long as an array is read
  bool finished;               // there is no array after this one; the child must not be asked again
  // The array that is being read.
  const char* next;
  const uint8* nulls;  // nullptr: it has none
  int64_t at;          // of the next element
  int64_t count;
  int64_t tid;
};

/// @param encoders  [2] of the tid and of the item; kept
/// @param rows      set to the start if the node can be read this way; else unchanged
/// @return whether it can: it makes a row of each integer of an array, beside one column that is its own key,
/// and nobody counts its rows (EXPLAIN ANALYZE)
bool find_array_rows(PlanState* node, const KeyEncoder* encoders, ArrayRows& rows);

/// Reads up to kChunkRows rows. Checks for interrupts. @param out  room for them
/// @return the end of the rows in `out`, which is `out` after the last row
TidItem* read_array_rows(ArrayRows& rows, TidItem* out);

/// Starts again with the first row.
void rescan_array_rows(ArrayRows& rows);

}  // namespace batmap::pg
