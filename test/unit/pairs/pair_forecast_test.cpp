// Expected pairs against the exact sum of hypergeometric tails, and against counting.
#include "pairs/pair_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
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
    const RowLog log = log_of(shape.rows, options);
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

/// The forecast with so many bytes of memory, and the number of answers.
std::pair<PairForecast, double> forecast_and_count(const std::vector<TidItem>& rows, int64_t min_count,
                                                   size_t bytes = MemoryMeter::kUnlimited) {
  MemoryMeter storage;
  const RowLog log = log_of(rows, {.threads = 1, .memory = &storage, .cancel = {}});
  PairQuery query;
  query.min_count = min_count;
  PairRun run(log.chunks(), {}, query, {2, &storage, {}});
  PairBatch batch;
  while (run.next(batch)) {
  }
  MemoryMeter meter(bytes);
  return {forecast_pairs(log.chunks(), query, {2, &meter, {}}), static_cast<double>(run.record().results)};
}

TEST(PairForecast, FewPairsAreCounted) {
  Random random(kSeed);
  const std::vector<TidItem> rows = random_grid(random, 300, 60, 20);
  for (const int64_t min_count : {1, 5, 12, 30}) {
    const auto [forecast, pairs] = forecast_and_count(rows, min_count);
    EXPECT_EQ(forecast.pairs, pairs) << min_count;
    EXPECT_EQ(forecast.standard_error, 0) << min_count;
  }
}

/// Items 2 k and 2 k + 1 go together in up to 12 transactions, more often than if they were independent.
const std::vector<TidItem>& couples() {
  static const std::vector<TidItem> made = [] {
    Random random(kSeed);
    std::vector<TidItem> rows = random_rows(random, 1200000, 15000, 8000);
    for (int64_t couple = 0; couple < 4000; ++couple)
      for (int64_t k = random.signed_below(12); k >= 0; --k) {
        const int64_t tid = random.signed_below(15000);
        rows.insert(rows.end(), {{tid, 2 * couple}, {tid, 2 * couple + 1}});
      }
    return rows;
  }();
  return made;
}

TEST(PairForecast, ManyPairsAreEstimated) {
  const std::vector<TidItem>& rows = couples();
  for (const int64_t min_count : {1, 3}) {
    const auto [forecast, pairs] = forecast_and_count(rows, min_count);
    EXPECT_GT(forecast.standard_error, 0) << min_count;
    EXPECT_LT(forecast.standard_error, 0.15 * pairs) << min_count;
    EXPECT_NEAR(forecast.pairs, pairs, 3 * forecast.standard_error) << min_count;
  }
  // Hardly one of the sample is an answer: the sample bounds the number.
  const auto [forecast, pairs] = forecast_and_count(rows, 11);
  EXPECT_GT(pairs, 500);
  EXPECT_NEAR(forecast.pairs, pairs, 4 * forecast.standard_error);
}

TEST(PairForecast, WithoutMemoryForASampleItemsAreTakenToBeIndependent) {
  const std::vector<TidItem>& rows = couples();
  const double peak = [&] {
    MemoryMeter storage;
    const RowLog log = log_of(rows, {.threads = 1, .memory = &storage, .cancel = {}});
    MemoryMeter meter;
    EncodedRelation relation(log.chunks(), {}, {1, &meter, {}});
    return static_cast<double>(meter.peak());
  }();
  const auto [forecast, pairs] = forecast_and_count(rows, 1, static_cast<size_t>(peak) + 300000);
  EXPECT_TRUE(std::isinf(forecast.standard_error));
  EXPECT_GT(forecast.pairs, 0);
  EXPECT_GT(pairs, 0);
}

/// The forecast of rows that go to files.
PairForecast forecast_in_files(const std::vector<TidItem>& rows, const PairQuery& query, const ExecutionOptions& options,
                               uint64_t room = UINT64_MAX) {
  FakeFiles files(room);
  ExecutionOptions with_files = options;
  with_files.files = &files;
  with_files.work_bytes = 256 << 10;
  const RowLog log = log_of(rows, with_files);
  EXPECT_NE(log.partitions(), nullptr);
  return forecast_pairs(*log.partitions(), query, with_files);
}

