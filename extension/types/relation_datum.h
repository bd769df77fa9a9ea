// The SQL type batmap_relation: access to its bytes in a varlena.
#pragma once

#include <cstddef>

#include "extension/server/flat_value.h"
#include "relation/flat_relation.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const FlatType kRelationType;

inline std::byte* relation_bytes(struct varlena* value) { return reinterpret_cast<std::byte*>(VARDATA(value)); }
inline size_t relation_capacity(const struct varlena* value) { return VARSIZE(value) - VARHDRSZ; }

/// An argument of the type, only read.
inline struct varlena* relation_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kRelationType, fcinfo, argument);
}

/// A new value with `capacity` bytes for the flat relation, uninitialised, in the current context.
/// @raises 54000 if that is too large for an SQL value
struct varlena* relation_allocate(size_t capacity);

/// The finished form of a relation. A state is copied, packed and without free space; any other argument is
/// returned as it is.
struct varlena* relation_finished(struct varlena* value);

}  // namespace batmap::pg
