// Expected numbers of answers against counting in a random relation whose items are independent.
#include "measures/expected_answers.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cmath>
#include <span>
#include <vector>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr size_t kTransactions = 4000;
using Row = std::bitset<kTransactions>;

/// An item in about so many of 1,000 transactions.
Row random_row(Random& random, uint64_t per_mille) {
  Row row;
  for (size_t tid = 0; tid < kTransactions; ++tid) row[tid] = random.below(1000) < per_mille;
  return row;
}

std::vector<Row> random_items(uint64_t seed, uint64_t count, uint64_t most) {
  Random random(seed);
  std::vector<Row> items;
  for (uint64_t item = 0; item < count; ++item) items.push_back(random_row(random, most / (item / 2 + 1) + 2));
  return items;
}

std::vector<SupportClass> classes_of(const std::vector<Row>& items) {
  std::vector<SupportClass> classes;
  for (const Row& row : items) classes.push_back({1, static_cast<double>(row.count())});
  return classes;
}

/// Itemsets with `least` transactions by length, counted by extending each in turn.
void count_itemsets(const std::vector<Row>& items, size_t from, const Row& common, uint64_t least, size_t length,
                    std::vector<double>& found) {
  for (size_t item = from; item < items.size(); ++item) {
    const Row row = common & items[item];
    if (row.count() < least) continue;
    found[length] += 1;
    if (length + 1 < found.size()) count_itemsets(items, item + 1, row, least, length + 1, found);
  }
}

TEST(ExpectedAnswers, OfIndependentItems) {
  for (const uint64_t most : {100, 400, 900}) {
    const std::vector<Row> items = random_items(kSeed, 40, most);
    const std::vector<SupportClass> classes = classes_of(items);
    for (const uint64_t least : {1, 2, 5, 20, 100}) {
      std::vector<double> found(6);
      count_itemsets(items, 0, Row().set(), least, 1, found);
      const double pairs = expected_pairs(classes, kTransactions, static_cast<double>(least));
      EXPECT_NEAR(pairs, found[2], found[2] * 0.1 + 3) << most << ", " << least;
      const LengthCounts itemsets = expected_itemsets(classes, kTransactions, static_cast<double>(least), 5);
      for (int length = 1; length <= 5; ++length) {
        const double expected = itemsets.of[length];
        const double counted = found[static_cast<size_t>(length)];
        EXPECT_GE(expected, counted * 0.7 - 3) << most << ", " << least << ", " << length;
        EXPECT_LE(expected, counted * (least == 1 ? 2.5 : 1.3) + 3) << most << ", " << least << ", " << length;
      }
      const double all = found[1] + found[2] + found[3] + found[4] + found[5];
      const double expected = itemsets.between(1, 100);
      EXPECT_GE(expected, all * 0.7 - 3) << most << ", " << least;
      EXPECT_LE(expected, all * (least == 1 ? 2.5 : 1.3) + 3) << most << ", " << least;
    }
  }
}

TEST(ExpectedAnswers, ClassesCountAsTheirItems) {
  const std::vector<SupportClass> single(30, SupportClass{1, 200});
  const std::vector<SupportClass> together{{30, 200}};
  for (const double least : {1.0, 8.0, 12.0})
    for (int length = 1; length <= 4; ++length)
      EXPECT_NEAR(expected_itemsets(single, kTransactions, least, length).of[length],
                  expected_itemsets(together, kTransactions, least, length).of[length], 1e-6 * std::pow(30, length));
}

TEST(ExpectedAnswers, OfTwoRelations) {
  const std::vector<Row> left = random_items(kSeed + 1, 30, 300);
  const std::vector<Row> right = random_items(kSeed + 2, 50, 600);
  for (const uint64_t least : {1, 3, 10, 50}) {
    double counted = 0;
    for (const Row& a : left)
      for (const Row& b : right) counted += (a & b).count() >= least;
    EXPECT_NEAR(expected_joined_pairs(classes_of(left), classes_of(right), kTransactions, static_cast<double>(least)),
                counted, counted * 0.1 + 3)
        << least;
  }
}

TEST(ExpectedAnswers, Edges) {
  const auto all = [](std::span<const SupportClass> items, double transactions, double least, int max_length = 1000) {
    return expected_itemsets(items, transactions, least, max_length).between(1, max_length);
  };
  EXPECT_EQ(expected_pairs({}, 10, 1), 0);
  EXPECT_EQ(all({}, 10, 1), 0);
  EXPECT_EQ(all({}, 0, 1), 0);
  const SupportClass always[] = {{30, 100}};  // all itemsets of as many items as are looked at
  EXPECT_GT(all(always, 100, 100), 1e9);
  EXPECT_LT(all(always, 100, 100), std::pow(2, 30));
  EXPECT_EQ(all(always, 100, 101), 0);
  EXPECT_EQ(all(always, 100, 50, 0), 0);
  EXPECT_NEAR(all(always, 100, 50, 1), 30, 1e-9);
  EXPECT_NEAR(all(always, 100, 50, 2), 30 + 435, 1e-6);
  EXPECT_NEAR(expected_itemsets(always, 100, 50, 3).between(3, 3), 4060, 1e-3);
  const SupportClass many[] = {{1e9, 1e6}, {1e12, 1}};
  EXPECT_TRUE(std::isfinite(all(many, 1e9, 1)));
  EXPECT_TRUE(std::isfinite(all(many, 1e9, 10)));
}

}  // namespace
}  // namespace batmap::test
