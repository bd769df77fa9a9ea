// Sorts the rows of a part by transaction, and marks each item with the last transaction that had
// it. See repeated_rows.h.
#include "relation/repeated_rows.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "core/thread_team.h"
#include "relation/tid_parts.h"

namespace batmap {

namespace {

constexpr uint32_t kTidsAPoll = 1 << 16;

/// Memory of one thread, used for one part after the other.
struct Scratch {
  explicit Scratch(MemoryMeter& meter) : end(meter), items(meter) {}
  GrowingBuffer<uint32_t> end;    // [tids of the part] where the items of each tid end so far
  GrowingBuffer<uint32_t> items;  // [rows of the part] items, by tid
  Buffer<uint32_t> last;          // [item codes] the last tid that had the item
};

bool has_repeated_rows(const TidParts& parts, size_t part, Scratch& scratch, const ExecutionOptions& options) {
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
    bool repeated = false;
    for (; at < end[tid]; ++at) repeated |= std::exchange(scratch.last[by_tid[at]], first + tid) == first + tid;
    if (repeated) return true;
  }
  return false;
}

}  // namespace

bool has_repeated_rows(const EncodedRelation& relation, const ExecutionOptions& options) {
  const size_t in_cache = std::min<uint64_t>(relation.rows() / kRowsInCache, TidParts::max_narrow(relation));
  const TidParts parts(relation, std::max(TidParts::for_threads(relation.rows(), options), in_cache), options);
  std::vector<Scratch> scratch;
  for (int worker = 0; worker < options.threads; ++worker) scratch.emplace_back(*options.memory);
  std::atomic<bool> found{false};
  parallel_for(options, parts.size(), [&](size_t part, int worker) {
    if (found) return;
    Scratch& own = scratch[static_cast<size_t>(worker)];
    if (own.last.empty()) {
      own.last = Buffer<uint32_t>(*options.memory, relation.item_codes());
      std::ranges::fill(own.last, UINT32_MAX);
    }
    if (has_repeated_rows(parts, part, own, options)) found = true;
  });
  return found;
}

}  // namespace batmap
