// Counts rows by part and item. See kept_rows.h.
#include "relation/kept_rows.h"

#include <algorithm>

#include "core/thread_team.h"

namespace batmap {

size_t RowOffsets::max_parts(const KeptItems& kept, uint64_t rows_an_offset) {
  return std::max<uint64_t>(kept.occurrences / rows_an_offset / std::max(kept.size, 1u), 1);
}

RowOffsets::RowOffsets(const TidParts& parts, const KeptItems& kept, const ExecutionOptions& options)
    : items_(kept.size), offsets_(*options.memory, (parts.size() + 1) * kept.size, Fill::kZero) {
  const auto row = [&](size_t part) { return offsets_.data() + part * items_; };
  // First the rows of each part are counted, in the row of the next part; the sums are taken below.
  if (parts.size() > 1)
    parallel_for(options, parts.size(), [&](size_t part, int) {
      uint32_t* const rows_of_item = row(part + 1);
      visit_kept_rows(parts, part, kept, [&](const uint32_t*, const uint32_t* items, uint32_t rows) {
        for (uint32_t k = 0; k < rows; ++k) ++rows_of_item[items[k]];
      });
    });
  uint32_t begin = 0;
  for (uint32_t item = 0; item < kept.size; ++item) {
    const auto rows = static_cast<uint32_t>(parts.relation().item_rows(kept.code(Rank{item})));
    offsets_[item] = begin;
    begin += rows;
    if (parts.size() == 1) row(1)[item] = rows;
  }
  for (size_t part = 0; part < parts.size(); ++part)
    for (size_t item = 0; item < items_; ++item) row(part + 1)[item] += row(part)[item];
}

}  // namespace batmap
