// Pair support over rows in files (row_partitions.h), in two passes: one totals the rows of every item, one counts.
// Each partition is loaded, coded and counted by the method that the chooser picks for it. Counts over disjoint
// sets of transactions add up: in a triangle or rectangle of counters if that fits into a share of the work
// memory, else in runs on files (count_runs.h). Source: Savasere, Omiecinski & Navathe (1995) for the
// partitions; the rest is ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "pairs/build_counter.h"
#include "pairs/count_runs.h"
#include "pairs/counters/pair_counter.h"
#include "relation/kept_items.h"
#include "relation/row_parts.h"

namespace batmap {

class SpilledPairs {
 public:
  static constexpr size_t kCountersShare = 4;
  /// Reads all rows once to total the rows of every item.
  /// @param rows       sealed; the files must outlive this object
  /// @param item_rank  see EncodedRelation
  /// @param options    must outlive this object
  /// @throws Error, std::bad_alloc, what the files throw; so does next_block()
  SpilledPairs(const RowPartitions& rows, std::span<const uint32_t> item_rank, const ExecutionOptions& options);

  uint64_t transactions() const { return parts_.transactions(); }
  uint64_t items() const { return parts_.totals().items(); }
  uint64_t most_item_rows() const { return parts_.totals().most_item_rows(); }

  /// Reads all rows once more.
  bool has_repeated_rows() const;

  /// Sets what is counted. Call it once, before next_block().
  /// @param method        none: the chooser decides for each partition
  /// @param min_weight  if set, repeated rows multiply (PairQuery::bag), whatever the method: the
  /// threshold, perhaps above 32 bits
  void keep(const ItemFilter& filter, std::optional<PairMethod> method, const PairKernels& kernels,
            std::optional<uint64_t> min_weight);
  const KeptItems& kept() const { return kept_; }
  bool weighted() const { return min_weight_.has_value(); }
  int64_t item_value(uint32_t rank) const { return parts_.totals().item_value(kept_.code(Rank{rank})); }

  /// A counter that hands out the pairs of the next block of rows. The first call counts.
  /// @return nullptr after the last block
  std::unique_ptr<PairCounter> next_block();

  /// What has been done so far.
  uint64_t pair_instances() const { return pair_instances_; }
  const std::vector<PairMethod>& methods() const { return methods_; }  // each method once
  size_t loads() const { return parts_.size(); }                       // groups of partitions loaded in one pass
  uint64_t file_bytes() const { return parts_.file_bytes(); }          // of the rows
  uint64_t run_bytes() const { return runs_ ? runs_->bytes() : 0; }

 private:
  /// The layout of the counters of the wanted pairs, row after row.
  struct Layout {
    uint64_t pairs_before(uint64_t row) const {
      if (first_column > 0) return row * (items - first_column);
      return row * (items - 1) - row * (row - 1) / 2;
    }
    uint32_t first_after(uint32_t row) const { return std::max(row + 1, first_column); }
    uint64_t columns(uint32_t row) const { return items - first_after(row); }

    uint32_t items;
    uint32_t first_column;  // see WantedPairs
  };
  template <typename Count>
  class Counters;

  template <typename Count>
  std::unique_ptr<PairCounter> next_block_in(Buffer<Count>& supports);
  template <typename Count>
  void add_group(size_t group, Count* counts, Count* supports);
  template <typename Count>
  void append_group(size_t group, Count* supports);
  /// The pairs of one group, whose ranks are those of the group.
  struct GroupCounter {
    std::unique_ptr<PairCounter> counter;  // nullptr: there are none
    Buffer<Rank> global_rank;
  };
  template <typename Count>
  GroupCounter counter_of_group(size_t group, Count* supports);
  std::unique_ptr<PairCounter> counter_of(const EncodedRelation& relation, const KeptItems& own,
                                          const TransactionLengths& lengths);
  Layout layout() const { return {kept_.size, kept_.pairs.first_column}; }

  const ExecutionOptions& options_;
  std::span<const uint32_t> item_rank_;
  RowParts parts_;
  KeptItems kept_;
  std::optional<PairMethod> method_;
  PairKernels kernels_;
  bool counted_ = false;
  std::optional<CountRuns> runs_;  // if all counters would be too large
  std::optional<uint64_t> min_weight_;
  Buffer<uint32_t> supports_;       // [kept]
  Buffer<uint64_t> wide_supports_;  // [kept] used instead if rows are counted
  uint64_t pair_instances_ = 0;
  std::vector<PairMethod> methods_;
};

}  // namespace batmap
