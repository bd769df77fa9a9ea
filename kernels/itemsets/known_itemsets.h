// Itemsets whose supports are known before a search: those of stored counts, or of rows in files. A run (itemset_run.h)
// selects its answers from them. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"

namespace batmap {

struct ItemsetQuery;

struct KnownItemsets {
  explicit KnownItemsets(MemoryMeter& meter) : steps(meter) {}

  uint64_t transactions = 0;
  uint64_t items = 0;      // distinct items of the input
  Buffer<int64_t> values;  // by rank
  uint32_t leading = 0;    // itemsets begin with one of the first so many ranks
  // Each itemset comes before those that begin with it; siblings ascend. Support 0: only a prefix of others.
  GrowingBuffer<ItemsetStep> steps;
};

/// The itemsets of a finished value (itemset_counts.h). Included items have the first ranks; itemsets with excluded items are
/// left out. Memory: 12 bytes an itemset, and with `include` that of an ItemsetSorter.
/// @throws Error{kTooLarge} for more than 2^32 - 1 transactions; Error{kMemoryLimit, kCancelled}
KnownItemsets known_itemsets(const std::byte* counts, const ItemsetQuery& query, const ExecutionOptions& options);

}  // namespace batmap
