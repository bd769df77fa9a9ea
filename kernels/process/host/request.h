// How a request is refused, and how its arrays are read and checked. Source: ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace batmap::process::host {

/// A request that no session of this version sends.
struct BadRequest {
  const char* what;
};

inline void require(bool is_right, const char* what) {
  if (!is_right) throw BadRequest{what};
}

/// Are all values at most `last`? Parts of a known length become vector instructions, also where these compare no unsigned
/// numbers: `last - value` has the highest bit where the value is larger, if neither has it.
inline bool are_at_most(uint32_t last, std::span<const uint32_t> values) {
  constexpr size_t kPart = 1024;
  constexpr uint32_t kHighest = uint32_t{1} << 31;
  if (last >= kHighest) return std::all_of(values.begin(), values.end(), [&](uint32_t value) { return value <= last; });
  uint32_t found = 0;
  for (; values.size() >= kPart; values = values.subspan(kPart)) {
    uint32_t of_part = 0;
    for (size_t i = 0; i < kPart; ++i) of_part |= values[i] | (last - values[i]);
    found |= of_part;
  }
  for (const uint32_t value : values) found |= value | (last - value);
  return (found & kHighest) == 0;
}

/// Arrays that lie one behind the other, each at a multiple of 8 bytes.
class ArrayReader {
 public:
  ArrayReader(const std::byte* at, uint64_t bytes) : at_(at), left_(bytes) {}

  template <typename T>
  const T* next(uint64_t size) {
    require(size <= left_ / sizeof(T), "an array is longer than what was sent");
    const auto* const array = reinterpret_cast<const T*>(at_);
    const uint64_t bytes = std::min(left_, (size * sizeof(T) + 7) / 8 * 8);
    at_ += bytes;
    left_ -= bytes;
    return array;
  }

 private:
  const std::byte* at_;
  uint64_t left_;
};

}  // namespace batmap::process::host
