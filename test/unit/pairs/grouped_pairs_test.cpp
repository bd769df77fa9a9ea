// Pairs of groups against a map that adds up pair by pair, for groups of all sizes, conditions and prefixes.
#include "pairs/grouped_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr uint64_t kSeed = 11;
constexpr int64_t kNoGroup = INT64_MIN;
constexpr PairCondition kConditions[] = {PairCondition::kNone,    PairCondition::kLess,         PairCondition::kLessEqual,
                                         PairCondition::kGreater, PairCondition::kGreaterEqual, PairCondition::kNotEqual};

using Counts = std::map<std::pair<int64_t, int64_t>, uint64_t>;

struct Case {
  std::map<int64_t, uint32_t> left;  // empty: items are groups
  std::map<int64_t, uint32_t> right;
  bool both_orders;
  bool has_prefixes;
  PairCondition condition;
  std::vector<ItemPair> rows;
};

int64_t group_of(const std::map<int64_t, uint32_t>& groups, bool has_prefixes, int64_t item) {
  if (groups.empty()) return item;
  const auto found = groups.find(has_prefixes ? without_prefix(item) : item);
  if (found == groups.end()) return kNoGroup;
  return has_prefixes ? static_cast<int64_t>(uint64_t{prefix_of(item)} << 32 | found->second) : found->second;
}

Counts expected(const Case& c) {
  Counts counts;
  const auto add = [&](int64_t left, int64_t right, uint64_t count) {
    const bool wanted =
        c.condition == PairCondition::kNone ||
        (c.condition == PairCondition::kNotEqual ? left != right
         : left == right ? c.condition == PairCondition::kLessEqual || c.condition == PairCondition::kGreaterEqual
         : left < right  ? c.condition == PairCondition::kLess || c.condition == PairCondition::kLessEqual
                         : c.condition == PairCondition::kGreater || c.condition == PairCondition::kGreaterEqual);
    const int64_t a = group_of(c.left, c.has_prefixes, left);
    const int64_t b = group_of(c.right, c.has_prefixes, right);
    if (wanted && a != kNoGroup && b != kNoGroup) counts[{a, b}] += count;
  };
  for (const ItemPair& row : c.rows) {
    add(row.item_a, row.item_b, row.support);
    if (c.both_orders && row.item_a != row.item_b) add(row.item_b, row.item_a, row.support);
  }
  return counts;
}

/// The answer of the class; each pair must come once.
Counts grouped(const Case& c, uint64_t min_count, std::optional<uint64_t> top_k, MemoryMeter& meter) {
  const auto table_of = [&](const std::map<int64_t, uint32_t>& groups) {
    std::optional<ItemGroups> table;
    if (groups.empty()) return table;
    table.emplace(meter);
    for (const auto& [item, group] : groups) table->add(item, group);
    table->seal();
    return table;
  };
  const std::optional<ItemGroups> left = table_of(c.left);
  const std::optional<ItemGroups> right = table_of(c.right);
  const PairGrouping grouping{.left = left ? &*left : nullptr,
                              .right = right ? &*right : nullptr,
                              .both_orders = c.both_orders,
                              .has_prefixes = c.has_prefixes,
                              .condition = c.condition,
                              .ranks = {},
                              .min_count = min_count,
                              .top_k = top_k};
  ExecutionOptions options;
  options.memory = &meter;
  GroupedPairs pairs(grouping, options);
  Counts counts;
  std::vector<ItemPair> batch;
  const auto take = [&] {
    for (const ItemPair& row : batch)
      EXPECT_TRUE(counts.emplace(std::pair{row.item_a, row.item_b}, row.support).second) << row.item_a << ", " << row.item_b;
  };
  if (grouping.keeps_items()) {
    pairs.translate(c.rows, batch);
    take();
    return counts;
  }
  const size_t half = c.rows.size() / 2;
  pairs.add({c.rows.data(), half});
  pairs.add({c.rows.data() + half, c.rows.size() - half});
  pairs.finish();
  while (pairs.next(batch)) take();
  return counts;
}

