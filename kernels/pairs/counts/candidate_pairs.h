// The pairs of a value of counts as a hash table, for counting only these. Memory: 32 to 64 bytes a pair. Source: ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/options.h"
#include "pairs/counts/pair_counts.h"

namespace batmap {

/// A hash table of the candidates: at most half of its slots are used.
class CandidatePairs {
 public:
  static constexpr uint32_t kPolled = 1 << 16;  // pairs or items between two polls of the token

  CandidatePairs(const std::byte* value, const ExecutionOptions& options)
      : slots_(*options.memory, std::bit_ceil(2 * pair_counts_header(value).pairs + 2), Fill::kZero) {
    uint32_t calls = 0;
    for (PairCountsItems items(value); items.next();)
      for (PairCountsRow row = items.row(); row.next();) {
        if (++calls % kPolled == 0) options.cancel.throw_if_requested();
        slot(items.index(), row.index()).key = key(items.index(), row.index());
      }
  }

  /// nullptr if the pair is no candidate
  uint64_t* count(uint32_t a, uint32_t b) {
    Slot& found = slot(a, b);
    return found.key == 0 ? nullptr : &found.count;
  }

 private:
  struct Slot {
    uint64_t key;  // 0: free
    uint64_t count;
  };
  // b > a >= 0, so no key is 0
  static uint64_t key(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }
  Slot& slot(uint32_t a, uint32_t b) {
    const uint64_t wanted = key(a, b);
    uint64_t at = wanted * 0x9e3779b97f4a7c15u;
    for (at = (at ^ at >> 32) & (slots_.size() - 1); slots_[at].key != 0 && slots_[at].key != wanted;)
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  Buffer<Slot> slots_;
};

}  // namespace batmap
