// Pairs of items become pairs of groups: the counts of all pairs of items with the same two groups are added up.
//
//   items  (1, 7): 3   (2, 7): 4   (1, 8): 5       groups  1, 2 -> 0   7, 8 -> 1
//   answer (0, 1): 12
//
// Groups of one item keep their counts. The others add up in an array of all pairs of groups if it is small, else
// in an open-addressing hash table, so that most of the cost is one cache miss a pair of items. Memory: 24 bytes an
// answer, and 48 or more a pair in the table. Source: ours.
//
// Items may have a prefix, a number of 31 bits above an item of 32 bits: a value that both items of a pair share,
// because their transaction determines it. Groups keep it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/best_k.h"
#include "core/memory.h"
#include "core/options.h"
#include "pairs/best_pairs.h"
#include "pairs/item_groups.h"

namespace batmap {

/// How the two items of a pair must compare: as values of 64 bits, prefix included, or by the ranks of their groups.
enum class PairCondition : int { kNone, kLess, kLessEqual, kGreater, kGreaterEqual, kNotEqual };

inline bool holds(PairCondition condition, int64_t left, int64_t right) {
  switch (condition) {
    case PairCondition::kNone: return true;
    case PairCondition::kLess: return left < right;
    case PairCondition::kLessEqual: return left <= right;
    case PairCondition::kGreater: return left > right;
    case PairCondition::kGreaterEqual: return left >= right;
    case PairCondition::kNotEqual: return left != right;
  }
  return false;
}

/// Does it hold for an item and itself?
inline bool holds_for_equals(PairCondition condition) { return holds(condition, 0, 0); }

// Prefixes, see above. The order of items with the same prefix is that of the items.
inline constexpr uint32_t kMaxPrefixes = uint32_t{1} << 31;
inline int64_t with_prefix(uint32_t prefix, int64_t item) {
  return static_cast<int64_t>(uint64_t{prefix} << 32 | (static_cast<uint32_t>(item) ^ uint32_t{1} << 31));
}
inline uint32_t prefix_of(int64_t item) { return static_cast<uint32_t>(static_cast<uint64_t>(item) >> 32); }
inline int64_t without_prefix(int64_t item) { return static_cast<int32_t>(static_cast<uint32_t>(item) ^ uint32_t{1} << 31); }

/// What is made of the pairs of a run.
struct PairGrouping {
  const ItemGroups* left = nullptr;  // not owned; nullptr: each item is a group, known by its value
  const ItemGroups* right = nullptr;
  bool both_orders = false;  // each pair comes once and stands for (a, b) and (b, a): a self-join
  bool has_prefixes = false;
  PairCondition condition = PairCondition::kNone;
  // not owned; if given, `condition` compares these numbers of the groups of both sides, and no pair has a group without one
  std::span<const uint32_t> ranks = {};
  static constexpr uint32_t kNoRank = UINT32_MAX;
  uint64_t min_count = 1;         // of a pair of groups
  std::optional<uint64_t> top_k;  // at least all pairs with the count of the k-th

  /// Is each pair of groups one pair of items? Then nothing is added up.
  bool keeps_items() const {
    return (left == nullptr || left->all_are_single()) && (right == nullptr || right->all_are_single());
  }
};

class GroupedPairs {
 public:
  /// @param grouping  copied @param options  copied; its meter must outlive this object
  GroupedPairs(const PairGrouping& grouping, const ExecutionOptions& options);

  /// For a grouping that keeps items: turns pairs of items into pairs of groups. @param groups  overwritten
  void translate(std::span<const ItemPair> items, std::vector<ItemPair>& groups) const;

  // For others, all pairs of items first:
  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
  void add(std::span<const ItemPair> items);
  /// After the last pair of items. Then the pairs of groups follow batch by batch.
  void finish();
  /// @param batch  overwritten; may be empty although more pairs follow @return false after the last pair
  bool next(std::vector<ItemPair>& batch);

 private:
  struct Entry {
    int64_t left;
    int64_t right;
    uint64_t count;  // 0: free
  };

  template <typename Take>
  void take_pair(int64_t left, int64_t right, uint64_t count, Take take) const;
  template <typename Take>
  void take_pairs(std::span<const ItemPair> items, Take take) const;
  std::optional<std::pair<int64_t, bool>> group_of(const ItemGroups* groups, int64_t item) const;
  bool ranks_hold(uint32_t left, uint32_t right) const;
  void add_to_table(int64_t left, int64_t right, uint64_t count);
  void grow_table();
  void offer(uint64_t count);
  bool is_answer(uint64_t count) const;

  PairGrouping grouping_;
  ExecutionOptions options_;
  GrowingBuffer<Entry> finished_;  // pairs of groups of one item
  Buffer<uint64_t> counts_;        // [groups of the left][groups of the right] if they are few
  Buffer<Entry> table_;            // otherwise
  size_t used_ = 0;                // entries of the table
  std::optional<BestK<uint64_t>> best_;
  size_t handed_over_ = 0;  // position in finished_, then in counts_ or table_
};

}  // namespace batmap
