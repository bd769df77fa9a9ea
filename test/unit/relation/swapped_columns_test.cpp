// Which sizes make columns look swapped.
#include "relation/swapped_columns.h"

#include <gtest/gtest.h>

namespace batmap {
namespace {

TEST(SwappedColumns, ThoseOfBasketsLookSwapped) {
  // Rows, transactions, items and most rows of an item, with products as transactions: T10I4D100K, and one like Instacart.
  EXPECT_TRUE(columns_look_swapped({1'010'228, 870, 100'000, 29}));
  EXPECT_TRUE(columns_look_swapped({32'434'489, 49'677, 3'214'874, 145}));
  EXPECT_TRUE(columns_look_swapped({154'292, 39, 153'701, 3}));  // neurons as transactions, times as items
}

TEST(SwappedColumns, OthersDoNot) {
  EXPECT_FALSE(columns_look_swapped({1'010'228, 100'000, 870, 7'828}));  // the first of them, the right way round
  EXPECT_FALSE(columns_look_swapped({908'576, 16'470, 88'162, 76}));     // retail, swapped: but not by far
  EXPECT_FALSE(columns_look_swapped({467'714, 3'430, 6'906, 2'500}));    // documents with their words
  EXPECT_FALSE(columns_look_swapped({400'000, 1'000, 60'000, 700}));     // long documents without the most common words
  EXPECT_FALSE(columns_look_swapped({2'000'000, 100, 20'000, 100}));     // samples and genes
  EXPECT_FALSE(columns_look_swapped({1'000'000, 1, 1'000'000, 1}));      // one basket
  EXPECT_FALSE(columns_look_swapped({0, 0, 0, 0}));
}

TEST(SwappedColumns, EachBound) {
  const RelationSizes least{10'000, 100, 2'000, 9};
  EXPECT_TRUE(columns_look_swapped(least));
  EXPECT_FALSE(columns_look_swapped({9'999, 99, 2'000, 8}));
  EXPECT_FALSE(columns_look_swapped({10'000, 101, 2'020, 9}));
  EXPECT_FALSE(columns_look_swapped({10'000, 100, 1'999, 9}));
  EXPECT_FALSE(columns_look_swapped({10'000, 100, 2'000, 10}));
  EXPECT_FALSE(columns_look_swapped({10'000, 100, 2'000, 0}));
  EXPECT_TRUE(columns_look_swapped({UINT64_MAX, UINT64_MAX / 100, UINT64_MAX, 1}));
}

TEST(SwappedColumns, TimesOfEvents) {
  // Rows, times, events and most rows of an event: neurons as times, the times of their spikes as events.
  EXPECT_TRUE(times_look_swapped({154'292, 39, 153'701, 3}));
  EXPECT_TRUE(times_look_swapped({10'000, 100, 5'001, 9}));
  EXPECT_FALSE(times_look_swapped({10'000, 100, 5'000, 9}));
  EXPECT_FALSE(times_look_swapped({154'292, 153'701, 39, 11'000}));      // the first of them, the right way round
  EXPECT_FALSE(times_look_swapped({1'000'000, 365, 50'000, 36}));        // days, and products that all sell alike
  EXPECT_FALSE(times_look_swapped({1'000'000, 30, 600'000, 20'000}));    // days, and pages: some are visited every day
  EXPECT_FALSE(times_look_swapped({1'000'000, 900'000, 1'000'000, 1}));  // events with ids of their own
  EXPECT_FALSE(times_look_swapped({1'000'000, 1, 1'000'000, 1}));        // all at one time
  EXPECT_FALSE(times_look_swapped({0, 0, 0, 0}));
}

}  // namespace
}  // namespace batmap
