// The types whose equality is that of what one sees. See equality.h.
#include "extension/server/equality.h"

#include "extension/server/pg.h"

namespace batmap::pg {

bool equal_values_look_same(Oid type, int32 modifier) {
  type = getBaseTypeAndTypmod(type, &modifier);
  switch (type) {
    case BPCHAROID:                         // with as many blanks
    case NUMERICOID: return modifier >= 0;  // with as many digits behind the point
    case BITOID:
    case BOOLOID:
    case BYTEAOID:
    case CASHOID:
    case CHAROID:
    case CIDROID:
    case DATEOID:
    case INETOID:
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case MACADDROID:
    case NAMEOID:
    case OIDOID:
    case TEXTOID:
    case TIMEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
    case TIMETZOID:
    case UUIDOID:
    case VARBITOID:
    case VARCHAROID: return true;
    default: return get_typtype(type) == TYPTYPE_ENUM;
  }
}

}  // namespace batmap::pg
