// The compact text form of a stored set, which the engine only reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace batmap::test {

/// b1: and the base64 of a whole stored value.
inline std::string compact_text(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "b1:";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t there = std::min<size_t>(bytes.size() - i, 3);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < there ? std::to_integer<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text.push_back(k <= there ? kDigits[bits >> (18 - 6 * k) & 63] : '=');
  }
  return text;
}

}  // namespace batmap::test
