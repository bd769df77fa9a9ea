// Counting sort of entries by one of their members, on the threads of a run. Source: textbook.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/memory.h"
#include "core/options.h"
#include "core/polled.h"
#include "core/thread_team.h"

namespace batmap {

/// Sorts by one member, which is below `bound`; keeps the order of equals. Afterwards `from` is scratch. A thread takes
/// no less than 65,536 entries, nor less than `bound`; so the positions never take more than 4 bytes an entry, or a bucket.
/// @param size      entries of `from` and `to`, below 2^32
/// @throws Error{kMemoryLimit, kCancelled}
template <typename Entry>
void sort_by(uint32_t Entry::*member, uint32_t bound, size_t size, Buffer<Entry>& from, Buffer<Entry>& to,
             const ExecutionOptions& options) {
  constexpr size_t kLeastPart = 65536;
  const size_t parts =
      std::clamp<size_t>(size / std::max<size_t>(kLeastPart, bound), 1, static_cast<size_t>(options.threads));
  Buffer<uint32_t> begin(*options.memory, parts * bound, Fill::kZero);  // [parts][bound]
  const auto visit = [&](auto take) {
    parallel_for(options, parts, [&](size_t part, int) {
      const size_t first = size * part / parts;
      uint32_t* const of_part = begin.data() + part * bound;
      in_parts(size * (part + 1) / parts - first, options.cancel, [&](size_t from_here, size_t to_here) {
        for (size_t k = first + from_here; k < first + to_here; ++k) take(from[k], of_part[from[k].*member]);
      });
    });
  };
  visit([](const Entry&, uint32_t& count) { ++count; });
  uint32_t at = 0;
  for (size_t bucket = 0; bucket < bound; ++bucket)
    for (size_t part = 0; part < parts; ++part) at += std::exchange(begin[part * bound + bucket], at);
  visit([&](const Entry& entry, uint32_t& position) { to[position++] = entry; });
}

}  // namespace batmap
