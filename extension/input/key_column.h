// Which values are their own keys: integers, and values of types in which equality is equality of bits. All
// other values are encoded (key_encoder.h).
#pragma once

#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

/// How the values of some columns become 64-bit keys.
enum class KeyKind : int {
  kInt2,  // this and the next two: values of this width are their own keys
  kInt4,
  kInt8,
  kDictionary,  // ids of the values of one column without NULL; they can be sorted
  kTuples,      // ids of tuples of columns; NULLs are allowed and equal each other
  kConverted,   // what a function makes of the value
};

inline bool is_own_key(KeyKind kind) { return kind <= KeyKind::kInt8; }

/// The kind for values of a type: their own keys, or kDictionary.
/// @param wanted  for the _of functions: the type of these values in the answer, which a dictionary holds; else InvalidOid
KeyKind key_kind(Oid type, Oid wanted = InvalidOid);
/// int2, int4, int8 or a domain over one.
bool is_integer(Oid type);
/// Can values of `type` be used as values of `wanted`, with the same equality? A varchar can be used
/// as text, and a value of a domain as one of its base type. The reverse is not true, because a domain
/// may have constraints.
bool stands_for(Oid type, Oid wanted);

/// Checks the type of a column of the input query whose values the answer contains.
/// @param wanted          as for key_kind()
/// @param column, values  for the error: "second", "items"
/// @param hint            what to write instead, if the function has no _of form
/// @raises 42804 unless it stands for `wanted` or, if that is InvalidOid, is an integer
void check_key_type(Oid actual, Oid wanted, const char* column, const char* values, const char* hint = nullptr);

/// The key of a value that is its own key.
inline int64_t own_key(KeyKind kind, Datum value) {
  if (kind == KeyKind::kInt2) return DatumGetInt16(value);
  return kind == KeyKind::kInt4 ? DatumGetInt32(value) : DatumGetInt64(value);
}

/// The other way round.
inline Datum value_of_key(KeyKind kind, int64_t key) {
  if (kind == KeyKind::kInt2) return Int16GetDatum(static_cast<int16>(key));
  return kind == KeyKind::kInt4 ? Int32GetDatum(static_cast<int32>(key)) : Int64GetDatum(key);
}

}  // namespace batmap::pg
