// The interface by which all searches over bit rows count (breadth_first.h, bit_row_search.h): a stack of
// levels, each with the bit rows of some itemsets, the items of a root at the bottom. An itemset is named by its
// index in its level; in the first level, a root item is at its number. Indexes are plain numbers, because the rows
// lie in the memory of this machine (HostLevels) or of a device (device_levels.h), whose C ABI takes them as they are.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "accel/device_itemsets.h"
#include "itemsets/forms/weighted_bits.h"

namespace batmap {

class RowLevels {
 public:
  virtual ~RowLevels() = default;

  /// Sets the supports of candidates of the top level.
  virtual void count(std::span<JoinedItemset> candidates) = 0;
  /// Makes the rows of `kept` the top level. @param kept  joins of the top level, in order of their indexes
  virtual void push(std::span<const JoinedItemset> kept) = 0;
  /// Removes the top level.
  virtual void pop() = 0;
  /// Frees the levels under the top one: they are not used any more.
  virtual void drop_lower() = 0;
  /// Joins one row of the top level with all later ones. The rows of the frequent results become the top level.
  /// @param fold_support  results of this support are found but get no row
  /// @param found         overwritten; ascending
  virtual void extend_row(uint32_t row, uint32_t min_count, uint32_t fold_support, std::vector<JoinedItemset>& found) = 0;

  /// The input of extend_rows(), which joins, prunes and counts whole levels in one call. See DeviceExtension.
  struct Step {
    uint32_t first;
    uint32_t last;
    uint32_t min_count;
    bool prune;
    uint32_t leading;
    bool push;
  };
  /// Can extend_rows() be called? If not, the search joins and prunes by itself, and calls count().
  virtual bool joins_levels() const { return false; }
  /// @param found  appended to, in order of the indexes @return how many candidates were counted
  virtual uint64_t extend_rows(const Step& step, GrowingBuffer<JoinedItemset>& found);
  /// How many more rows there is room for.
  virtual uint64_t room_rows() { return UINT64_MAX; }
};

/// Levels in the memory of this machine.
class HostLevels final : public RowLevels {
 public:
  HostLevels(WeightedBits bits, const ExecutionOptions& options)
      : bits_(std::move(bits)), options_(options), poll_(options.cancel), levels_(1) {
    levels_[0].size = bits_.items();
  }

  /// Supports of the row `index` with each of the `later` rows behind it.
  void count_later(size_t index, size_t later, uint32_t* supports) {
    bits_.count(rows() + index * bits_.words(), rows() + (index + 1) * bits_.words(), later, supports);
    poll_.after(later * (bits_.words() + 8));
  }
  size_t words() const { return bits_.words(); }

  void count(std::span<JoinedItemset> candidates) override;
  void push(std::span<const JoinedItemset> kept) override;
  void pop() override { --top_; }
  void drop_lower() override;
  void extend_row(uint32_t row, uint32_t min_count, uint32_t fold_support, std::vector<JoinedItemset>& found) override;

 private:
  struct Level {
    size_t size = 0;
    Buffer<uint64_t> rows;  // empty in the first level, whose rows are in bits_
  };

  const uint64_t* rows() const { return top_ == 0 ? bits_.row(0) : levels_[top_].rows.data(); }
  uint64_t* room(size_t rows);

  WeightedBits bits_;
  const ExecutionOptions& options_;
  Poll poll_;
  std::vector<Level> levels_;  // levels above the top only keep their memory
  size_t top_ = 0;
  std::vector<uint32_t> supports_;
};

}  // namespace batmap
