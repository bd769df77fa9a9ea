// Ids for tuples of columns, NULLs included (not distinct from each other): by first appearance. For what has no key of its
// own (key_column.h): several columns, or one that may be NULL. The hash table is the server's TupleHashTable.
//
// Server code throughout, so plain structs in a memory context. About 100 bytes and the tuple itself for each distinct one.
#pragma once

#include <cstdint>

#include "core/memory.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct TupleCodes {
  MemoryContext context;
  MemoryContext scratch;  // what the types' functions allocate; reset after each tuple
  TupleHashTable table;
  TupleTableSlot* slot;  // of these columns alone
  int first_column;      // in the rows that are looked up
  int columns;
  MemoryMeter* meter;  // must outlive the codes
  uint32_t count;
  uint32_t capacity;
  MinimalTuple* tuples;  // [count] by id
};

/// @param parent      the node whose rows have the tuples
/// @param row         their shape
/// @param operators   [columns] equality of each, hashable
TupleCodes* tuple_codes_create(MemoryContext context, PlanState* parent, TupleDesc row, int first_column, List* operators,
                               MemoryMeter& meter);

/// The id of the tuple in a row. @return -1 where there is no memory, or no id, for another one
int64_t tuple_code(TupleCodes& codes, TupleTableSlot* row);

/// The columns of a tuple. @param values, nulls  [columns]; values point into the codes
void tuple_of_code(const TupleCodes& codes, int64_t code, Datum* values, bool* nulls);

}  // namespace batmap::pg
