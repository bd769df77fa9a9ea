// How the values of a column become the 64-bit keys of a relation. Integers, and values of types in which
// equality is equality of bits, are their own keys. All other values get ids from a dictionary.
#pragma once

#include <cstdint>

#include "extension/input/dictionary.h"

#include "extension/server/pg.h"

namespace batmap::pg {

enum class KeyKind : int { kInt2, kInt4, kInt8, kDictionary };

struct KeyColumn {
  KeyKind kind;
  Dictionary* dictionary;  // for kDictionary
};

KeyKind key_kind(Oid type);
/// int2, int4, int8 or a domain over one.
bool is_integer(Oid type);
/// Can values of `type` be used as values of `wanted`, with the same equality? A varchar can be used
/// as text, and a value of a domain as one of its base type. The reverse is not true, because a domain
/// may have constraints.
bool stands_for(Oid type, Oid wanted);

inline int64_t key_of(const KeyColumn& column, Datum value) {
  switch (column.kind) {
    case KeyKind::kInt2: return DatumGetInt16(value);
    case KeyKind::kInt4: return DatumGetInt32(value);
    case KeyKind::kInt8: return DatumGetInt64(value);
    case KeyKind::kDictionary: break;
  }
  return dictionary_id(*column.dictionary, value);
}

/// The value of a key that was made without a dictionary.
inline Datum value_of_key(KeyKind kind, int64_t key) {
  if (kind == KeyKind::kInt2) return Int16GetDatum(static_cast<int16>(key));
  return kind == KeyKind::kInt4 ? Int32GetDatum(static_cast<int32>(key)) : Int64GetDatum(key);
}

}  // namespace batmap::pg