/// Dense groups of most of the items from -5 on.
std::map<int64_t, uint32_t> some_groups(Random& random, int64_t items, uint32_t groups, int64_t step) {
  std::map<int64_t, uint32_t> made;
  uint32_t known = 0;
  for (int64_t item = 0; item < items; ++item) {
    if (random.chance(10)) continue;
    const auto group = static_cast<uint32_t>(random.below(std::min(known + 1, groups)));
    known = std::max(known, group + 1);
    made[(item - 5) * step] = group;
  }
  return made;
}

Case some_case(Random& random, PairCondition condition, bool has_prefixes) {
  const auto items = static_cast<int64_t>(1 + random.below(60));
  const int64_t step = !has_prefixes && random.chance(50) ? int64_t{1} << 40 : 1;  // far apart: hashed codes
  Case c{.left = {},
         .right = {},
         .both_orders = random.chance(50),
         .has_prefixes = has_prefixes,
         .condition = condition,
         .rows = {}};
  const uint32_t groups[] = {1, 7, UINT32_MAX};
  if (random.chance(75)) c.left = some_groups(random, items, groups[random.below(3)], step);
  if (random.chance(75))
    c.right = c.both_orders && random.chance(50) ? c.left : some_groups(random, items, groups[random.below(3)], step);
  for (uint32_t prefix = 0; prefix < (has_prefixes ? 3u : 1u); ++prefix)
    for (int64_t a = 0; a < items; ++a)
      for (int64_t b = c.both_orders ? a : 0; b < items; ++b) {
        if (!random.chance(60)) continue;
        ItemPair row{(a - 5) * step, (b - 5) * step, 1 + random.below(9)};
        if (has_prefixes) row = {with_prefix(prefix, row.item_a), with_prefix(prefix, row.item_b), row.support};
        c.rows.push_back(row);
      }
  return c;
}

TEST(GroupedPairs, LikeAddingUpOneByOne) {
  Random random(kSeed);
  for (int round = 0; round < 40; ++round)
    for (const PairCondition condition : kConditions)
      for (const bool has_prefixes : {false, true}) {
        const Case c = some_case(random, condition, has_prefixes);
        MemoryMeter meter;
        const Counts all = expected(c);
        EXPECT_EQ(grouped(c, 1, std::nullopt, meter), all);
        Counts frequent = all;
        std::erase_if(frequent, [](const auto& pair) { return pair.second < 8; });
        EXPECT_EQ(grouped(c, 8, std::nullopt, meter), frequent);
        EXPECT_EQ(meter.current(), 0u);
      }
}

TEST(GroupedPairs, RanksAreCompared) {
  Random random(kSeed + 3);
  for (const PairCondition condition : kConditions) {
    MemoryMeter meter;
    ItemGroups groups(meter);
    for (int64_t item = 0; item < 30; ++item) groups.add(item, static_cast<uint32_t>(item / 3));
    groups.seal();
    std::vector<uint32_t> ranks;
    for (uint32_t group = 0; group < groups.groups(); ++group)
      ranks.push_back(group == 4 ? PairGrouping::kNoRank : static_cast<uint32_t>(random.below(5)));
    std::vector<ItemPair> rows;
    for (int64_t a = 0; a < 30; ++a)
      for (int64_t b = a; b < 30; ++b) rows.push_back({a, b, 1 + random.below(9)});
    Counts expected;
    const auto add = [&](int64_t left, int64_t right, uint64_t count) {
      const uint32_t x = ranks[static_cast<size_t>(left / 3)];
      const uint32_t y = ranks[static_cast<size_t>(right / 3)];
      if (x != PairGrouping::kNoRank && y != PairGrouping::kNoRank && holds(condition, x, y))
        expected[{left / 3, right / 3}] += count;
    };
    for (const ItemPair& row : rows) {
      add(row.item_a, row.item_b, row.support);
      if (row.item_a != row.item_b) add(row.item_b, row.item_a, row.support);
    }
    PairGrouping grouping;
    grouping.left = grouping.right = &groups;
    grouping.both_orders = true;
    grouping.condition = condition;
    grouping.ranks = ranks;
    ExecutionOptions options;
    options.memory = &meter;
    GroupedPairs pairs(grouping, options);
    pairs.add(rows);
    pairs.finish();
    Counts counts;
    std::vector<ItemPair> batch;
    while (pairs.next(batch))
      for (const ItemPair& row : batch) counts[{row.item_a, row.item_b}] = row.support;
    EXPECT_EQ(counts, expected);
  }
}

