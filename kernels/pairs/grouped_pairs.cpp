// Adds up the counts of pairs of groups. See grouped_pairs.h.
#include "pairs/grouped_pairs.h"

#include <algorithm>
#include <functional>

#include "core/poll.h"

namespace batmap {

namespace {

constexpr uint64_t kDenseCounters = uint64_t{1} << 19;  // 4 MB: they stay in a cache
constexpr size_t kFirstSlots = size_t{1} << 12;

size_t slot_of(int64_t left, int64_t right) {
  uint64_t x = static_cast<uint64_t>(left) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(right);
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

}  // namespace

GroupedPairs::GroupedPairs(const PairGrouping& grouping, const ExecutionOptions& options)
    : grouping_(grouping), options_(options), finished_(*options.memory) {
  if (grouping.top_k) best_.emplace(*options.memory, *grouping.top_k);
  if (grouping.keeps_items()) return;
  if (grouping.left != nullptr && grouping.right != nullptr && !grouping.has_prefixes &&
      uint64_t{grouping.left->groups()} * grouping.right->groups() <= kDenseCounters)
    counts_ = Buffer<uint64_t>(*options.memory, size_t{grouping.left->groups()} * grouping.right->groups(), Fill::kZero);
  else
    table_ = Buffer<Entry>(*options.memory, kFirstSlots, Fill::kZero);
}

/// The group of an item, and whether it has no other item. @return nothing if the item has none
std::optional<std::pair<int64_t, bool>> GroupedPairs::group_of(const ItemGroups* groups, int64_t item) const {
  if (groups == nullptr) return std::pair{item, true};
  const uint32_t group = groups->find(grouping_.has_prefixes ? without_prefix(item) : item);
  if (group == ItemGroups::kNone) return std::nullopt;
  const int64_t prefix = grouping_.has_prefixes ? static_cast<int64_t>(uint64_t{prefix_of(item)} << 32) : 0;
  return std::pair{prefix | group, groups->is_single(group)};
}

/// @param left, right  groups without their prefix
bool GroupedPairs::ranks_hold(uint32_t left, uint32_t right) const {
  const uint32_t a = grouping_.ranks[left];
  const uint32_t b = grouping_.ranks[right];
  return a != PairGrouping::kNoRank && b != PairGrouping::kNoRank && holds(grouping_.condition, a, b);
}

template <typename Take>
void GroupedPairs::take_pair(int64_t left, int64_t right, uint64_t count, Take take) const {
  const bool has_ranks = !grouping_.ranks.empty();
  if (!has_ranks && !holds(grouping_.condition, left, right)) return;
  const auto left_group = group_of(grouping_.left, left);
  const auto right_group = group_of(grouping_.right, right);
  if (!left_group || !right_group) return;
  if (!has_ranks || ranks_hold(static_cast<uint32_t>(left_group->first), static_cast<uint32_t>(right_group->first)))
    take(left_group->first, right_group->first, count, left_group->second && right_group->second);
}

template <typename Take>
void GroupedPairs::take_pairs(std::span<const ItemPair> items, Take take) const {
  for (const ItemPair& row : items) {
    take_pair(row.item_a, row.item_b, row.support, take);
    if (grouping_.both_orders && row.item_a != row.item_b) take_pair(row.item_b, row.item_a, row.support, take);
  }
}

void GroupedPairs::translate(std::span<const ItemPair> items, std::vector<ItemPair>& groups) const {
  groups.clear();
  take_pairs(items, [&](int64_t left, int64_t right, uint64_t count, bool) {
    if (count >= grouping_.min_count) groups.push_back({left, right, count});
  });
}

void GroupedPairs::offer(uint64_t count) {
  if (best_) best_->offer(count, std::greater<uint64_t>());
}

bool GroupedPairs::is_answer(uint64_t count) const {
  return count >= grouping_.min_count && (!best_ || !best_->is_full() || count >= best_->worst());
}

void GroupedPairs::add(std::span<const ItemPair> items) {
  options_.cancel.throw_if_requested();
  take_pairs(items, [&](int64_t left, int64_t right, uint64_t count, bool is_single) {
    if (!counts_.empty()) {
      counts_[static_cast<size_t>(left) * grouping_.right->groups() + static_cast<size_t>(right)] += count;
    } else if (is_single) {
      if (!is_answer(count)) return;
      offer(count);
      finished_.push_back({left, right, count});
    } else {
      add_to_table(left, right, count);
    }
  });
}

void GroupedPairs::add_to_table(int64_t left, int64_t right, uint64_t count) {
  const size_t mask = table_.size() - 1;
  size_t at = slot_of(left, right) & mask;
  for (; table_[at].count != 0; at = (at + 1) & mask)
    if (table_[at].left == left && table_[at].right == right) {
      table_[at].count += count;
      return;
    }
  table_[at] = {left, right, count};
  if (++used_ * 2 > table_.size()) grow_table();
}

void GroupedPairs::grow_table() {
  Poll poll(options_.cancel);
  Buffer<Entry> larger(*options_.memory, table_.size() * 2, Fill::kZero);
  const size_t mask = larger.size() - 1;
  for (const Entry& entry : table_) {
    poll.after(1);
    if (entry.count == 0) continue;
    size_t at = slot_of(entry.left, entry.right) & mask;
    while (larger[at].count != 0) at = (at + 1) & mask;
    larger[at] = entry;
  }
  table_ = std::move(larger);
}

void GroupedPairs::finish() {
  if (!best_) return;
  Poll poll(options_.cancel);
  poll.after(counts_.size() + table_.size());
  for (const uint64_t count : counts_)
    if (count >= grouping_.min_count) offer(count);
  for (const Entry& entry : table_)
    if (entry.count >= grouping_.min_count) offer(entry.count);
}

bool GroupedPairs::next(std::vector<ItemPair>& batch) {
  batch.clear();
  options_.cancel.throw_if_requested();
  const auto put = [&](int64_t left, int64_t right, uint64_t count) {
    if (count != 0 && is_answer(count)) batch.push_back({left, right, count});
  };
  const size_t rest = finished_.size() + counts_.size() + table_.size();
  const size_t end = std::min(rest, handed_over_ + kBatchRows);
  if (handed_over_ == rest) return false;
  for (; handed_over_ < end; ++handed_over_) {
    size_t at = handed_over_;
    if (at < finished_.size()) {
      put(finished_[at].left, finished_[at].right, finished_[at].count);
    } else if (at -= finished_.size(); !counts_.empty()) {
      const uint32_t columns = grouping_.right->groups();
      put(static_cast<int64_t>(at / columns), static_cast<int64_t>(at % columns), counts_[at]);
    } else {
      put(table_[at].left, table_[at].right, table_[at].count);
    }
  }
  return true;
}

}  // namespace batmap
