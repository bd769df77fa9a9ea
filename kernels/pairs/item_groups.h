// Which group each item belongs to: a table from items to dense numbers of groups, filled row by row, then read for
// every pair. Items without a group belong to no pair of the answer. Cost: a look-up of key_codes.h, and 16 bytes
// an item while the table is filled. Source: ours.
#pragma once

#include <cstdint>
#include <optional>

#include "core/memory.h"
#include "core/options.h"
#include "relation/key_codes.h"

namespace batmap {

class ItemGroups {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// @param meter  must outlive the table
  explicit ItemGroups(MemoryMeter& meter) : meter_(&meter), members_(meter), sizes_(meter) {}

  /// Puts an item into a group. An item that is put into several belongs to the last one.
  /// @param group  dense: at most one above all groups so far @throws Error{kMemoryLimit}, std::bad_alloc
  void add(int64_t item, uint32_t group);
  /// Call it after the last item, before the members below. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
  void seal(const CancelToken& cancel = {});

  /// The group of an item, or kNone.
  uint32_t find(int64_t item) const {
    const uint32_t code = codes_->find(item);
    return code == KeyCodes::kNone ? kNone : group_of_code_[code];
  }
  uint32_t groups() const { return static_cast<uint32_t>(sizes_.size()); }
  /// Has the group only one item?
  bool is_single(uint32_t group) const { return sizes_[group] == 1; }
  bool all_are_single() const { return all_are_single_; }

 private:
  struct Member {
    int64_t item;
    uint32_t group;
  };

  MemoryMeter* meter_;
  GrowingBuffer<Member> members_;  // until sealed
  GrowingBuffer<uint32_t> sizes_;  // [groups]
  bool all_are_single_ = true;
  std::optional<KeyCodes> codes_;
  Buffer<uint32_t> group_of_code_;
};

}  // namespace batmap
