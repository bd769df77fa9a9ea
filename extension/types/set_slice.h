// Membership in a toasted set by slices: fetches the header, then only the blocks that can hold the element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Does the set hold the element? @param value  a toasted batmap
bool sliced_contains(Datum value, uint64_t element);

}  // namespace batmap::pg
