// See numeric.h.
#include "extension/server/numeric.h"

#include <algorithm>

#include "extension/server/pg.h"

namespace batmap::pg {

Datum numeric_of(__int128 value, int scale) {
  if (scale == 0 && value >= INT64_MIN && value <= INT64_MAX)
    return DirectFunctionCall1(int8_numeric, Int64GetDatum(static_cast<int64>(value)));
  constexpr int kMaxDigits = std::max(39, kMaxNumericScale + 1);  // of 128 bits; there is one before the point
  Assert(scale <= kMaxNumericScale);
  char text[kMaxDigits + 3];  // a sign, the point, the end
  char* at = text + sizeof text;
  *--at = '\0';
  const bool negative = value < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  for (int digits = 0; rest != 0 || digits <= scale; ++digits) {
    if (digits == scale && scale > 0) *--at = '.';
    *--at = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  if (negative) *--at = '-';
  return DirectFunctionCall3(numeric_in, CStringGetDatum(at), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

}  // namespace batmap::pg
