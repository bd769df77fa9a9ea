// The SQL type batmap_relation: access to its bytes in a varlena.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/memory.h"
#include "extension/server/flat_value.h"
#include "relation/flat_relation.h"
#include "relation/text_relation.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Relations of either kind of items, and those of integer items only: a flat relation (flat_relation.h), whose bytes
/// relation_bytes() are, or a relation of text items (text_relation.h).
extern const FlatType kRelationType;
extern const FlatType kIntegerRelationType;

inline std::byte* relation_bytes(struct varlena* value) { return reinterpret_cast<std::byte*>(VARDATA(value)); }
inline size_t relation_capacity(const struct varlena* value) { return VARSIZE(value) - VARHDRSZ; }

inline bool holds_texts(struct varlena* value) { return has_text_items(flat_bytes(value)); }

/// The flat relation with the rows of a relation of either kind.
inline std::byte* flat_rows(struct varlena* value) {
  return holds_texts(value) ? text_relation_rows(flat_bytes(value)).data() : relation_bytes(value);
}
inline uint64_t relation_row_count(struct varlena* value) { return flat_header(flat_rows(value)).rows(); }

/// An argument of the type with integer items, only read.
/// @raises 42804 if the items are text
inline struct varlena* relation_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kIntegerRelationType, fcinfo, argument);
}
/// An argument of the type with items of either kind, only read.
inline struct varlena* any_relation_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kRelationType, fcinfo, argument);
}

/// A new value with `capacity` bytes for the flat relation, uninitialised, in the current context.
/// @raises 54000 if that is too large for an SQL value
struct varlena* relation_allocate(size_t capacity);

/// @raises 54000: a relation would be too large for an SQL value
[[noreturn]] void raise_relation_too_large();

/// The texts of a finished relation of text items, by rank. They point into it; the array is in the current context.
/// @raises XX001 if the relation is damaged; 53200 past the limit of the meter
std::span<const std::string_view> relation_texts(struct varlena* value, MemoryMeter& meter);

/// A finished relation of text items to answer from.
struct FinishedTexts {
  const std::byte* rows;  // the flat relation, whose items are indexes of `texts`
  const Datum* texts;     // nullptr if there are no rows
};
/// The relation in an argument. The texts are in `context`, and charged to it.
/// @param hint  for an error @raises 42804 if the items are integers; XX001; 53200
FinishedTexts finished_texts(FunctionCallInfo fcinfo, int argument, MemoryContext context, const char* hint);

/// @raises 42804: the items of a relation are of the other kind
[[noreturn]] void raise_text_items(const char* hint);
[[noreturn]] void raise_integer_items(const char* hint);

/// The finished form of a relation of either kind. A state is copied, packed and without free space; any other argument is
/// returned as it is.
struct varlena* relation_finished(struct varlena* value);

}  // namespace batmap::pg
