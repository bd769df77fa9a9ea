// The vertical form: one list of tid codes per kept item, one list after the other. 4 bytes an occurrence.
// scatter_tidlists() leaves duplicates in; a list has the order of the parts (tid_parts.h), and order of
// arrival within a part. sort_lists() makes it a sorted set. Source: standard.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"

namespace batmap {

struct Tidlists {
  Buffer<uint64_t> begin;   // [items + 1] where the list of each item begins
  Buffer<uint32_t> length;  // [items]
  Buffer<uint32_t> tids;    // [occurrences] the lists, by item rank

  void append(uint32_t item, uint32_t tid) { tids[begin[item] + length[item]++] = tid; }
  std::span<uint32_t> list(uint32_t item) { return {tids.data() + begin[item], length[item]}; }
  std::span<const uint32_t> list(uint32_t item) const { return {tids.data() + begin[item], length[item]}; }
};

/// Empty lists with room for every row of the first `items` items. The other items have a length but no room.
/// @throws Error{kMemoryLimit}, std::bad_alloc
Tidlists allocate_tidlists(const EncodedRelation& relation, const KeptItems& kept, MemoryMeter& meter,
                           uint32_t items = UINT32_MAX);

/// Cost: one scattered write an occurrence. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
Tidlists scatter_tidlists(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options);

/// Sorts each of the first `items` lists that is not sorted, and removes duplicates. A list with many of the tids is marked
/// in a row of bits, which is then read in order. @param tid_slots  tids are smaller
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
void sort_lists(Tidlists& lists, uint32_t tid_slots, const ExecutionOptions& options, uint32_t items = UINT32_MAX);

}  // namespace batmap
