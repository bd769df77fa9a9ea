// Converts keys and items of one input of a join-project to 64-bit codes and back.
#pragma once

#include "extension/input/dictionary.h"
#include "extension/input/key_column.h"
#include "extension/input/tuple_codes.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// How the values of some columns become 64-bit keys.
enum class Coding : int {
  kItself,      // one column whose values are their own keys (key_column.h)
  kDictionary,  // one column without NULL: ids, which can be sorted
  kTuples,      // ids of tuples
};

/// `coding` says which of the members is used.
struct Codes {
  Coding coding;
  KeyKind kind;
  Dictionary* dictionary;
  TupleCodes* tuples;
};

/// @param first, operators  the columns; see tuple_codes_create
Codes make_codes(Coding coding, KeyKind kind, MemoryContext context, PlanState* parent, TupleDesc row, int first,
                 List* operators, MemoryMeter& meter);

/// The code of the columns of a row from `first` on. They must not be NULL unless the coding is kTuples.
/// @return false if there is no memory for a new code
bool code_of(const Codes& codes, TupleTableSlot* row, int first, MemoryMeter& meter, int64_t& code);

/// The items of one input after all of them have been read.
struct ItemCodes {
  Codes codes;
  const uint32_t* rank_of_id;  // for a dictionary, which is sorted now
};

/// The columns of an item. @param values, nulls  as many as the item has
void put_item(const ItemCodes& items, int64_t code, Datum* values, bool* nulls);

}  // namespace batmap::pg
