// Counted pairs by row, as pair counts hold them. Cost: a sort within each row, by all threads. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "pairs/counters/pair_counter.h"
#include "pairs/counts/pair_counts.h"

namespace batmap {

/// The counted pairs. An index is the rank of an item by value.
struct CountedPairs {
  /// @param found  pairs of indexes, the smaller first, in any order, with counts below 2^32; is emptied
  /// @throws Error{kMemoryLimit, kCancelled}
  CountedPairs(std::span<GrowingBuffer<PairCount>> found, size_t items, const ExecutionOptions& options);

  void write_row(uint32_t index, PairCountsWriter& writer) const {
    for (size_t k = row_begin[index]; k < row_begin[index + 1]; ++k)
      writer.add_pair(static_cast<uint32_t>(partners[k] >> 32), static_cast<uint32_t>(partners[k]));
  }

  Buffer<size_t> row_begin;   // [items + 1]
  Buffer<uint64_t> partners;  // by row, ascending within a row: index of the partner << 32 | count
};

}  // namespace batmap
