// Which types stand for themselves. See key_column.h.
#include "extension/key_column.h"

#include "extension/pg.h"

namespace batmap::pg {

KeyKind key_kind(Oid type) {
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

bool stands_for(Oid type, Oid wanted) {
  return IsBinaryCoercible(type, wanted) &&
         lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr == lookup_type_cache(wanted, TYPECACHE_EQ_OPR)->eq_opr;
}

bool is_integer(Oid type) {
  const Oid base = getBaseType(type);
  return base == INT2OID || base == INT4OID || base == INT8OID;
}

}  // namespace batmap::pg
