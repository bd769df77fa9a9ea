// The rows of kept items, part by part (tid_parts.h). All counted forms are made from these. Cost: one
// decoding pass over the blocks of each part. Source: ours.
#pragma once

#include <cstdint>
#include <span>

#include "relation/kept_items.h"
#include "relation/tid_parts.h"

namespace batmap {

/// Calls visit(tid codes, item ranks, number of rows) for the rows of kept items of a part, in order of
/// arrival, at most 4,096 at a time.
/// @throws Error{kCancelled}
/// @note thread-safe
template <typename Visit>
void visit_kept_rows(const TidParts& parts, size_t part, const KeptItems& kept, Visit visit) {
  const Rank* const rank = kept.rank_of_code.data();
  parts.visit(part, [&](uint32_t* tids, uint32_t* items, uint32_t rows) {
    uint32_t found = rows;
    if (kept.occurrences == parts.relation().rows()) {
      for (uint32_t k = 0; k < rows; ++k) items[k] = index_of(rank[items[k]]);
    } else {
      found = 0;
      for (uint32_t k = 0; k < rows; ++k) {
        const Rank item = rank[items[k]];
        tids[found] = tids[k];
        items[found] = index_of(item);
        found += item != KeptItems::kDropped;
      }
    }
    visit(tids, items, found);
  });
}

/// Where the rows of every item and part begin if rows are sorted by item, and by part within an item.
class RowOffsets {
 public:
  /// Cost: one pass over the rows if there are several parts, none for one part.
  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
  RowOffsets(const TidParts& parts, const KeptItems& kept, const ExecutionOptions& options);

  /// The largest number of parts for which there are so many rows for each offset, which has four bytes.
  static size_t max_parts(const KeptItems& kept, uint64_t rows_an_offset = 16);

  /// [items] where the rows of each item begin in this part, by rank; may be written to. of_part(number
  /// of parts) has the ends.
  std::span<uint32_t> of_part(size_t part) { return offsets_.span().subspan(part * items_, items_); }

 private:
  size_t items_;
  Buffer<uint32_t> offsets_;  // [parts + 1][items]
};

}  // namespace batmap
