// Which values are the same to the extension: those of the default equality of their type, under a collation that tells texts apart
// by their bytes. Dictionaries and tables of groups know no other equality.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// True for no collation.
inline bool is_deterministic(Oid collation) { return !OidIsValid(collation) || get_collation_isdeterministic(collation); }

/// Is the operator that equality? InvalidOid is not.
inline bool is_own_equality(Oid equals, Oid type, Oid collation) {
  return OidIsValid(equals) && lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr == equals && is_deterministic(collation);
}

/// Do all values of a type that are equal look the same? Those of other types may differ, as 1.0 and 1.00 do, or 1 month and 30
/// days.
bool equal_values_look_same(Oid type, int32 modifier);

/// The same for the values of an expression.
inline bool equal_values_look_same(Node* expression) {
  return equal_values_look_same(exprType(expression), exprTypmod(expression));
}

}  // namespace batmap::pg
