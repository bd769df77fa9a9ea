// The number of itemsets estimated from random ways, against the exact number. Seeds are fixed, so no test
// depends on luck or time; how far an estimate may be off was measured once.
#include "itemsets/itemset_forecast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "relation/encoded_relation.h"
#include "test/unit/shared/itemsets.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

/// A root, and how many itemsets it has.
struct Rooted {
  Rooted(const std::vector<TidItem>& rows, int64_t min_count, const std::optional<std::vector<int64_t>>& include = {})
      : packed(rows), options{.memory = &meter, .cancel = {}} {
    query.min_count = min_count;
    query.include = include;
    const EncodedRelation relation(packed.chunks(), {}, options);
    const ItemFilter filter{.min_rows = static_cast<uint64_t>(min_count), .include = include, .exclude = {}};
    root.emplace(
        build_search_root(relation, keep_items(relation, filter, options), static_cast<uint64_t>(min_count), true, options));
  }
  double exact(const ItemsetLengths& lengths = {}) {
    query.min_length = lengths.min;
    if (lengths.max != UINT32_MAX) query.max_length = lengths.max;
    ItemsetRun run(packed.chunks(), {}, query, options);
    double sum = 0;
    for (const SpectrumRow& row : run.spectrum()) sum += static_cast<double>(row.itemsets);
    return sum;
  }
  ItemsetForecast guess(uint64_t rounds, const ItemsetLengths& lengths = {}) {
    RandomWays ways(*root, static_cast<uint32_t>(*query.min_count), lengths, UINT32_MAX, options);
    while (ways.rounds() < rounds) ways.round();
    return ways.forecast();
  }

  MemoryMeter meter;
  PackedRows packed;
  ExecutionOptions options;
  ItemsetQuery query;
  std::optional<SearchRoot> root;
};

TEST(ItemsetForecast, ComesNearWithManyWays) {
  Random random(kSeed + 1);  // an estimate: another seed may be farther off than the 30 % below
  double within = 0;
  int rooms = 0;
  for (const int64_t items : {8, 30, 90})
    for (const uint64_t percent : {10, 25, 40})
      for (const bool some : {false, true}) {
        const std::vector<TidItem> rows = random_grid(random, 400, items, percent);
        Rooted rooted(rows, items == 8 ? 2 : 25, some ? std::optional(std::vector<int64_t>{1, 2, 3}) : std::nullopt);
        const double exact = rooted.exact();
        const ItemsetForecast guess = rooted.guess(200);
        EXPECT_GT(guess.ways, 0u);
        EXPECT_NEAR(guess.itemsets, exact, 0.3 * exact + 1e-9) << items << " items, " << percent << " %, seed " << kSeed;
        within += std::abs(guess.itemsets - exact) <= 2 * guess.standard_error + 1e-9;
        ++rooms;
      }
  EXPECT_GE(within / rooms, 0.8);
}

TEST(ItemsetForecast, KnowsLengthsAndPerfectExtensions) {
  // All 2^30 - 1 subsets of one transaction that comes five times; besides, single items.
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < 5; ++tid)
    for (int64_t item = 0; item < 30; ++item) rows.push_back({tid, item});
  for (int64_t tid = 5; tid < 60; ++tid) rows.push_back({tid, tid % 30});
  Rooted rooted(rows, 4);
  const ItemsetForecast all = rooted.guess(200);
  EXPECT_NEAR(all.itemsets, std::exp2(30) - 1, 3 * all.standard_error);
  EXPECT_LT(all.standard_error, std::exp2(28));
  EXPECT_NEAR(rooted.guess(2, {1, 1}).itemsets, 30, 1e-9);
  const ItemsetForecast pairs = rooted.guess(200, {2, 2});
  EXPECT_NEAR(pairs.itemsets, 435, 3 * pairs.standard_error);
  // Every item is in all transactions.
  rows.resize(150);
  EXPECT_NEAR(Rooted(rows, 5).guess(2).itemsets, std::exp2(30) - 1, 1);
}

TEST(ItemsetForecast, RunsAnswerExactlyWhereTheyCan) {
  Random random(kSeed + 1);
  const PackedRows packed(random_grid(random, 300, 40, 40));
  for (const int64_t min_count : {10, 100, 1000}) {
    ItemsetQuery query;
    query.min_count = min_count;
    MemoryMeter meter;
    ItemsetRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
    double exact = 0;
    for (const SpectrumRow& row : run.spectrum()) exact += static_cast<double>(row.itemsets);
    const ItemsetForecast patient = run.forecast(1e6);
    EXPECT_EQ(patient.itemsets, exact);
    EXPECT_EQ(patient.ways, 0u);
  }
  // 40 transactions that lack one of 80 items each: nearly all of the 2^80 subsets are
  // frequent, and no extension is perfect.
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < 160; ++tid)
    for (int64_t item = 0; item < 80; ++item)
      if (tid % 80 != item) rows.push_back({tid, item});
  ItemsetQuery query;
  query.min_count = 2;
  MemoryMeter meter;
  const PackedRows many(rows);
  ItemsetRun run(many.chunks(), {}, query, {.memory = &meter, .cancel = {}});
  const ItemsetForecast hasty = run.forecast(40);
  EXPECT_GT(hasty.ways, 0u);
  EXPECT_GT(hasty.itemsets, 1e12);
}

}  // namespace
}  // namespace batmap::test
