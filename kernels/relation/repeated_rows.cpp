// The items of each transaction side by side, each stamped with the last transaction that had it. See repeated_rows.h.
#include "relation/repeated_rows.h"

#include <utility>

namespace batmap {

bool has_repeated_rows(const EncodedRelation& relation, const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  const uint32_t slots = relation.tid_slots();
  Buffer<uint32_t> end(meter, slots, Fill::kZero);  // of what each tid has so far
  uint32_t tids[kChunkRows];
  uint32_t items[kChunkRows];
  for (size_t block = 0; block < relation.blocks(); ++block) {
    options.cancel.throw_if_requested();
    const uint32_t rows = relation.decode(block, tids, items);
    for (uint32_t k = 0; k < rows; ++k) ++end[tids[k]];
  }
  uint32_t at = 0;
  for (uint32_t tid = 0; tid < slots; ++tid) {
    const uint32_t rows = end[tid];
    end[tid] = at;
    at += rows;
  }
  Buffer<uint32_t> by_tid(meter, relation.rows());
  for (size_t block = 0; block < relation.blocks(); ++block) {
    options.cancel.throw_if_requested();
    const uint32_t rows = relation.decode(block, tids, items);
    for (uint32_t k = 0; k < rows; ++k) by_tid[end[tids[k]]++] = items[k];
  }
  Buffer<uint32_t> last(meter, relation.item_codes(), Fill::kZero);  // tid + 1
  at = 0;
  for (uint32_t tid = 0; tid < slots; ++tid) {
    if (tid % 65536 == 0) options.cancel.throw_if_requested();
    bool repeated = false;
    for (; at < end[tid]; ++at) repeated |= std::exchange(last[by_tid[at]], tid + 1) == tid + 1;
    if (repeated) return true;
  }
  return false;
}

}  // namespace batmap
