// Marks each item with the last transaction that had it, in order of arrival where that is by transaction,
// else after sorting the rows of a part. See repeated_rows.h.
#include "relation/repeated_rows.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/thread_team.h"
#include "relation/tid_parts.h"

namespace batmap {

namespace {

constexpr uint32_t kTidsAPoll = 1 << 16;

/// Memory of one thread, used for one part after the other.
struct Scratch {
  Scratch(uint32_t item_codes, MemoryMeter& meter) : last(meter, item_codes), end(meter), items(meter) {
    std::ranges::fill(last, UINT32_MAX);
  }
  Buffer<uint32_t> last;          // [item codes] the last tid that had the item
  GrowingBuffer<uint32_t> end;    // [tids of the part] where the items of each tid end so far
  GrowingBuffer<uint32_t> items;  // [rows of the part] items, by tid
};

enum class Rows { kDiffer, kRepeat, kDescend };

/// @return kDescend: a tid is less than the one before, so that its rows may lie apart
Rows compare_as_they_arrive(const TidParts& parts, size_t part, Scratch& scratch) {
  uint32_t before = parts.first_tid(part);
  bool descend = false;
  bool repeat = false;
  parts.visit(part, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
    if (descend || repeat) return;
    for (uint32_t k = 0; k < rows; ++k) {
      const uint32_t tid = tids[k];
      descend |= tid < before;
      before = tid;
      repeat |= std::exchange(scratch.last[items[k]], tid) == tid;
    }
  });
  return repeat ? Rows::kRepeat : descend ? Rows::kDescend : Rows::kDiffer;
}

Rows compare_sorted(const TidParts& parts, size_t part, Scratch& scratch, const ExecutionOptions& options) {
  const uint32_t first = parts.first_tid(part);
  const uint32_t tids_of_part = parts.first_tid(part + 1) - first;
  uint32_t* const end = scratch.end.room(tids_of_part);
  std::fill_n(end, tids_of_part, 0);
  parts.visit(part, [&](const uint32_t* tids, const uint32_t*, uint32_t rows) {
    for (uint32_t k = 0; k < rows; ++k) ++end[tids[k] - first];
  });
  uint32_t at = 0;
  for (uint32_t tid = 0; tid < tids_of_part; ++tid) at += std::exchange(end[tid], at);
  uint32_t* const by_tid = scratch.items.room(at);
  parts.visit(part, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
    for (uint32_t k = 0; k < rows; ++k) by_tid[end[tids[k] - first]++] = items[k];
  });
  at = 0;
  for (uint32_t tid = 0; tid < tids_of_part; ++tid) {
    if (tid % kTidsAPoll == 0) options.cancel.throw_if_requested();
    bool repeat = false;
    for (; at < end[tid]; ++at) repeat |= std::exchange(scratch.last[by_tid[at]], first + tid) == first + tid;
    if (repeat) return Rows::kRepeat;
  }
  return Rows::kDiffer;
}

/// Calls compare(part, scratch of the thread) for parts until one repeats a row. The parts that it calls
/// descending stay in `unsettled`.
template <typename Compare>
bool any_repeats(std::vector<uint32_t>& unsettled, uint32_t item_codes, const ExecutionOptions& options, Compare compare) {
  std::vector<std::optional<Scratch>> scratch(static_cast<size_t>(options.threads));
  std::vector<Rows> found(unsettled.size(), Rows::kDiffer);
  std::atomic<bool> repeat{false};
  parallel_for(options, unsettled.size(), [&](size_t task, int worker) {
    if (repeat) return;
    std::optional<Scratch>& own = scratch[static_cast<size_t>(worker)];
    if (!own) own.emplace(item_codes, *options.memory);
    found[task] = compare(unsettled[task], *own);
    if (found[task] == Rows::kRepeat) repeat = true;
  });
  size_t kept = 0;
  for (size_t task = 0; task < unsettled.size(); ++task)
    if (found[task] == Rows::kDescend) unsettled[kept++] = unsettled[task];
  unsettled.resize(kept);
  return repeat;
}

}  // namespace

bool has_repeated_rows(const EncodedRelation& relation, const ExecutionOptions& options) {
  const size_t narrow = TidParts::max_narrow(relation);
  const size_t in_cache = std::min<uint64_t>(relation.rows() / kRowsInCache, narrow);
  const TidParts parts(relation, std::max(threads_for_rows(relation.rows(), options), in_cache), options);
  std::vector<uint32_t> unsettled(parts.size());
  std::iota(unsettled.begin(), unsettled.end(), 0);
  const bool about_by_tid = narrow > 1;
  if (about_by_tid && any_repeats(unsettled, relation.item_codes(), options, [&](uint32_t part, Scratch& scratch) {
        return compare_as_they_arrive(parts, part, scratch);
      }))
    return true;
  return any_repeats(unsettled, relation.item_codes(), options,
                     [&](uint32_t part, Scratch& scratch) { return compare_sorted(parts, part, scratch, options); });
}

}  // namespace batmap
