// The SQL type batmap_relation as bytes in a varlena.
#pragma once

#include <cstddef>

#include "extension/server/flat_value.h"
#include "relation/flat_relation.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const FlatType kRelationType;

inline std::byte* relation_bytes(struct varlena* value) { return reinterpret_cast<std::byte*>(VARDATA(value)); }
inline size_t relation_capacity(const struct varlena* value) { return VARSIZE(value) - VARHDRSZ; }

/// An argument of the type, to read.
inline struct varlena* relation_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kRelationType, fcinfo, argument);
}

/// A new value with `capacity` bytes for the flat relation, uninitialised, in the current context.
/// @raises 54000 where a value of SQL cannot be that large
struct varlena* relation_allocate(size_t capacity);

/// The finished form of a relation: the argument itself, or a packed and trimmed copy where it is a state.
struct varlena* relation_finished(struct varlena* value);

}  // namespace batmap::pg
