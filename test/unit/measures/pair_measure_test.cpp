// The measures on counts that are small enough to check by hand, and where denominators are 0.
#include "measures/pair_measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace batmap::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double measure(const char* name, const ContingencyTable& counts) {
  return pair_measure(parse_pair_measure(name, MeasureUse::kValue), counts);
}

TEST(PairMeasure, ByHand) {
  const ContingencyTable counts{.both = 10, .a = 20, .b = 40, .total = 100};
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
  // f11 = 10, f10 = 10, f01 = 30, f00 = 50
  EXPECT_DOUBLE_EQ(measure("count", counts), 10);
  EXPECT_DOUBLE_EQ(measure("coverage", counts), 0.2);
  EXPECT_DOUBLE_EQ(measure("rhs_support", counts), 0.4);
  EXPECT_DOUBLE_EQ(measure("cross_support_ratio", counts), 0.5);
  EXPECT_NEAR(measure("added_value", counts), 0.1, 1e-15);
  EXPECT_NEAR(measure("chi_squared", counts), 100 * 0.0104166666666666667, 1e-12);
  EXPECT_DOUBLE_EQ(measure("confirmed_confidence", counts), 0);
  EXPECT_DOUBLE_EQ(measure("sebag", counts), 1);
  EXPECT_DOUBLE_EQ(measure("relative_risk", counts), 0.5 / 0.375);
  EXPECT_DOUBLE_EQ(measure("laplace", counts), 0.5);
  EXPECT_DOUBLE_EQ(measure("imbalance", counts), 0.4);
  EXPECT_DOUBLE_EQ(measure("kappa", counts), (100 * 60 - (800 + 4800)) / (10000.0 - 5600));
  EXPECT_DOUBLE_EQ(measure("yule_q", counts), 200.0 / 800);
  EXPECT_DOUBLE_EQ(measure("std_lift", counts), (1.25 - 0.125) / (2.5 - 0.125));
  EXPECT_DOUBLE_EQ(measure("max_lift", counts), 2.5);
  EXPECT_DOUBLE_EQ(measure("zhangs_metric", counts), (0.1 - 0.08) / std::max(0.1 * 0.8, 0.2 * 0.3));
  EXPECT_NEAR(measure("llr", counts),
              2 * (10 * std::log(1.25) + 10 * std::log(10 / 12.0) + 30 * std::log(30 / 32.0) + 50 * std::log(50 / 48.0)),
              1e-12);
  EXPECT_NEAR(measure("hyper_confidence", counts) + measure("fishers_exact_test", counts), 1, 1e-12);
}

TEST(PairMeasure, ManyValuesAreThoseOfOnePair) {
  struct Counts {
    uint64_t a;
    uint64_t both;
    uint64_t b;
  };
  const std::vector<Counts> counts{{20, 10, 40}, {1, 1, 1}, {5, 0, 7}, {100, 60, 60}, {50, 25, 50}};
  const ContingencyColumns columns{
      .both = {&counts[0].both, 3}, .a = {&counts[0].a, 3}, .b = {&counts[0].b, 3}, .total = 100};
  for (int k = 0; k <= static_cast<int>(PairMeasure::kZhangsMetric); ++k) {
    std::vector<double> values(counts.size());
    pair_measures(static_cast<PairMeasure>(k), columns, counts.size(), values.data());
    for (size_t at = 0; at < counts.size(); ++at) {
      const auto n = [](uint64_t count) { return static_cast<double>(count); };
      const double wanted =
          pair_measure(static_cast<PairMeasure>(k),
                       {.both = n(counts[at].both), .a = n(counts[at].a), .b = n(counts[at].b), .total = 100});
      EXPECT_TRUE(values[at] == wanted || (std::isnan(values[at]) && std::isnan(wanted))) << k << " " << at;
    }
  }
}

TEST(PairMeasure, Edges) {
  const ContingencyTable always{.both = 20, .a = 20, .b = 40, .total = 100};
  EXPECT_EQ(measure("conviction", always), kInfinity);
  EXPECT_EQ(measure("conviction", {.both = 10, .a = 10, .b = 10, .total = 10}), kInfinity);
  EXPECT_EQ(measure("odds_ratio", always), kInfinity);
  EXPECT_TRUE(std::isnan(measure("phi", {.both = 5, .a = 5, .b = 10, .total = 10})));
  EXPECT_TRUE(std::isnan(measure("jaccard", {.both = 0, .a = 0, .b = 0, .total = 10})));
}

TEST(PairMeasure, Names) {
  EXPECT_EQ(parse_pair_measure("lift", MeasureUse::kRankPairs), PairMeasure::kLift);
  EXPECT_EQ(parse_pair_measure("oddsRatio", MeasureUse::kRankPairs), PairMeasure::kOddsRatio);
  EXPECT_EQ(parse_pair_measure("maxconfidence", MeasureUse::kRankRules), PairMeasure::kMaxConfidence);
  EXPECT_EQ(parse_pair_measure("RLD", MeasureUse::kValue), PairMeasure::kRld);
  for (const char* name : {"confidence", "conviction", "imbalance", "", "lift "})
    EXPECT_THROW(parse_pair_measure(name, MeasureUse::kRankPairs), Error) << name;
  for (const char* name : {"fishersExactTest", "ralambondrainy"})
    EXPECT_THROW(parse_pair_measure(name, MeasureUse::kRankRules), Error) << name;
  try {
    parse_pair_measure("nothing", MeasureUse::kValue);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
    EXPECT_NE(error.hint().find("conviction"), std::string::npos);
  }
}

}  // namespace
}  // namespace batmap::test
