// Checking. See flat_join.h.
#include "relation/flat_join.h"

#include "core/error.h"

namespace batmap {

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
