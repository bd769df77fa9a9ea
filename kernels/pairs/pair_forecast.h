// What a run of pair support would take and give, from the sizes of its relation; nothing is counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "pairs/choose.h"
#include "pairs/pair_run.h"
#include "relation/chunk.h"

namespace batmap {

struct PairForecast {
  uint64_t rows_read = 0;
  uint64_t transactions = 0;
  uint64_t items = 0;
  uint64_t items_kept = 0;
  uint64_t pair_instances = 0;
  uint64_t threshold = 0;
  double pairs = 0;   // expected answers, see expected_pairs()
  PairChoice choice;  // nothing in it where no item is kept
};

/// @param query  its threshold and kernels
/// @throws Error, std::bad_alloc
PairForecast forecast_pairs(std::vector<ChunkView> chunks, const PairQuery& query, const ExecutionOptions& options);

/// Expected number of pairs with at least `threshold` common transactions if items were independent: the common transactions
/// of two then are hypergeometric, taken as Poisson or normal. Real items go together, so for high thresholds there are
/// more.
/// @param supports  of the items
double expected_pairs(std::span<const uint64_t> supports, uint64_t transactions, uint64_t threshold);

}  // namespace batmap
