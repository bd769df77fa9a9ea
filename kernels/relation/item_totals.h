// Rows of every item, summed over several relations such as the partitions of one. Cost: a look-up and an
// addition for each item of each relation; 8 bytes an item beside its code (key_codes.h). Source: ours.
#pragma once

#include <cstdint>

#include "core/options.h"
#include "relation/encoded_relation.h"

namespace batmap {

class ItemTotals {
 public:
  /// @param values  bounds of the items that will come
  /// @param rows    rows of all relations together
  ItemTotals(const KeyBounds& values, uint64_t rows, const ExecutionOptions& options)
      : codes_(options, values.low, values.range(), rows), rows_(*options.memory) {}

  /// Adds the rows of every item. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
  void add(const EncodedRelation& relation);

  uint32_t item_codes() const { return static_cast<uint32_t>(rows_.size()); }
  uint64_t item_rows(ItemCode code) const { return rows_[index_of(code)]; }
  int64_t item_value(ItemCode code) const { return codes_.key(index_of(code)); }
  /// The code of an item that has rows.
  ItemCode item_code(int64_t value) const { return ItemCode{codes_.find(value)}; }
  uint32_t items() const { return items_; }
  uint64_t most_item_rows() const { return most_item_rows_; }

 private:
  KeyCodes codes_;
  GrowingBuffer<uint64_t> rows_;  // [codes]
  uint32_t items_ = 0;            // items that have rows
  uint64_t most_item_rows_ = 0;
};

}  // namespace batmap
