// Encodes values as the 64-bit keys of a relation, and decodes them: what rows are made of, wherever they
// come from (row_reader.h). Values of some types are their own keys (key_column.h), others get ids from a
// dictionary, and tuples of columns get ids of their own.
#pragma once

#include <cstdint>

#include "extension/input/dictionary.h"
#include "extension/input/key_column.h"
#include "extension/input/tuple_codes.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The key of NULL for values of 16 or 32 bits.
inline constexpr int64_t kNullKey = INT64_MAX;

/// The key of one column of a row, or of several next to each other.
struct KeyEncoder {
  KeyKind kind;
  int first;               // the position of its column, or of its first column, in a row
  int columns;             // more than one only for kTuples
  bool null_is_key;        // NULL has a key, too; otherwise a row with a NULL here is left out
  bool may_give_up;        // encode_key() returns false if memory is too small for a new key; otherwise kDictionary raises
  Dictionary* dictionary;  // for kDictionary
  TupleCodes* tuples;      // for kTuples
  int64_t (*convert)(Datum);  // for kConverted
};

/// One column of a row. For kDictionary, add_dictionary() must follow.
inline KeyEncoder column_encoder(KeyKind kind, int column, bool null_is_key = false) {
  return {kind, column, 1, null_is_key, false, nullptr, nullptr, nullptr};
}

/// A column of which `convert` makes the keys. It may raise errors.
inline KeyEncoder converting_encoder(int column, int64_t (*convert)(Datum)) {
  return {KeyKind::kConverted, column, 1, false, false, nullptr, nullptr, convert};
}

/// Makes the dictionary of an encoder if it needs one and has none. @param type  of the values in it
/// @raises 42883 when the type cannot be hashed
void add_dictionary(KeyEncoder& encoder, Oid type, Oid collation, MemoryContext context, MemoryMeter& meter);

/// Columns of the rows of a plan node. The encoder may give up.
/// @param parent     the node that reads the rows
/// @param row        the shape of the rows, not used if they are packed
/// @param operators  [columns] the hashable equality of each, for kTuples
/// @param shown      [columns] int: is what it looks like part of the answer? The encoder gives up where values that are equal look
///                   different, since one key stands for all of them. NIL: of none
KeyEncoder plan_encoder(KeyKind kind, int first, List* operators, const List* shown, bool null_is_key, PlanState* parent,
                        TupleDesc row, MemoryContext context, MemoryMeter& meter);

/// Did it give up because values that are equal look different?
bool looks_differ(const KeyEncoder& encoder);

/// Does a NULL keep this row out of the relation?
inline bool leaves_out(const KeyEncoder& encoder, const bool* nulls) {
  if (encoder.null_is_key) return false;
  for (int k = encoder.first; k < encoder.first + encoder.columns; ++k)
    if (nulls[k]) return true;
  return false;
}

/// A dictionary raises an error when memory runs out. An encoder that may give up does so while this much
/// is still free.
inline constexpr size_t kDictionaryReserve = size_t{1} << 20;

inline bool has_room(const Dictionary& dictionary, Datum value) {
  const size_t bytes = dictionary.type->typlen == -1 ? toast_raw_datum_size(value) : 0;
  return dictionary.meter->available() >= kDictionaryReserve + bytes;
}

/// The key of a row that is not left out. @return false if the encoder gives up
inline bool encode_key(const KeyEncoder& encoder, const Datum* values, const bool* nulls, int64_t& key) {
  const Datum value = values[encoder.first];
  switch (encoder.kind) {
    case KeyKind::kInt2:
    case KeyKind::kInt4: key = nulls[encoder.first] ? kNullKey : own_key(encoder.kind, value); return true;
    case KeyKind::kInt8:
      if (nulls[encoder.first]) elog(ERROR, "NULL in a column that is NOT NULL");
      key = own_key(encoder.kind, value);
      return true;
    case KeyKind::kDictionary:
      if (encoder.may_give_up && !has_room(*encoder.dictionary, value)) return false;
      key = dictionary_id(*encoder.dictionary, value);
      return !encoder.dictionary->looks_differ;
    case KeyKind::kTuples: key = tuple_code(*encoder.tuples, values + encoder.first, nulls + encoder.first); return key >= 0;
    case KeyKind::kConverted: key = encoder.convert(value); return true;
  }
  pg_unreachable();
}

/// The same for the most frequent case: is the value its own key, and if so, which is it?
inline bool has_own_key(const KeyEncoder& encoder, const bool* nulls) {
  return is_own_key(encoder.kind) && !nulls[encoder.first];
}
inline int64_t own_key_of(const KeyEncoder& encoder, const Datum* values) {
  return own_key(encoder.kind, values[encoder.first]);
}

/// The columns of a key; not for kConverted. @param values, nulls  [columns]; values may point into the encoder
void decode_key(const KeyEncoder& encoder, int64_t key, Datum* values, bool* nulls);

}  // namespace batmap::pg
