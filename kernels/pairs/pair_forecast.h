// Forecasts time, memory and answers of a run of pair support. Time and memory follow from the sizes of the relation.
// If counting is expected to take some milliseconds only, the answers are counted; if not, they are estimated from a
// sample of the pairs (answer_size.h). Cost: three or four passes over the rows. Of rows in files, two: one totals the
// rows of every item, one looks at the parts one after the other; the answers are always estimated then. Source: ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "pairs/choose.h"
#include "pairs/pair_run.h"
#include "relation/chunk.h"
#include "relation/row_partitions.h"

namespace batmap {

struct PairForecast {
  uint64_t rows_read = 0;
  uint64_t transactions = 0;
  uint64_t items = 0;
  uint64_t items_kept = 0;
  uint64_t pair_instances = 0;
  double pairs = 0;  // expected number of answers
  // of `pairs`; 0: they were counted; infinite: memory was too small for a sample, and `pairs` is expected_pairs()
  double standard_error = 0;
  // Unset if no item is kept. Of rows in files: the sum of the times of all parts, and the most memory of a part
  PairChoice choice;
  uint64_t file_bytes = 0;  // of rows in files
  size_t parts = 0;         // of these that are loaded one after the other
};

/// @param query  its threshold, include, exclude and kernels are used
/// @throws Error, std::bad_alloc
PairForecast forecast_pairs(std::vector<ChunkView> chunks, const PairQuery& query, const ExecutionOptions& options);
/// The same over rows in files. @param rows  sealed @throws also what the files throw
PairForecast forecast_pairs(const RowPartitions& rows, const PairQuery& query, const ExecutionOptions& options);

/// The same as in measures/expected_answers.h, for items that were counted.
/// @param supports  support of each item
double expected_pairs(std::span<const uint64_t> supports, uint64_t transactions, uint64_t threshold);

}  // namespace batmap