TEST(GroupedPairs, TopKHasAtLeastTheBest) {
  Random random(kSeed + 1);
  for (int round = 0; round < 40; ++round) {
    const Case c = some_case(random, PairCondition::kNone, round % 2 == 0);
    MemoryMeter meter;
    const Counts all = expected(c);
    std::vector<uint64_t> counts;
    for (const auto& pair : all) counts.push_back(pair.second);
    std::sort(counts.begin(), counts.end(), std::greater<uint64_t>());
    const Counts found = grouped(c, 1, 5, meter);
    for (const auto& [pair, count] : found) EXPECT_EQ(all.at(pair), count);
    const uint64_t fifth = counts.size() < 5 ? 1 : counts[4];
    for (const auto& [pair, count] : all) EXPECT_TRUE(count < fifth || found.count(pair) == 1);
  }
}

TEST(GroupedPairs, TheTableGrows) {
  Random random(kSeed + 2);
  Case c{
      .left = {}, .right = {}, .both_orders = false, .has_prefixes = false, .condition = PairCondition::kNone, .rows = {}};
  for (int64_t item = 0; item < 400; ++item) c.right[item] = static_cast<uint32_t>(item / 2);
  for (int64_t a = 0; a < 400; ++a)
    for (int64_t b = 0; b < 400; ++b) c.rows.push_back({a << 33, b, 1 + random.below(9)});
  MemoryMeter meter;
  EXPECT_EQ(grouped(c, 1, std::nullopt, meter), expected(c));
  MemoryMeter small(size_t{1} << 20);
  EXPECT_THROW(grouped(c, 1, std::nullopt, small), Error);
  EXPECT_EQ(small.current(), 0u);
}

TEST(GroupedPairs, Cancelled) {
  MemoryMeter meter;
  ExecutionOptions options;
  options.memory = &meter;
  options.cancel = {[](void*) { return true; }, nullptr};
  ItemGroups groups(meter);
  for (int64_t item = 0; item < 2; ++item) groups.add(item, 0);
  groups.seal();
  PairGrouping grouping;
  grouping.left = &groups;
  GroupedPairs pairs(grouping, options);
  const ItemPair row{0, 1, 1};
  EXPECT_THROW(pairs.add({&row, 1}), Error);
}

TEST(ItemGroups, Empty) {
  MemoryMeter meter;
  ItemGroups groups(meter);
  groups.seal();
  EXPECT_EQ(groups.groups(), 0u);
  EXPECT_EQ(groups.find(0), ItemGroups::kNone);
  EXPECT_TRUE(groups.all_are_single());
}

TEST(ItemGroups, Prefixes) {
  for (const uint32_t prefix : {0u, 1u, kMaxPrefixes - 1})
    for (const int64_t item : {int64_t{INT32_MIN}, int64_t{-1}, int64_t{0}, int64_t{INT32_MAX}}) {
      EXPECT_EQ(prefix_of(with_prefix(prefix, item)), prefix);
      EXPECT_EQ(without_prefix(with_prefix(prefix, item)), item);
      EXPECT_GE(with_prefix(prefix, item), 0);
    }
  EXPECT_LT(with_prefix(3, -1), with_prefix(3, 0));
  EXPECT_LT(with_prefix(3, INT32_MAX), with_prefix(4, INT32_MIN));
}

}  // namespace
}  // namespace batmap::test
