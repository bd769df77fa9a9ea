// Numerics from integers of 128 bits.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

constexpr int kMaxNumericScale = 60;

/// @param scale  digits after the point, at most kMaxNumericScale: the numeric is value / 10^scale
Datum numeric_of(__int128 value, int scale);

}  // namespace batmap::pg
