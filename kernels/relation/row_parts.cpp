// Groups partitions and totals their items. See row_parts.h.
#include "relation/row_parts.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "relation/encoded_relation.h"

namespace batmap {

RowParts::RowParts(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ExecutionOptions& options) {
  const uint64_t max_bytes = max_loaded_bytes(options);
  partitions_ = rows.partitions(max_bytes, options.cancel);
  group(max_bytes);
  const uint64_t few = std::min(rows.rows(), max_coded_rows(options));
  const KeyBounds ranks = {0, static_cast<int64_t>(item_rank.size()) - 1};
  totals_.emplace(item_rank.empty() ? rows.item_bounds() : ranks, few, options);
  for (size_t part = 0; part < size(); ++part) {
    const LoadedRows loaded((*this)[part], options);
    const EncodedRelation relation(loaded.chunks(), item_rank, options);
    part_transactions_.push_back(relation.transactions());
    transactions_ += relation.transactions();
    totals_->add(relation);
  }
  if (transactions_ > UINT32_MAX)
    throw Error(ErrorCode::kTooLarge, "more than 4294967295 transactions",
                "Count parts of the transactions, and add up the supports of each pair.");
}

void RowParts::group(uint64_t max_bytes) {
  groups_.assign(1, 0);
  uint64_t bytes = 0;
  for (size_t part = 0; part < partitions_.size(); ++part) {
    if (part > groups_.back() && bytes + partitions_[part].bytes > max_bytes) {
      groups_.push_back(part);
      bytes = 0;
    }
    bytes += partitions_[part].bytes;
  }
  groups_.push_back(partitions_.size());
}

void RowParts::join_below(uint64_t transactions) {
  std::vector<size_t> groups(1, 0);
  std::vector<uint64_t> sums;
  uint64_t sum = 0;
  for (size_t part = 0; part < size(); ++part) {
    sum += part_transactions_[part];
    if (sum < transactions) continue;
    groups.push_back(groups_[part + 1]);
    sums.push_back(sum);
    sum = 0;
  }
  // What is left is too small for a part of its own.
  if (sums.empty()) {
    groups.push_back(0);
    sums.push_back(0);
  }
  groups.back() = groups_.back();
  sums.back() += sum;
  groups_ = std::move(groups);
  part_transactions_ = std::move(sums);
}

uint64_t RowParts::file_bytes() const {
  uint64_t bytes = 0;
  for (const RowPartition& partition : partitions_) bytes += partition.bytes;
  return bytes;
}

}  // namespace batmap