TEST(PairForecast, RowsInFilesHaveTheSizesOfRowsInMemory) {
  Random random(kSeed);
  size_t most_parts = 0;
  int estimated = 0;
  for (int round = 0; round < 24; ++round) {
    std::vector<TidItem> rows =
        random_rows(random, 60000, 300 + random.below(4000), 40 + random.below(round % 2 == 0 ? 300 : 3000));
    const bool has_rare_items = round % 3 == 0;  // each is in few parts, where other items have other ranks than in all
    if (has_rare_items)
      for (size_t k = 0; k < rows.size(); k += 2) rows[k].item = random.signed_below(40000);
    if (round % 4 == 0)
      for (TidItem& row : rows) row.item = row.item * 1000000007 - 5;
    PairQuery query;
    query.min_count = has_rare_items ? 1 : 1 + random.signed_below(4);
    if (round % 5 == 0) query.include = {rows[0].item, rows[1].item, 77};
    if (round % 7 == 0) query.exclude = {rows[2].item};
    MemoryMeter meter;
    const ExecutionOptions options{1 + round % 3, &meter, {}};
    const PairForecast forecast = forecast_in_files(rows, query, options);

    const RowLog log = log_of(rows, options);
    const PairForecast expected = forecast_pairs(log.chunks(), query, options);
    PairRun run(log.chunks(), {}, query, options);
    PairBatch batch;
    while (run.next(batch)) {
    }
    EXPECT_EQ(forecast.rows_read, expected.rows_read) << round;
    EXPECT_EQ(forecast.transactions, expected.transactions) << round;
    EXPECT_EQ(forecast.items, expected.items) << round;
    EXPECT_EQ(forecast.items_kept, expected.items_kept) << round;
    EXPECT_EQ(forecast.pair_instances, expected.pair_instances) << round;
    EXPECT_NEAR(forecast.pairs, static_cast<double>(run.record().results), 4 * forecast.standard_error) << round;
    most_parts = std::max(most_parts, forecast.parts);
    estimated += forecast.standard_error > 0;
  }
  EXPECT_GT(most_parts, 3u);
  EXPECT_GT(estimated, 12);
}

TEST(PairForecast, RowsInFilesNeedLittleMemory) {
  Random random(kSeed);
  const std::vector<TidItem> rows = random_rows(random, 2000000, 100000, 2000);
  MemoryMeter meter;
  PairQuery query;
  query.min_count = 1;
  const PairForecast forecast = forecast_in_files(rows, query, {2, &meter, {}});
  EXPECT_NEAR(forecast.pairs, 1999000, 3 * forecast.standard_error);
  EXPECT_GT(forecast.parts, 8u);
  EXPECT_LT(meter.peak(), size_t{4} << 20);
  for (const PairEstimate& estimate : forecast.choice.estimates) EXPECT_GT(estimate.milliseconds, 0);

  // The sample is large if there is a threshold; without memory for it items are taken to be independent.
  query.min_count = 2;
  MemoryMeter ample;
  EXPECT_FALSE(std::isinf(forecast_in_files(rows, query, {2, &ample, {}}).standard_error));
  MemoryMeter scarce(ample.peak() - 10000);
  const PairForecast independent = forecast_in_files(rows, query, {2, &scarce, {}});
  EXPECT_TRUE(std::isinf(independent.standard_error));
  EXPECT_GT(independent.pairs, 1000000);
}

TEST(PairForecast, RowsInFilesCanFailAnywhere) {
  Random random(kSeed);
  const std::vector<TidItem> rows = random_rows(random, 60000, 5000, 400);
  PairQuery query;
  query.min_count = 1;
  run_out_of_memory_everywhere(2, 65536, 5,
                               [&](const ExecutionOptions& options) { forecast_in_files(rows, query, options); });
  cancel_everywhere(2, 20, [&](const ExecutionOptions& options) { forecast_in_files(rows, query, options); });
  MemoryMeter meter;
  EXPECT_THROW(forecast_in_files(rows, query, {.threads = 2, .memory = &meter, .cancel = {}}, 10000), FileFailed);
  EXPECT_EQ(meter.current(), 0u);
}

}  // namespace
}  // namespace batmap::test
