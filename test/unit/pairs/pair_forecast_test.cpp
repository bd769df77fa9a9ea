// Expected pairs against the exact sum of hypergeometric tails, and against counting.
#include "pairs/pair_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

double log_choose(uint64_t n, uint64_t k) {
  return std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(k) + 1) -
         std::lgamma(static_cast<double>(n - k) + 1);
}

/// The probability that two random sets of `a` and `b` transactions share at least `min_count`, summed term by term.
double hypergeometric_at_least(uint64_t transactions, uint64_t a, uint64_t b, uint64_t min_count) {
  double sum = 0;
  for (uint64_t k = min_count; k <= std::min(a, b); ++k)
    if (b - k <= transactions - a)
      sum += std::exp(log_choose(a, k) + log_choose(transactions - a, b - k) - log_choose(transactions, b));
  return sum;
}

TEST(PairForecast, ExpectedPairsOfIndependentItems) {
  const uint64_t transactions = 10000;
  std::vector<uint64_t> supports;
  for (uint64_t item = 0; item < 60; ++item) supports.push_back(20 + item * item / 2);
  for (const uint64_t threshold : {1, 3, 10, 40, 150}) {
    double exact = 0;
    for (size_t i = 0; i < supports.size(); ++i)
      for (size_t j = i + 1; j < supports.size(); ++j)
        exact += hypergeometric_at_least(transactions, supports[i], supports[j], threshold);
    EXPECT_NEAR(expected_pairs(supports, transactions, threshold), exact, exact * 0.05 + 1) << threshold;
  }
}

TEST(PairForecast, Edges) {
  EXPECT_EQ(expected_pairs({}, 10, 1), 0);
  const uint64_t one[] = {5};
  EXPECT_EQ(expected_pairs(one, 10, 1), 0);
  const uint64_t always[] = {1000000, 1000000};
  EXPECT_NEAR(expected_pairs(always, 1000000, 1000000), 1, 1e-9);
  EXPECT_NEAR(expected_pairs(always, 1000000, 900000), 1, 1e-9);
  EXPECT_NEAR(expected_pairs(always, 1000000, 1100000), 0, 1e-9);
}

TEST(PairForecast, SizesAreThoseOfARun) {
  for (const Shape& shape : shapes(31)) {
    MemoryMeter meter;
    const ExecutionOptions options{2, &meter, {}};
    RowLog log(meter);
    for (const TidItem& row : shape.rows) log.append(row.tid, row.item);
    log.seal();
    PairQuery query;
    query.min_count = 2;
    const PairForecast forecast = forecast_pairs(log.chunks(), query, options);
    PairRun run(log.chunks(), {}, query, options);
    PairBatch batch;
    while (run.next(batch)) {
    }
    EXPECT_EQ(forecast.rows_read, shape.rows.size()) << shape.name;
    EXPECT_EQ(forecast.transactions, run.record().transactions) << shape.name;
    EXPECT_EQ(forecast.items, run.record().items) << shape.name;
    if (run.record().results == 0) continue;
    EXPECT_EQ(forecast.pair_instances, run.record().pair_instances) << shape.name;
    EXPECT_EQ(pair_method_name(forecast.choice.method), run.record().method) << shape.name;
    EXPECT_LE(forecast.pairs, static_cast<double>(forecast.pair_instances)) << shape.name;
  }
}

}  // namespace
}  // namespace batmap::test
