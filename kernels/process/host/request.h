// How a request is refused, and how its arrays are read. Source: ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace batmap::process::host {

/// A request that no session of this version sends.
struct BadRequest {
  const char* what;
};

inline void require(bool is_right, const char* what) {
  if (!is_right) throw BadRequest{what};
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
