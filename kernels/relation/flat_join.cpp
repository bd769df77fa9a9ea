// Checks of the bytes. See flat_join.h.
#include "relation/flat_join.h"

#include "core/error.h"

namespace batmap {

bool is_flat_join(std::span<const std::byte> bytes) {
  if (bytes.size() < kFlatJoinHeaderBytes) return false;
  uint64_t left_bytes;
  std::memcpy(&left_bytes, bytes.data(), sizeof left_bytes);
  const std::span<const std::byte> sides = bytes.subspan(kFlatJoinHeaderBytes);
  return left_bytes <= sides.size() && is_flat_relation(sides.first(left_bytes)) &&
         is_flat_relation(sides.subspan(left_bytes));
}

void flat_join_validate(std::span<const std::byte> bytes) {
  if (bytes.size() < kFlatJoinHeaderBytes)
    throw Error(ErrorCode::kInvalidData, "invalid state of a join: header is cut off");
  uint64_t left_bytes;
  std::memcpy(&left_bytes, bytes.data(), sizeof left_bytes);
  const std::span<const std::byte> sides = bytes.subspan(kFlatJoinHeaderBytes);
  if (left_bytes > sides.size()) throw Error(ErrorCode::kInvalidData, "invalid state of a join: left side is cut off");
  flat_validate(sides.first(left_bytes));
  flat_validate(sides.subspan(left_bytes));
}

}  // namespace batmap
