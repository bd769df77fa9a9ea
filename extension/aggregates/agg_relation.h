// What the aggregates over (tid, item) rows share.
#pragma once

#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

/// The state in argument 0 to change (flat_value.h). NULL: a new one.
struct varlena* relation_state(FunctionCallInfo fcinfo);

/// Appends one pair. @return the state, which may have moved
struct varlena* relation_append(struct varlena* state, int64_t tid, int64_t item);

/// Merges `other`, its tids shifted, into the state in argument 0. @return the state, which may have moved
struct varlena* relation_merge(FunctionCallInfo fcinfo, struct varlena* other, int64_t tid_shift);

}  // namespace batmap::pg
