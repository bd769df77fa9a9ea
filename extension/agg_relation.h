// What the aggregates over (tid, item) rows share.
#pragma once

#include <cstdint>

#include "extension/pg.h"

namespace batmap::pg {

/// An int4 or int8 argument that is not NULL.
template <typename Integer>
int64_t integer_argument(FunctionCallInfo fcinfo, int argument) {
  static_assert(sizeof(Integer) == 4 || sizeof(Integer) == 8);
  if constexpr (sizeof(Integer) == 4) return PG_GETARG_INT32(argument);
  return PG_GETARG_INT64(argument);
}

/// Appends one pair to the state in argument 0. @return the state, which may have moved
struct varlena* relation_append(FunctionCallInfo fcinfo, int64_t tid, int64_t item);

}  // namespace batmap::pg
