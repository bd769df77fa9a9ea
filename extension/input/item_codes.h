// The keys and items of one input of a join-project as 64-bit codes, and back.
#pragma once

#include "extension/input/dictionary.h"
#include "extension/input/key_column.h"
#include "extension/input/tuple_codes.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// How the values of some columns become 64-bit keys.
enum class Coding : int {
  kItself,      // one column, which stands for itself (key_column.h)
  kDictionary,  // one column, NULL never: ids, and an order of them
  kTuples,      // ids of tuples
};

/// One of the three, by `coding`.
struct Codes {
  Coding coding;
  KeyKind kind;
  Dictionary* dictionary;
  TupleCodes* tuples;
};

/// @param first, operators  the columns; see tuple_codes_create
Codes make_codes(Coding coding, KeyKind kind, MemoryContext context, PlanState* parent, TupleDesc row, int first,
                 List* operators, MemoryMeter& meter);

/// The code of a row's columns from `first` on, which are not NULL unless they are tuples.
/// @return false where there is no memory for a new one
bool code_of(const Codes& codes, TupleTableSlot* row, int first, MemoryMeter& meter, int64_t& code);

/// The items of one input, when all of them have been read.
struct ItemCodes {
  Codes codes;
  const uint32_t* rank_of_id;  // with a dictionary: its values are in order now
};

/// The columns of an item. @param values, nulls  as many as the item has
void put_item(const ItemCodes& items, int64_t code, Datum* values, bool* nulls);

}  // namespace batmap::pg
