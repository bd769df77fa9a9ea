// Counting sort of the rows by item. See tidlists.h.
#include "relation/tidlists.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "core/polled.h"
#include "core/thread_team.h"
#include "relation/kept_rows.h"

namespace batmap {

namespace {

// Words of marks that are read in the time of comparing an element; from the group times of bench/existence_bench.cpp.
constexpr uint32_t kWordsAMark = 16;

/// @param marks  all 0, before and after
/// @return number of elements without duplicates
/// @throws Error{kCancelled}; then some marks are left
uint32_t sort_by_marks(std::span<uint32_t> list, std::span<uint64_t> marks, const CancelToken& cancel) {
  in_parts(list.size(), cancel, [&](size_t begin, size_t end) {
    for (const uint32_t tid : list.subspan(begin, end - begin)) marks[tid >> 6] |= uint64_t{1} << (tid & 63);
  });
  uint32_t* to = list.data();
  in_parts(marks.size(), cancel, [&](size_t begin, size_t end) {
    for (size_t word = begin; word < end; ++word)
      for (uint64_t bits = std::exchange(marks[word], 0); bits != 0; bits &= bits - 1)
        *to++ = static_cast<uint32_t>(word * 64) + static_cast<uint32_t>(std::countr_zero(bits));
  });
  return static_cast<uint32_t>(to - list.data());
}

}  // namespace

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
  const size_t max_parts = std::min(threads_for_rows(kept.occurrences, options), TidParts::max_narrow(relation));
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

void sort_lists(Tidlists& lists, uint32_t tid_slots, const ExecutionOptions& options, uint32_t items) {
  const uint32_t words = tid_slots / 64 + 1;
  const size_t count = std::min<size_t>(items, lists.length.size());
  std::vector<Buffer<uint64_t>> marks(std::min(static_cast<size_t>(options.threads), count));  // made by the first use
  parallel_for(options, count, [&](size_t item, int worker) {
    const std::span<uint32_t> list = lists.list(static_cast<uint32_t>(item));
    if (!std::is_sorted(list.begin(), list.end())) {
      if (words <= kWordsAMark * list.size()) {
        Buffer<uint64_t>& bits = marks[static_cast<size_t>(worker)];
        if (bits.empty()) bits = Buffer<uint64_t>(*options.memory, words, Fill::kZero);
        lists.length[item] = sort_by_marks(list, bits.span(), options.cancel);
        return;
      }
      std::sort(list.begin(), list.end(), polled(options.cancel, std::less<>()));
    }
    lists.length[item] = static_cast<uint32_t>(std::unique(list.begin(), list.end()) - list.begin());
  });
}

}  // namespace batmap
