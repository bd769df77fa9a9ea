// What a few slices of a toasted set tell: membership, and the smallest and the largest element. Fetches the header, then
// only the blocks that can hold the element.
#pragma once

#include <cstdint>
#include <optional>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Does the set hold the element? @param value  a toasted batmap
bool sliced_contains(Datum value, uint64_t element);

enum class SetEnd { kMin, kMax };

/// The smallest or largest element of any batmap; nothing if it is empty. Of a large compact set, one block is fetched.
std::optional<uint64_t> sliced_end(Datum value, SetEnd end);

}  // namespace batmap::pg
