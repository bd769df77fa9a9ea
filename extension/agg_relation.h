// What the aggregates over (tid, item) rows share.
#pragma once

#include <cstdint>

#include "extension/pg.h"

namespace batmap::pg {

/// An int2, int4 or int8 argument that is not NULL.
template <typename Integer>
int64_t integer_argument(FunctionCallInfo fcinfo, int argument) {
  static_assert(sizeof(Integer) == 2 || sizeof(Integer) == 4 || sizeof(Integer) == 8);
  if constexpr (sizeof(Integer) == 2) return PG_GETARG_INT16(argument);
  if constexpr (sizeof(Integer) == 4) return PG_GETARG_INT32(argument);
  return PG_GETARG_INT64(argument);
}

/// The state in argument 0 to change (flat_value.h). NULL: a new one.
struct varlena* relation_state(FunctionCallInfo fcinfo);

/// Appends one pair. @return the state, which may have moved
struct varlena* relation_append(struct varlena* state, int64_t tid, int64_t item);

/// Merges `other`, its tids shifted, into the state in argument 0. @return the state, which may have moved
struct varlena* relation_merge(FunctionCallInfo fcinfo, struct varlena* other, int64_t tid_shift);

}  // namespace batmap::pg
