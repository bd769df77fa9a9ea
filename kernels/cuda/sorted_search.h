// Binary search by one thread. Cost: the logarithm of the size in reads that depend on each other. Source: textbook.
#pragma once

#include <cstdint>

namespace batmap::cuda {

/// The first index in [at, end) whose value is not below x; `end` if there is none. @param values  ascending in [at, end)
template <typename Value>
__device__ uint32_t first_not_below(const Value* values, uint32_t at, uint32_t end, Value x) {
  while (at < end) {
    const uint32_t middle = at + (end - at) / 2;
    if (values[middle] < x)
      at = middle + 1;
    else
      end = middle;
  }
  return at;
}

}  // namespace batmap::cuda
