// Decides which types are their own keys. See key_column.h.
#include "extension/input/key_column.h"

#include "extension/server/pg.h"

namespace batmap::pg {

KeyKind key_kind(Oid type, Oid wanted) {
  if (OidIsValid(wanted)) return KeyKind::kDictionary;
  switch (getBaseType(type)) {
    case INT2OID: return KeyKind::kInt2;
    case INT4OID:
    case DATEOID: return KeyKind::kInt4;
    case INT8OID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID: return KeyKind::kInt8;
    default: return KeyKind::kDictionary;
  }
}

namespace {

/// The type that a domain is over. @return InvalidOid for a type that is no domain
Oid type_below(Oid type) {
  const HeapTuple row = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
  if (!HeapTupleIsValid(row)) elog(ERROR, "cache lookup failed for type %u", type);
  const Oid below = reinterpret_cast<Form_pg_type>(GETSTRUCT(row))->typbasetype;
  ReleaseSysCache(row);
  return below;
}

/// Says what to write instead of a column that is no integer.
int hint_at_integers(Oid actual, const char* values, const char* hint) {
  if (OidIsValid(get_base_element_type(actual))) return errhint("Make a row of each element: SELECT ..., unnest(...).");
  const Oid base = getBaseType(actual);
  if (base == JSONBOID || base == JSONOID)
    return errhint("Make a row of each element: SELECT ..., jsonb_array_elements_text(...).");
  if (hint != nullptr) return errhint("%s", hint);
  return errhint("The _of form of the function takes text %s, the _as form those of any hashable type.", values);
}

}  // namespace

bool stands_for(Oid type, Oid wanted) {
  for (Oid below = type; OidIsValid(below); below = type_below(below))
    if (below == wanted) return true;
  return IsBinaryCoercible(type, wanted) &&
         lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr == lookup_type_cache(wanted, TYPECACHE_EQ_OPR)->eq_opr;
}

bool is_integer(Oid type) {
  const Oid base = getBaseType(type);
  return base == INT2OID || base == INT4OID || base == INT8OID;
}

void check_key_type(Oid actual, Oid wanted, const char* column, const char* values, const char* hint) {
  if (OidIsValid(wanted)) {
    if (!stands_for(actual, wanted))
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("%s column of the input query must be %s, not %s", column, format_type_be(wanted),
                             format_type_be(actual)),
                      errhint("Cast the column, or call the _as form with a NULL of its type.%s",
                              is_integer(actual) ? " The form without a suffix takes integers." : "")));
  } else if (!is_integer(actual)) {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("%s column of the input query must be an integer, not %s", column, format_type_be(actual)),
                    hint_at_integers(actual, values, hint)));
  }
}

}  // namespace batmap::pg
