// Unsigned integers in 1 to 10 bytes, seven bits a byte, the lowest first; the high bit says that more bytes
// follow (LEB128).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

/// Signed integers as unsigned ones that are small where these are near 0.
inline uint64_t zigzag(int64_t x) { return static_cast<uint64_t>(x) << 1 ^ static_cast<uint64_t>(x >> 63); }
inline int64_t unzigzag(uint64_t x) { return static_cast<int64_t>(x >> 1 ^ (0 - (x & 1))); }

/// Reads a varint of untrusted bytes, and drops it from them. It must be as short as possible.
/// @param invalid  called with what is wrong; must throw
template <typename Invalid>
uint64_t checked_varint(std::span<const std::byte>& bytes, Invalid invalid) {
  uint64_t value = 0;
  for (size_t k = 0; k < kMaxVarint; ++k) {
    if (k == bytes.size()) break;
    const auto byte = static_cast<uint64_t>(bytes[k]);
    if (k == kMaxVarint - 1 && byte > 1) invalid("a number is too large");
    value |= (byte & 0x7f) << (7 * k);
    if (byte >= 0x80) continue;
    if (k > 0 && byte == 0) invalid("a number is longer than need be");
    bytes = bytes.subspan(k + 1);
    return value;
  }
  invalid(bytes.size() < kMaxVarint ? "a number is cut off" : "a number is too large");
  return 0;
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
