// Frequent itemsets of rows in files, in two rounds over parts that fit into memory. The first finds the itemsets that
// are frequent in a part. The second counts all of them in all parts. An itemset in at least the share s of all
// transactions is in at least the share s of those of some part, so none is missed, and the counts are exact.
//
// With few transactions a part has many itemsets by chance. So parts are put together, beyond the work memory if need be,
// until the threshold of each is at least kMinPartCount. Cost: three passes over the files, a search and a count of
// each part. Memory: that of a search of one part, and 16 bytes a candidate.
// Source: Savasere, Omiecinski & Navathe (1995).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "core/run_record.h"
#include "itemsets/itemset_forecast.h"
#include "itemsets/known_itemsets.h"
#include "relation/kept_items.h"
#include "relation/row_log.h"
#include "relation/row_parts.h"

namespace batmap {

class ItemsetRun;

class ItemsetParts {
 public:
  static constexpr uint64_t kMinPartCount = 32;

  /// Reads all rows once. For the parameters see RowParts.
  ItemsetParts(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ExecutionOptions& options);

  uint64_t transactions() const { return parts_.transactions(); }
  uint64_t items() const { return parts_.totals().items(); }
  uint64_t most_item_rows() const { return parts_.totals().most_item_rows(); }
  uint64_t file_bytes() const { return parts_.file_bytes(); }

  /// All itemsets of at least `min_count` transactions, of those lengths and items from which the answers can be chosen.
  /// @throws Error, std::bad_alloc, what the files throw
  KnownItemsets find(const ItemsetQuery& query, uint64_t min_count);

  // Of the last find():
  size_t parts() const { return parts_.size(); }
  uint64_t candidates() const { return candidates_; }
  uint64_t occurrences() const { return occurrences_; }

 private:
  void find_in_part(size_t part, const ItemsetQuery& query, uint64_t min_count, const KeptItems& kept,
                    std::span<const int64_t> kept_values, GrowingBuffer<ItemsetStep>& candidates) const;

  const ExecutionOptions& options_;
  std::span<const uint32_t> item_rank_;
  RowParts parts_;
  uint64_t candidates_ = 0;
  uint64_t occurrences_ = 0;
};

/// The number of itemsets of rows in files, as ItemsetRun::forecast() says it for rows in memory. All rows are read once, so what is
/// frequent is known; then up to kSampledParts parts are samples of the transactions: the forecast is the mean of theirs, and
/// its error that of the mean. An itemset near the threshold may be on either side of it in a sample. So the mean is a little
/// too large: if the number of itemsets falls with the third power of the support, by 6 / t where t is the threshold in a part.
/// @param record  filled @throws Error, std::bad_alloc, what the files throw
ItemsetForecast forecast_of_parts(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ItemsetQuery& query,
                                  double milliseconds, const ExecutionOptions& options, RunRecord& record);
inline constexpr size_t kSampledParts = 4;

/// Counts given itemsets in rows, which may be in files. Appends a finished value (itemset_counts.h) with those that occur, and
/// the number of all transactions. Cost: a look at each transaction for each of its itemsets with others below them.
/// @param rows        sealed
/// @param candidates  a finished value
/// @throws Error, std::bad_alloc, what the files throw
RunRecord count_itemsets_of_part(const RowLog& rows, const std::byte* candidates, GrowingBuffer<std::byte>& out,
                                 const ExecutionOptions& options);

/// Appends all answers of a run as a finished value. @throws Error, std::bad_alloc
void write_itemset_counts(ItemsetRun& run, GrowingBuffer<std::byte>& out, const ExecutionOptions& options);

}  // namespace batmap
