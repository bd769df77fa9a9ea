// Unsigned integers in 1 to 10 bytes, seven bits a byte, the lowest first; the high bit says that more bytes
// follow (LEB128).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"

namespace batmap {

constexpr size_t kMaxVarint = 10;

/// Writes a varint. @param to  room for kMaxVarint bytes @return the byte behind it
inline std::byte* put_varint(std::byte* to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

inline void write_varint(GrowingBuffer<std::byte>& out, uint64_t value) {
  std::byte* const room = out.room(kMaxVarint);
  out.add(static_cast<size_t>(put_varint(room, value) - room));
}

/// Reads a valid varint; moves `at` behind it.
inline uint64_t read_varint(const std::byte*& at) {
  auto byte = static_cast<uint64_t>(*at++);
  uint64_t value = byte & 0x7f;
  for (int shift = 7; byte >= 0x80; shift += 7) {
    byte = static_cast<uint64_t>(*at++);
    value |= (byte & 0x7f) << shift;
  }
  return value;
}

}  // namespace batmap
