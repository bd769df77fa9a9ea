// The SQL type batmap_state: access to its bytes in a varlena, the flat state of kernels/set/set_state.h with
// room to grow.
#pragma once

#include <cstddef>

#include "extension/server/flat_value.h"
#include "set/set_state.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const FlatType kStateType;

inline std::byte* state_data(struct varlena* value) { return reinterpret_cast<std::byte*>(VARDATA(value)); }
inline size_t state_capacity(const struct varlena* value) { return VARSIZE(value) - VARHDRSZ; }

/// A new value with room for `capacity` bytes, uninitialised, in the current context.
/// @raises 54000 if that is too large for an SQL value
struct varlena* state_allocate(size_t capacity);

/// An argument of the type, only read.
inline struct varlena* state_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kStateType, fcinfo, argument);
}

/// A copy without free space.
struct varlena* state_trimmed(struct varlena* value);

}  // namespace batmap::pg
