// The measures on counts small enough to work out by hand, and where denominators vanish.
#include "support/pair_measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace batmap::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double measure(const char* name, const PairCounts& counts) { return pair_measure(parse_pair_measure(name, false), counts); }

TEST(PairMeasure, ByHand) {
  const PairCounts counts{.both = 10, .a = 20, .b = 40, .total = 100};
  EXPECT_DOUBLE_EQ(measure("support", counts), 0.1);
  EXPECT_DOUBLE_EQ(measure("jaccard", counts), 0.2);
  EXPECT_DOUBLE_EQ(measure("dice", counts), 1.0 / 3);
  EXPECT_DOUBLE_EQ(measure("cosine", counts), 10 / std::sqrt(800.0));
  EXPECT_DOUBLE_EQ(measure("lift", counts), 1.25);
  EXPECT_DOUBLE_EQ(measure("leverage", counts), 0.02);
  EXPECT_DOUBLE_EQ(measure("phi", counts), 200 / std::sqrt(20.0 * 40 * 80 * 60));
  EXPECT_DOUBLE_EQ(measure("kulczynski", counts), 0.375);
  EXPECT_DOUBLE_EQ(measure("all_confidence", counts), 0.25);
  EXPECT_DOUBLE_EQ(measure("max_confidence", counts), 0.5);
  EXPECT_DOUBLE_EQ(measure("odds_ratio", counts), 10.0 * 50 / (10 * 30));
  EXPECT_DOUBLE_EQ(measure("confidence", counts), 0.5);
  EXPECT_DOUBLE_EQ(measure("conviction", counts), 0.6 / 0.5);
}

TEST(PairMeasure, Edges) {
  const PairCounts always{.both = 20, .a = 20, .b = 40, .total = 100};
  EXPECT_EQ(measure("conviction", always), kInfinity);
  EXPECT_EQ(measure("conviction", {.both = 10, .a = 10, .b = 10, .total = 10}), kInfinity);
  EXPECT_EQ(measure("odds_ratio", always), kInfinity);
  EXPECT_TRUE(std::isnan(measure("phi", {.both = 5, .a = 5, .b = 10, .total = 10})));
  EXPECT_TRUE(std::isnan(measure("jaccard", {.both = 0, .a = 0, .b = 0, .total = 10})));
}

TEST(PairMeasure, Names) {
  EXPECT_EQ(parse_pair_measure("lift", true), PairMeasure::kLift);
  for (const char* name : {"confidence", "conviction", "", "LIFT", "lift "})
    EXPECT_THROW(parse_pair_measure(name, true), Error) << name;
  try {
    parse_pair_measure("nothing", false);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
    EXPECT_NE(error.hint().find("conviction"), std::string::npos);
  }
}

}  // namespace
}  // namespace batmap::test
