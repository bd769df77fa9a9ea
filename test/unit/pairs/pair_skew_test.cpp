// Relations that are large in one dimension. The cost of a run must follow the rows and the answer, and
// the square of nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <vector>

#include "pairs/pair_run.h"
#include "test/unit/shared/grid.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kScale = 8;  // with sanitizers the full size takes too long
#else
constexpr int64_t kScale = 1;
#endif

struct Answer {
  std::vector<PairRow> rows;
  RunRecord record;
  size_t peak_bytes;
};

/// @param max_rows  number of rows after which the run is stopped
Answer run(const std::vector<TidItem>& rows, PairQuery query, size_t max_rows = SIZE_MAX) {
  query.kernels = {&best_and_popcount(), &best_set_kernel()};
  MemoryMeter log_meter;
  const RowLog log = log_of(rows, {.threads = 1, .memory = &log_meter, .cancel = {}});
  MemoryMeter meter;
  Answer answer;
  {
    PairRun pairs(log, {}, query, {.threads = 2, .memory = &meter, .cancel = {}});
    PairBatch batch;
    while (answer.rows.size() < max_rows && pairs.next(batch))
      answer.rows.insert(answer.rows.end(), batch.begin(), batch.end());
    answer.record = pairs.record();
  }
  EXPECT_EQ(meter.current(), 0u);
  answer.peak_bytes = meter.peak();
  return answer;
}

TEST(PairSkew, AHandfulOfFrequentItemsAmongMillions) {
  constexpr int64_t kItems = 5'000'000 / kScale;
  constexpr int64_t kTids = 20'000;
  std::vector<TidItem> rows;
  for (int64_t item = 0; item < kItems; ++item) rows.push_back({item % kTids, item * 1'000'003});
  for (int64_t frequent = 1; frequent <= 6; ++frequent)
    for (int64_t tid = 0; tid < kTids; tid += frequent) rows.push_back({tid, -frequent});
  PairQuery query;
  query.min_count = 2;
  const Answer answer = run(rows, query);
  EXPECT_EQ(answer.record.items, static_cast<uint64_t>(kItems) + 6);
  EXPECT_EQ(answer.record.items_kept, 6u);
  ASSERT_EQ(answer.rows.size(), 15u);
  for (const PairRow& row : answer.rows) {
    const int64_t both = row.item_a * row.item_b / std::gcd(row.item_a, row.item_b);
    EXPECT_EQ(row.support, static_cast<uint64_t>((kTids - 1) / both + 1)) << row.item_a << " " << row.item_b;
  }
  EXPECT_LT(answer.peak_bytes, rows.size() * 100) << "bytes of codes for keys that are scattered";
}

// If an item has few partners, scanning its counters is most of the work; this work must be shared out, too.
TEST(PairSkew, ManyItemsWithOnePartnerEachWhereARowRepeats) {
  constexpr int64_t kItems = 40'000 / kScale;
  std::vector<TidItem> rows;
  for (int64_t item = 0; item < kItems; ++item) rows.push_back({item / 2, item});
  rows.push_back({0, 0});
  PairQuery query;
  query.min_count = 1;
  query.bag = true;
  const Answer answer = run(rows, query);
  ASSERT_EQ(answer.rows.size(), static_cast<size_t>(kItems / 2));
  EXPECT_EQ(std::ranges::count(answer.rows, 2u, &PairRow::support), 1);
  EXPECT_GT(answer.record.tasks, 8u);
}

TEST(PairSkew, OneTransactionWithAllItems) {
  constexpr int64_t kItems = 300'000 / kScale;
  std::vector<TidItem> rows;
  for (int64_t item = 0; item < kItems; ++item) rows.push_back({1, item});
  for (int64_t item = 7; item < 12; ++item) rows.push_back({2, item});
  PairQuery query;
  query.min_count = 2;
  const Answer frequent = run(rows, query);
  EXPECT_EQ(frequent.rows.size(), 10u);
  EXPECT_LT(frequent.peak_bytes, rows.size() * 64);

  query.min_count = 1;
  const Answer first = run(rows, query, 100'000);
  EXPECT_GE(first.rows.size(), 100'000u);
  EXPECT_EQ(first.record.pair_instances, static_cast<uint64_t>(kItems) * (kItems - 1) / 2 + 10);
  EXPECT_LT(first.peak_bytes, size_t{128} << 20) << "answers are handed over while others are counted";
}

TEST(PairSkew, OneItemInAllTransactions) {
  constexpr int64_t kTids = 400'000 / kScale;
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < kTids; ++tid) rows.insert(rows.end(), {{tid, 0}, {tid, 1 + tid % 1000}});
  for (const PairMethodName& method : kPairMethodNames) {
    PairQuery query;
    query.min_count = 1;
    query.method = method.method;
    const Answer answer = run(rows, query);
    ASSERT_EQ(answer.rows.size(), 1000u) << method.name;
    for (const PairRow& row : answer.rows) {
      EXPECT_EQ(row.item_a, 0) << method.name;
      EXPECT_EQ(row.support, static_cast<uint64_t>(kTids / 1000)) << method.name;
      EXPECT_EQ(row.support_a, static_cast<uint64_t>(kTids)) << method.name;
    }
  }
}

// 2 x 10^9 pairs; a matrix of counters would take 8 GB.
TEST(PairSkew, ManyItemsAllDense) {
  // The time of the oracle grows with the square.
  const size_t kItems = 64'000 / kScale / (full_grid() ? 1 : 3);
  constexpr uint32_t kThreshold = 32;
  Random random(17);
  std::vector<uint64_t> tids_of(kItems);
  std::vector<TidItem> rows;
  for (size_t item = 0; item < kItems; ++item) {
    tids_of[item] = random.bits() >> 4;
    for (int64_t tid = 0; tid < 60; ++tid)
      if (tids_of[item] >> tid & 1) rows.push_back({tid, static_cast<int64_t>(item)});
  }
  std::vector<std::tuple<int64_t, int64_t, uint64_t>> expected;
  for (size_t a = 0; a < kItems; ++a)
    for (size_t b = a + 1; b < kItems; ++b)
      if (const int count = std::popcount(tids_of[a] & tids_of[b]); count >= static_cast<int>(kThreshold))
        expected.emplace_back(a, b, count);
  ASSERT_GT(expected.size(), 0u);
  PairQuery query;
  query.min_count = kThreshold;
  const Answer answer = run(rows, query);
  std::vector<std::tuple<int64_t, int64_t, uint64_t>> found;
  for (const PairRow& row : answer.rows) found.emplace_back(row.item_a, row.item_b, row.support);
  std::ranges::sort(found);
  EXPECT_EQ(found, expected);
  EXPECT_LT(answer.peak_bytes, size_t{256} << 20);
}

}  // namespace
}  // namespace batmap::test
