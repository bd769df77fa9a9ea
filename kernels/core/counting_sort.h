// Counting sort of entries by one of their members. Source: textbook.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/memory.h"
#include "core/options.h"
#include "core/polled.h"

namespace batmap {

/// Sorts by one member, which is below `bound`; keeps the order of equals. Afterwards `from` is scratch.
/// @param size      entries of `from` and `to`, below 2^32
/// @throws Error{kMemoryLimit, kCancelled}
template <typename Entry>
void sort_by(uint32_t Entry::*member, uint32_t bound, size_t size, Buffer<Entry>& from, Buffer<Entry>& to,
             const ExecutionOptions& options) {
  Buffer<uint32_t> begin(*options.memory, bound, Fill::kZero);
  in_parts(size, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) ++begin[from[k].*member];
  });
  uint32_t at = 0;
  for (uint32_t& position : begin) at += std::exchange(position, at);
  in_parts(size, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) to[begin[from[k].*member]++] = from[k];
  });
}

}  // namespace batmap
