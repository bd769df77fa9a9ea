// What the types that hold flat states share: how an argument becomes a value and when it may be changed in place, the text
// form, which is a prefix and the bytes in base64 (compact, lossless and independent of settings, because it also carries
// states between servers), the binary form, and growth.
//
// Anyone may call the functions of an aggregate, and make aggregates of them. So no function believes what it is given: a
// value is fetched whole, its header is checked against its size, and it is changed in place only for an aggregate of the
// extension's own (own_aggregate.h). What lies behind the header is checked where it comes from outside, as text or message.
#pragma once

#include <cstddef>
#include <span>

#include "extension/server/pg.h"

namespace batmap::pg {

struct FlatType {
  const char* name;
  const char* prefix;
  const char* hint;  // where a text is none of the type; nullptr: no hint
  struct varlena* (*allocate)(size_t bytes);
  bool (*has_sound_header)(std::span<const std::byte> bytes);  // checked against the size, in constant time
};

/// The data of a value that has been fetched.
inline std::span<std::byte> flat_bytes(struct varlena* value) {
  return {reinterpret_cast<std::byte*>(VARDATA(value)), VARSIZE(value) - VARHDRSZ};
}

/// An argument to read: fetched whole, its header checked. It may lie in memory of the caller.
/// @raises XX001 where the header and the size disagree
struct varlena* flat_argument(const FlatType& type, FunctionCallInfo fcinfo, int argument);

/// Argument 0 to change: the argument itself where an aggregate of the extension's own runs, elsewhere a copy.
/// @raises XX001 where the header and the size disagree
struct varlena* flat_state(const FlatType& type, FunctionCallInfo fcinfo);

/// @raises XX001: the header of a value and its size disagree
[[noreturn]] void raise_unsound(const FlatType& type);

/// What a transition returns that has nothing to add: its argument 0.
Datum unchanged_state(FunctionCallInfo fcinfo);

/// A new value with the bytes of a text, not validated. @raises 22P02 unless it has the prefix and base64
struct varlena* flat_of_text(const FlatType& type, const char* text);
/// @raises 54000 where the text would be too long for the server
char* flat_to_text(const FlatType& type, std::span<const std::byte> bytes);
/// A new value with the bytes of a message, not validated.
struct varlena* flat_of_message(const FlatType& type, StringInfo message);

/// Bytes to allocate for a state that needs so many: twice that while it is small; when it is large, by a part of it more,
/// because three copies exist for a moment.
size_t grown_capacity(size_t needed, size_t part);

}  // namespace batmap::pg
