// The partitions of rows in files (row_partitions.h), put together to parts that are loaded one after the other. The
// constructor reads all rows once, and totals the rows of every item. No transaction is in two parts, so counts of
// parts add up. Source: Savasere, Omiecinski & Navathe (1995) for the partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/item_totals.h"
#include "relation/row_partitions.h"

namespace batmap {

class RowParts {
 public:
  /// @param rows       sealed; the files must outlive this object
  /// @param item_rank  see EncodedRelation
  /// @param options    must outlive this object
  /// @throws Error, std::bad_alloc, what the files throw
  RowParts(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ExecutionOptions& options);

  size_t size() const { return groups_.size() - 1; }
  /// The partitions of one part.
  std::span<const RowPartition> operator[](size_t part) const {
    return std::span(partitions_).subspan(groups_[part], groups_[part + 1] - groups_[part]);
  }
  uint64_t transactions_of(size_t part) const { return part_transactions_[part]; }
  /// Puts neighbouring parts together until each has at least so many transactions, or there is one part.
  void join_below(uint64_t transactions);

  uint64_t transactions() const { return transactions_; }
  const ItemTotals& totals() const { return *totals_; }
  uint64_t file_bytes() const;  // of the rows

 private:
  void group(uint64_t max_bytes);

  std::vector<RowPartition> partitions_;
  std::vector<size_t> groups_;  // first partition of each part, and the end
  std::vector<uint64_t> part_transactions_;
  uint64_t transactions_ = 0;
  std::optional<ItemTotals> totals_;
};

}  // namespace batmap
