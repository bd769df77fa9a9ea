// Shared by the types that hold flat states: how an argument becomes a value, when it may be changed in
// place, the text form, the binary form, and growth. The text form is a prefix and the bytes in base64. It is
// compact, lossless and independent of settings, because it also carries states between servers.
//
// Any user may call the functions of an aggregate and define aggregates with them. So no function trusts a
// value that it is given: it fetches the value whole, checks the header against the size, and changes the
// value in place only for an aggregate of the extension itself (own_aggregate.h). The bytes after the header
// are validated when they come from outside, as text or as a message.
#pragma once

#include <cstddef>
#include <span>

#include "extension/server/pg.h"

namespace batmap::pg {

struct FlatType {
  const char* name;
  const char* prefix;
  const char* hint;  // for a text that is not of the type; nullptr: no hint
  struct varlena* (*allocate)(size_t bytes);
  bool (*has_sound_header)(std::span<const std::byte> bytes);  // checks the header against the size, in constant time
  /// Raises an error of its own for bytes that fail this check, if it knows one. nullptr: there is none.
  void (*refuse)(std::span<const std::byte> bytes) = nullptr;
};

/// The data of a fetched value.
inline std::span<std::byte> flat_bytes(struct varlena* value) {
  return {reinterpret_cast<std::byte*>(VARDATA(value)), VARSIZE(value) - VARHDRSZ};
}

/// An argument that is only read: fetched whole, its header checked. It may lie in memory of the caller.
/// @raises XX001 when the header and the size disagree
struct varlena* flat_argument(const FlatType& type, FunctionCallInfo fcinfo, int argument);

/// The same for a value that is no argument, for example of a column.
struct varlena* flat_fetched(const FlatType& type, Datum value);

/// Argument 0 in a form that may be changed: the argument itself if an aggregate of the extension runs,
/// otherwise a copy.
/// @raises XX001 when the header and the size disagree
struct varlena* flat_state(const FlatType& type, FunctionCallInfo fcinfo);

/// @raises XX001: the header of a value and its size disagree
[[noreturn]] void raise_unsound(const FlatType& type);

/// Argument 0, for a transition that has nothing to add.
Datum unchanged_state(FunctionCallInfo fcinfo);

/// A new value with the bytes of a text, not validated. @raises 22P02 unless the text is the
/// prefix and base64
struct varlena* flat_of_text(const FlatType& type, const char* text);
/// @raises 54000 when the text would be too long for the server
char* flat_to_text(const FlatType& type, std::span<const std::byte> bytes);
/// Copies what has not been read of a message. A message may have a GB, so interrupts are checked on the way.
void copy_rest_of_message(StringInfo message, char* to);

/// A new value with the bytes of a message, not validated.
struct varlena* flat_of_message(const FlatType& type, StringInfo message);

/// What a send function returns: always a copy, because the server frees it after use, in array_send() for one. A bytea is
/// laid out as a value is.
inline Datum sent(struct varlena* value) { return PointerGetDatum(PG_DETOAST_DATUM_COPY(PointerGetDatum(value))); }

/// The bytes to allocate for a state that needs `needed`: twice that while the state is small, otherwise
/// `part` more. A large state is not doubled because three copies of it exist for a moment.
size_t grown_capacity(size_t needed, size_t part);

}  // namespace batmap::pg
