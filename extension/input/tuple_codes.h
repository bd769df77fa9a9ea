// Ids for tuples of columns, in order of first appearance. NULLs are allowed and equal each other. For keys
// and items that are not their own keys (key_column.h): several columns, or one column that may be NULL.
// The hash table is TupleHashTable, that of the server.
//
// This is server code throughout, so it consists of plain structs in a memory context. A distinct tuple takes
// about 100 bytes and its own size.
#pragma once

#include <cstdint>

#include "core/memory.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct TupleCodes {
  MemoryContext context;
  MemoryContext scratch;  // for what the functions of the types allocate; reset after each tuple
  TupleHashTable table;
  TupleTableSlot* slot;  // holds these columns only
  int columns;
  MemoryMeter* meter;  // must outlive the codes
  uint32_t count;
  uint32_t capacity;
  MinimalTuple* tuples;  // [count] by id
  List* must_look_same;  // int: the columns whose equal values are compared byte by byte
  Datum* known_values;   // [columns] of the tuple that they are compared with
  bool* known_nulls;     // [columns]
  bool looks_differ;     // some that are equal are not the same bytes
};

/// Must equal values of a column be the same bytes? @param shown  int for each column: is what it looks like part of the answer?
/// NIL: of none
bool must_look_same(const List* shown, int number, const FormData_pg_attribute& column);

/// @param parent      the node whose rows contain the tuples
/// @param row         the shape of these rows
/// @param operators   [columns] the hashable equality of each
/// @param shown       see must_look_same()
TupleCodes* tuple_codes_create(MemoryContext context, PlanState* parent, TupleDesc row, int first_column, List* operators,
                               const List* shown, MemoryMeter& meter);

/// The id of a tuple. @param values, nulls  [columns] @return -1 if there is no memory or no id for a new tuple, or if equal values
/// differ (`looks_differ`)
int64_t tuple_code(TupleCodes& codes, const Datum* values, const bool* nulls);

/// The columns of a tuple. @param values, nulls  [columns]; values point into the codes
void tuple_of_code(const TupleCodes& codes, int64_t code, Datum* values, bool* nulls);

}  // namespace batmap::pg
