// Comparisons that can be cancelled: for sorting what may be large.
#pragma once

#include <cstdint>
#include <utility>

#include "core/options.h"

namespace batmap {

/// A comparison that looks at the token every 65,536 calls (about a millisecond of sorting) and throws
/// Error{kCancelled}; std::sort then leaves its range in an unspecified order. Copies count apart.
template <typename Compare>
auto polled(const CancelToken& cancel, Compare compare) {
  return [cancel, compare = std::move(compare), calls = uint32_t{0}](const auto& x, const auto& y) mutable {
    if ((++calls & 0xffff) == 0) cancel.throw_if_requested();
    return compare(x, y);
  };
}

}  // namespace batmap
