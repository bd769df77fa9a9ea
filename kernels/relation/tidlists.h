// The vertical form: one list of tid codes per kept item, back to back. 4 bytes an occurrence.
// As scattered, a list may hold duplicates, and is in the order of its part (tid_parts.h), within one in order of arrival;
// `sort_lists` makes it a set.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"

namespace batmap {

struct Tidlists {
  Buffer<uint64_t> begin;   // [items + 1] where each list starts
  Buffer<uint32_t> length;  // [items]
  Buffer<uint32_t> tids;    // [occurrences] by item rank

  void append(uint32_t item, uint32_t tid) { tids[begin[item] + length[item]++] = tid; }
  std::span<uint32_t> list(uint32_t item) { return {tids.data() + begin[item], length[item]}; }
  std::span<const uint32_t> list(uint32_t item) const { return {tids.data() + begin[item], length[item]}; }
};

/// Empty lists with room for every row of the first `items` items; the others are to have a length only.
/// @throws Error{kMemoryLimit}, std::bad_alloc
Tidlists allocate_tidlists(const EncodedRelation& relation, const KeptItems& kept, MemoryMeter& meter,
                           uint32_t items = UINT32_MAX);

/// Cost: one scattered write an occurrence. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
Tidlists scatter_tidlists(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options);

/// Sorts each of the first `items` lists where it is not sorted, and removes duplicates. @throws Error{kCancelled}
void sort_lists(Tidlists& lists, const ExecutionOptions& options, uint32_t items = UINT32_MAX);

}  // namespace batmap
