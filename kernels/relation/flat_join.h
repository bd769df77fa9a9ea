// Two flat relations (flat_relation.h) in one block of bytes: the state of the aggregate that joins them.
//
//   offset  0  uint64  left_bytes  bytes of the left relation with its room
//           8  the left relation, (b, a), then the right one, (b, c), up to the end
//
// A finished value consists of two finished relations. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "relation/flat_relation.h"

namespace batmap {

inline constexpr size_t kFlatJoinHeaderBytes = sizeof(uint64_t);

enum class FlatSide { kLeft, kRight };

/// The bytes of one side with its room. @param bytes  the whole value
inline std::span<std::byte> flat_join_side(std::span<std::byte> bytes, FlatSide side) {
  uint64_t left_bytes;
  std::memcpy(&left_bytes, bytes.data(), sizeof left_bytes);
  const std::span<std::byte> sides = bytes.subspan(kFlatJoinHeaderBytes);
  return side == FlatSide::kLeft ? sides.first(left_bytes) : sides.subspan(left_bytes);
}

/// Lays out a value whose left side has `left_bytes` bytes; both sides stay uninitialised.
inline void flat_join_layout(std::byte* bytes, uint64_t left_bytes) { std::memcpy(bytes, &left_bytes, sizeof left_bytes); }

/// Whether the headers are consistent with themselves and with the size, room included. Constant time.
bool is_flat_join(std::span<const std::byte> bytes);

/// Checks untrusted bytes in full. @throws Error{kInvalidData} unless they are a finished value
void flat_join_validate(std::span<const std::byte> bytes);

}  // namespace batmap
