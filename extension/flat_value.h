// What the types that hold flat states share: their text form, which is a prefix and the bytes in base64 (compact, lossless
// and independent of settings, because it also carries states between servers), their binary form, and how they grow.
#pragma once

#include <cstddef>
#include <span>

#include "extension/pg.h"

namespace batmap::pg {

struct FlatType {
  const char* name;
  const char* prefix;
  const char* hint;  // where a text is none of the type; nullptr: no hint
  struct varlena* (*allocate)(size_t bytes);
};

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
