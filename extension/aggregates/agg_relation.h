// Shared by the aggregates over (tid, item) rows.
#pragma once

#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Argument 0, the state, in a form that may be changed (flat_value.h). A new state if the argument is NULL.
struct varlena* relation_state(FunctionCallInfo fcinfo);

/// Appends one pair. @return the state, which may have moved
struct varlena* relation_append(struct varlena* state, int64_t tid, int64_t item);

/// The threshold of an aggregate over rows. @throws an error of the server, if it is NULL or below 1
int64_t min_count_argument(FunctionCallInfo fcinfo, int index);

/// Merges `other` into the state in argument 0; `tid_shift` is added to its tids. @return the state, which
/// may have moved
struct varlena* relation_merge(FunctionCallInfo fcinfo, struct varlena* other, int64_t tid_shift);

}  // namespace batmap::pg
