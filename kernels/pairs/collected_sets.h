// The sets of a query as they arrive. They stay in memory, where they are compared best, until the run has taken half of what
// it may take. Then, if the run has files, they become rows (element, number of the set) of a log, which goes to files
// beyond the work memory, and pairs of sets are counted like those of items.
// Cost: that of a SetCollection and 8 bytes a set; then a look at each element to decode and log it. Source: ours.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/options.h"
#include "relation/row_log.h"
#include "set/set_collection.h"
#include "set/set_kernel.h"

namespace batmap {

class CollectedSets {
 public:
  /// @param options    its files, if any, must outlive the rows
  /// @param may_spill  false: the sets stay in memory in any case
  CollectedSets(const ExecutionOptions& options, bool may_spill, const SetKernel& kernel = best_set_kernel());

  /// Copies the value. @throws Error{kInvalidData} if its header is not consistent; Error{kMemoryLimit, kCancelled}, what the
  /// files throw
  void add(int64_t id, std::span<const std::byte> value);
  /// After the last set.
  void seal();
  /// Replaces every id by new_id[id]. @param new_id  for all ids, which count from 0
  void rename(std::span<const uint32_t> new_id);

  size_t size() const { return ids_.size(); }
  std::span<const int64_t> ids() const { return ids_.span(); }  // by number
  /// An id that more than one set has. @throws Error{kMemoryLimit, kCancelled}
  std::optional<int64_t> repeated_id() const;

  /// Appends rows of two ids with the numbers of the sets in their place; -1: there is none. The ids differ.
  void append_numbers(const std::vector<ChunkView>& list, RowLog& out) const;

  /// Are the sets rows of a log?
  bool are_rows() const { return rows_ != nullptr; }
  SetCollection take_sets() { return std::move(sets_); }
  std::unique_ptr<RowLog> take_rows() { return std::move(rows_); }

 private:
  void log(uint32_t number, const SetView& set);

  ExecutionOptions options_;
  const SetKernel* kernel_;
  bool may_spill_;
  SetCollection sets_;
  GrowingBuffer<int64_t> ids_;
  std::unique_ptr<RowLog> rows_;
};

}  // namespace batmap
