// Cancellable passes over large inputs, and cancellable comparisons for sorting them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/options.h"

namespace batmap {

/// Calls body(begin, end) for parts of 65,536 that cover [0, count); polls the token before each.
/// @throws Error{kCancelled}
template <typename Body>
void in_parts(size_t count, const CancelToken& cancel, Body body) {
  constexpr size_t kPart = 65536;
  for (size_t begin = 0; begin < count; begin += kPart) {
    cancel.throw_if_requested();
    body(begin, begin + std::min(kPart, count - begin));
  }
}

/// A comparison that polls the token every 65,536 calls (about a millisecond of sorting) and throws Error{kCancelled};
/// std::sort then leaves its range in an unspecified order. Each copy of the comparison counts its own calls.
template <typename Compare>
auto polled(const CancelToken& cancel, Compare compare) {
  return [cancel, compare = std::move(compare), calls = uint32_t{0}](const auto& x, const auto& y) mutable {
    if ((++calls & 0xffff) == 0) cancel.throw_if_requested();
    return compare(x, y);
  };
}

}  // namespace batmap
