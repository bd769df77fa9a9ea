// Whether a device searches for itemsets. The decisions are pure functions, so the tests are a table of situations.
#include "accel/itemset_policy.h"

#include <gtest/gtest.h>

namespace batmap {
namespace {

DeviceTraits device(bool ready) {
  DeviceTraits traits{};
  traits.memory_bytes = uint64_t{80} << 30;
  traits.multiprocessors = 132;
  traits.ready = ready;
  traits.rates.context_ms = 200;
  return traits;
}

TEST(ItemsetPolicy, LargeSearchesPay) {
  const RowSearchSizes large{.joins = 1e6, .itemsets = 1e5, .steps = 12, .items = 200, .row_bytes = 125'000};
  EXPECT_TRUE(choose_row_search(DeviceMode::kAuto, large, device(true), 5000).is_chosen);
  EXPECT_TRUE(choose_row_search(DeviceMode::kAuto, large, device(false), 5000).is_chosen);
  EXPECT_FALSE(choose_row_search(DeviceMode::kAuto, large, device(true), 30).is_chosen);
  EXPECT_FALSE(choose_row_search(DeviceMode::kCpu, large, device(true), 5000).is_chosen);
  EXPECT_TRUE(choose_row_search(DeviceMode::kRequire, large, device(true), 0).is_chosen);
}

TEST(ItemsetPolicy, TheContextCounts) {
  const RowSearchSizes middle{.joins = 2e4, .itemsets = 1e3, .steps = 12, .items = 100, .row_bytes = 125'000};
  EXPECT_TRUE(choose_row_search(DeviceMode::kAuto, middle, device(true), 150).is_chosen);
  EXPECT_FALSE(choose_row_search(DeviceMode::kAuto, middle, device(false), 150).is_chosen);
}

TEST(ItemsetPolicy, WhatBothSidesDoIsNoReason) {
  RowSearchSizes sizes{.joins = 1e6, .itemsets = 1e5, .steps = 12, .items = 100, .row_bytes = 1000};
  const double alone = estimate_row_search(sizes, device(true)).milliseconds;
  EXPECT_TRUE(choose_row_search(DeviceMode::kAuto, sizes, device(true), alone * 1.3).is_chosen);
  sizes.host_ms = 1000;
  EXPECT_TRUE(choose_row_search(DeviceMode::kAuto, sizes, device(true), 1000 + alone * 1.3).is_chosen);
  EXPECT_FALSE(choose_row_search(DeviceMode::kAuto, sizes, device(true), 1000 + alone * 0.9).is_chosen);
}

TEST(ItemsetPolicy, StepsOfDfsCost) {
  RowSearchSizes sizes{.joins = 1e6, .itemsets = 1e5, .steps = 12, .items = 100, .row_bytes = 1000};
  const double few = estimate_row_search(sizes, device(true)).milliseconds;
  sizes.steps = 1e5;
  EXPECT_GT(estimate_row_search(sizes, device(true)).milliseconds, 50 * few);
}

TEST(ItemsetPolicy, WhatDoesNotFitStaysHere) {
  RowSearchSizes sizes{.joins = 1e9, .itemsets = 1e6, .steps = 10, .items = 100'000, .row_bytes = 1'000'000};
  for (const DeviceMode mode : {DeviceMode::kAuto, DeviceMode::kCuda, DeviceMode::kRequire})
    EXPECT_FALSE(choose_row_search(mode, sizes, device(true), 1e9).is_chosen);
  sizes.items = 10;
  EXPECT_TRUE(choose_row_search(DeviceMode::kCuda, sizes, device(true), 1e9).is_chosen);
  sizes.memory_limit = 1 << 20;
  EXPECT_FALSE(choose_row_search(DeviceMode::kCuda, sizes, device(true), 1e9).is_chosen);
}

// ---- the job

constexpr ItemsetAlgorithm kAlgorithms[] = {ItemsetAlgorithm::kAuto, ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kTbi,
                                            ItemsetAlgorithm::kDfs};

/// A dense job of 100 items that are in half of the transactions each.
ItemsetJob job(ItemsetAlgorithm algorithm, uint64_t transactions = 100'000) {
  return {.algorithm = algorithm,
          .transactions = transactions,
          .distinct_transactions = transactions,
          .occurrences = transactions * 50,
          .items = 100,
          .leading = 100,
          .memory_limit = 0,
          .row_words_per_ns = 2,
          .threads = 1};
}

/// What a search of the job may find.
SearchOutline outline(double longer) {
  SearchOutline known;
  known.pairs = 4950;
  known.joins = 4950 + longer;
  known.branch_joins = known.joins / 2;
  known.tails = 1e8;
  known.itemsets = known.joins / 2;
  known.extended = known.itemsets / 2;
  known.longest = longer > 0 ? 5 : 2;
  return known;
}

TEST(ItemsetPolicy, SmallJobsAskNoDevice) {
  for (const ItemsetAlgorithm algorithm : kAlgorithms) {
    EXPECT_FALSE(may_pay_on_a_device(job(algorithm, 999), true));
    EXPECT_TRUE(may_pay_on_a_device(job(algorithm, 1000), true)) << "50,000 occurrences";
    EXPECT_FALSE(may_pay_on_a_device(job(algorithm, 19'999), false)) << "the driver would have to be loaded";
    EXPECT_TRUE(may_pay_on_a_device(job(algorithm, 20'000), false));
  }
}

TEST(ItemsetPolicy, AutoNeedsDenseRowsThatStayApart) {
  for (const ItemsetAlgorithm algorithm : kAlgorithms) {
    const bool is_auto = algorithm == ItemsetAlgorithm::kAuto;
    ItemsetJob merged = job(algorithm);
    merged.distinct_transactions = 80'000;
    EXPECT_EQ(may_pay_on_a_device(merged, true), !is_auto);
    merged.distinct_transactions = 80'001;
    EXPECT_TRUE(may_pay_on_a_device(merged, true));
    ItemsetJob sparse = job(algorithm);
    sparse.items = 1250;
    EXPECT_EQ(may_pay_on_a_device(sparse, true), !is_auto);
    sparse.items = 1249;
    EXPECT_TRUE(may_pay_on_a_device(sparse, true));
  }
}

TEST(ItemsetPolicy, RowsHaveAPlaneForEachBitOfTheWeight) {
  ItemsetJob all = job(ItemsetAlgorithm::kPbi, 1 << 20);
  EXPECT_EQ(row_search_sizes(all, {}).row_bytes, (1u << 20) / 8);
  EXPECT_EQ(row_search_sizes(all, {}).occurrences, all.occurrences);
  all.distinct_transactions = 1 << 17;  // of an average weight of 8: four bits
  EXPECT_EQ(row_search_sizes(all, {}).row_bytes, 4 * (1u << 17) / 8);
  EXPECT_EQ(row_search_sizes(all, {}).occurrences, all.occurrences / 8);
}

TEST(ItemsetPolicy, WhatEachAlgorithmCosts) {
  const SearchOutline known = outline(1e5);
  for (const ItemsetAlgorithm algorithm : kAlgorithms) {
    const RowSearchSizes sizes = row_search_sizes(job(algorithm), known);
    EXPECT_EQ(sizes.joins, known.joins);
    EXPECT_EQ(sizes.itemsets, known.itemsets);
    EXPECT_EQ(sizes.steps, algorithm == ItemsetAlgorithm::kDfs ? known.extended : 20);
    // tbi makes its candidates on the host, wherever they are counted.
    EXPECT_EQ(sizes.host_ms > 0, algorithm == ItemsetAlgorithm::kTbi);
    const double here = estimate_search_here(job(algorithm), known);
    EXPECT_GT(here, sizes.host_ms);
    EXPECT_GT(estimate_search_here(job(algorithm), outline(2e5)), here);
    EXPECT_GT(estimate_search_here(job(algorithm, 200'000), known), here);
  }
  ItemsetJob threads = job(ItemsetAlgorithm::kAuto);
  const double one = estimate_search_here(threads, known);
  threads.threads = 4;
  EXPECT_LT(estimate_search_here(threads, known), one);
  EXPECT_GT(estimate_search_here(threads, known), one / 4);
  threads.leading = 1;
  EXPECT_EQ(estimate_search_here(threads, known), one) << "threads share the items that lead";
}

TEST(ItemsetPolicy, ASampleEndsOnceItIsClearOrDear) {
  const SearchOutline known = outline(1e4);
  DeviceTraits late = device(false);
  late.rates.context_ms = 1e9;
  for (const ItemsetAlgorithm algorithm : kAlgorithms) {
    ItemsetJob slow = job(algorithm);
    slow.row_words_per_ns = 1e-3;
    // Longer itemsets favour the CPU for dfs, so a device that is ahead may fall back. For the others it is the reverse.
    const bool is_dfs = algorithm == ItemsetAlgorithm::kDfs;
    EXPECT_EQ(should_sample_on(slow, known, 0, device(true)), is_dfs);
    EXPECT_EQ(should_sample_on(job(algorithm), known, 0, late), !is_dfs);
    EXPECT_FALSE(should_sample_on(slow, known, 1e12, device(true)));
    EXPECT_FALSE(should_sample_on(job(algorithm), known, 1e12, late));
  }
}

}  // namespace
}  // namespace batmap
