// Counting sort of the rows by item. See tidlists.h.
#include "relation/tidlists.h"

#include <algorithm>
#include <functional>

#include "core/polled.h"
#include "core/thread_team.h"
#include "relation/kept_rows.h"

namespace batmap {

Tidlists allocate_tidlists(const EncodedRelation& relation, const KeptItems& kept, MemoryMeter& meter, uint32_t items) {
  Tidlists lists;
  lists.begin = Buffer<uint64_t>(meter, size_t{kept.size} + 1);
  lists.length = Buffer<uint32_t>(meter, kept.size, Fill::kZero);
  uint64_t begin = 0;
  for (uint32_t item = 0; item < kept.size; ++item) {
    lists.begin[item] = begin;
    if (item < items) begin += relation.item_rows(kept.code(Rank{item}));
  }
  lists.begin[kept.size] = begin;
  lists.tids = Buffer<uint32_t>(meter, begin);
  return lists;
}

Tidlists scatter_tidlists(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options) {
  Tidlists lists = allocate_tidlists(relation, kept, *options.memory);
  for (uint32_t item = 0; item < kept.size; ++item)
    lists.length[item] = static_cast<uint32_t>(lists.begin[item + 1] - lists.begin[item]);
  const size_t max_parts = std::min(TidParts::for_threads(kept.occurrences, options), TidParts::max_narrow(relation));
  const TidParts parts(relation, std::min(max_parts, RowOffsets::max_parts(kept)), options);
  RowOffsets offsets(parts, kept, options);
  uint32_t* const tids_of = lists.tids.data();
  parallel_for(options, parts.size(), [&](size_t part, int) {
    uint32_t* const offset = offsets.of_part(part).data();
    visit_kept_rows(parts, part, kept, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
      for (uint32_t k = 0; k < rows; ++k) tids_of[offset[items[k]]++] = tids[k];
    });
  });
  return lists;
}

void sort_lists(Tidlists& lists, const ExecutionOptions& options, uint32_t items) {
  parallel_for(options, std::min<size_t>(items, lists.length.size()), [&](size_t item, int) {
    const std::span<uint32_t> list = lists.list(static_cast<uint32_t>(item));
    if (!std::is_sorted(list.begin(), list.end()))
      std::sort(list.begin(), list.end(), polled(options.cancel, std::less<>()));
    lists.length[item] = static_cast<uint32_t>(std::unique(list.begin(), list.end()) - list.begin());
  });
}

}  // namespace batmap
