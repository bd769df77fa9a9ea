// The best k of many pairs against sorting all pairs, for any order of arrival.
#include "pairs/best_pairs.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

/// All pairs of `items` items. Supports have few different values, so that ties decide.
std::vector<PairRow> some_pairs(Random& random, int64_t items) {
  std::vector<PairRow> rows;
  for (int64_t a = 0; a < items; ++a)
    for (int64_t b = a + 1; b < items; ++b)
      if (random.chance(60)) rows.push_back({a - 5, b - 5, 1 + random.below(4), 9, 9});
  return rows;
}

/// Whether x replaces y, and y does not replace x.
bool is_better(const PairRow& x, const PairRow& y) {
  MemoryMeter meter;
  for (const bool x_first : {true, false}) {
    BestPairs best(meter, 1, PairRanking());
    best.offer(x_first ? x : y);
    best.offer(x_first ? y : x);
    const GrowingBuffer<PairRow> kept = best.take();
    if (kept[0].item_a != x.item_a || kept[0].item_b != x.item_b || kept[0].support != x.support) return false;
  }
  return true;
}

TEST(BestPairs, LargerSupportThenSmallerItems) {
  const PairRow row{3, 4, 10, 20, 30};
  const PairRow worse[] = {{3, 4, 9, 20, 30}, {4, 5, 10, 20, 30}, {3, 5, 10, 20, 30}, {-9, -8, 9, 1, 1}};
  for (const PairRow& other : worse) {
    EXPECT_TRUE(is_better(row, other)) << describe(other);
    EXPECT_FALSE(is_better(other, row)) << describe(other);
  }
  EXPECT_TRUE(is_better({INT64_MIN, 0, 1, 1, 1}, {INT64_MAX, 0, 1, 1, 1}));
}

TEST(BestPairs, LikeSorting) {
  Random random(kSeed);
  for (const int64_t items : {0, 2, 3, 12, 40}) {
    std::vector<PairRow> rows = some_pairs(random, items);
    for (const uint64_t k :
         {uint64_t{1}, uint64_t{2}, uint64_t{10}, uint64_t{rows.size()}, uint64_t{rows.size() + 1}, UINT64_MAX}) {
      if (k == 0) continue;  // k must be at least 1
      random.shuffle(rows);
      MemoryMeter meter;
      {
        BestPairs best(meter, k, PairRanking());
        EXPECT_EQ(best.threshold(), 0u);
        uint64_t before = 0;
        for (const PairRow& row : rows) {
          best.offer(row);
          EXPECT_GE(best.threshold(), before) << "the threshold only rises";
          before = best.threshold();
        }
        std::vector<PairRow> expected = rows;
        std::sort(expected.begin(), expected.end(), [](const PairRow& x, const PairRow& y) {
          return std::tuple(-static_cast<int64_t>(x.support), x.item_a, x.item_b) <
                 std::tuple(-static_cast<int64_t>(y.support), y.item_a, y.item_b);
        });
        if (expected.size() > k) expected.resize(static_cast<size_t>(k));
        if (expected.size() == k) {
          EXPECT_EQ(best.threshold(), expected.back().support);
        }
        const GrowingBuffer<PairRow> kept = best.take();
        EXPECT_EQ(difference({kept.begin(), kept.end()}, expected), "") << "k " << k << ", seed " << kSeed;
      }
      EXPECT_EQ(meter.current(), 0u);
    }
  }
}

// Leaving out pairs that can no longer be kept does not change the answer.
TEST(BestPairs, PairsBelowTheThresholdDoNotMatter) {
  Random random(kSeed + 1);
  const std::vector<PairRow> rows = some_pairs(random, 30);
  MemoryMeter meter;
  BestPairs all(meter, 17, PairRanking());
  BestPairs few(meter, 17, PairRanking());
  for (const PairRow& row : rows) {
    all.offer(row);
    if (row.support >= few.threshold()) few.offer(row);
  }
  const GrowingBuffer<PairRow> x = all.take();
  const GrowingBuffer<PairRow> y = few.take();
  EXPECT_EQ(difference({x.begin(), x.end()}, {y.begin(), y.end()}), "");
}

TEST(BestPairsPerItem, LikeSorting) {
  Random random(kSeed + 2);
  for (const uint32_t items : {2u, 3u, 10u, 35u}) {
    // Values do not ascend with the ranks: ties are broken by value.
    std::vector<int64_t> values;
    for (uint32_t i = 0; i < items; ++i) values.push_back(static_cast<int64_t>(i) - 4);
    random.shuffle(values);
    using Pairs = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;
    Pairs pairs;
    for (uint32_t a = 0; a < items; ++a)
      for (uint32_t b = a + 1; b < items; ++b)
        if (random.chance(70)) pairs[{a, b}] = static_cast<uint32_t>(1 + random.below(3));
    for (const uint32_t k : {1u, 2u, 5u, 100u, UINT32_MAX}) {
      std::map<uint32_t, std::set<std::tuple<int64_t, int64_t, uint32_t>>> partners;
      for (const auto& [pair, support] : pairs) {
        partners[pair.first].insert({-int64_t{support}, values[pair.second], pair.second});
        partners[pair.second].insert({-int64_t{support}, values[pair.first], pair.first});
      }
      Pairs expected;
      for (const auto& [item, ordered] : partners) {
        uint32_t taken = 0;
        for (const auto& [negated, value, partner] : ordered)
          if (taken++ < k) expected[std::minmax({item, partner})] = static_cast<uint32_t>(-negated);
      }

      std::vector<std::pair<std::pair<uint32_t, uint32_t>, uint32_t>> arrivals(pairs.begin(), pairs.end());
      random.shuffle(arrivals);
      MemoryMeter meter;
      {
        BestPairsPerItem best(meter, k, values.data(), items);
        for (const auto& [pair, support] : arrivals) best.offer(pair.first, pair.second, support, support);
        const GrowingBuffer<BestPairsPerItem::Kept> kept = best.take();
        ASSERT_EQ(kept.size(), expected.size()) << "k " << k << ", seed " << kSeed;
        size_t at = 0;
        for (const auto& [pair, support] : expected) {
          EXPECT_EQ(kept[at].a, pair.first);
          EXPECT_EQ(kept[at].b, pair.second);
          EXPECT_EQ(kept[at].support, support);
          ++at;
        }
      }
      EXPECT_EQ(meter.current(), 0u);
    }
  }
}

TEST(BestPairsPerItem, PartnersComeByItemAndScore) {
  const std::vector<int64_t> values{30, 10, 20};
  MemoryMeter meter;
  BestPairsPerItem best(meter, 2, values.data(), 3);
  best.offer_to(0, 1, 5, 0.5);
  best.offer_to(0, 2, 4, 0.5);
  best.offer_to(2, 0, 4, 0.25);
  best.offer_to(2, 1, 3, 0.75);
  best.offer_to(2, 2, 1, 0.1);  // not among the best two
  const GrowingBuffer<BestPairsPerItem::Kept> kept = best.take_partners();
  std::vector<std::tuple<int64_t, int64_t, uint64_t>> found;
  for (const BestPairsPerItem::Kept& pair : kept.span()) found.emplace_back(values[pair.a], values[pair.b], pair.support);
  // Items by value. Equal scores: the smaller partner first.
  EXPECT_EQ(found,
            (std::vector<std::tuple<int64_t, int64_t, uint64_t>>{{20, 10, 3}, {20, 30, 4}, {30, 10, 5}, {30, 20, 4}}));
}

}  // namespace
}  // namespace batmap::test
