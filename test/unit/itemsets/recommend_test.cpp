// Recommendations for a basket against an oracle that counts every subset of the basket with every other item
// in all transactions, with the rows in memory and in files. Then against RuleRun, large baskets, ties, bad parameters,
// cancelling and memory.
#include "itemsets/rules/recommend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "itemsets/rules/rules.h"
#include "test/unit/shared/countdown.h"
#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr const char* kNames[] = {"confidence", "support",    "lift",   "leverage", "conviction",
                                  "phi",        "odds_ratio", "cosine", "lambda"};

struct Row {
  int64_t item;
  double score;
  std::vector<int64_t> lhs;
  uint64_t support;
  uint64_t lhs_support;
  uint64_t item_support;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(const RecommendRun& run) {
  std::vector<Row> rows;
  for (const Recommendation& row : run.rows())
    rows.push_back(
        {row.item, row.score, {run.lhs(row).begin(), run.lhs(row).end()}, row.support, row.lhs_support, row.item_support});
  return rows;
}

std::vector<Row> rows_of(const std::vector<TidItem>& relation, const RecommendQuery& query) {
  MemoryMeter meter;
  const PackedRows packed(relation);
  const RecommendRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
  EXPECT_EQ(meter.current(), 0u);
  return rows_of(run);
}

std::vector<Row> expected_rows(const std::vector<TidItem>& relation, const RecommendQuery& query) {
  std::map<int64_t, std::set<int64_t>> transactions;
  std::set<int64_t> items;
  for (const TidItem& pair : relation) {
    transactions[pair.tid].insert(pair.item);
    items.insert(pair.item);
  }
  const auto count = [&](const std::vector<int64_t>& wanted) {
    uint64_t found = 0;
    for (const auto& [tid, held] : transactions)
      found += std::all_of(wanted.begin(), wanted.end(), [&, &held = held](int64_t item) { return held.contains(item); });
    return found;
  };
  const auto in = [](const std::optional<std::vector<int64_t>>& list, int64_t item) {
    return std::count(list->begin(), list->end(), item) > 0;
  };
  const std::set<int64_t> basket(query.basket->begin(), query.basket->end());
  const std::vector<int64_t> indexes(basket.begin(), basket.end());
  const auto total = static_cast<uint64_t>(transactions.size());
  const auto min_count = static_cast<uint64_t>(query.min_count.value_or(1));
  std::vector<Row> best;
  for (const int64_t item : items) {
    if (basket.contains(item) || (query.include && !in(query.include, item)) || (query.exclude && in(query.exclude, item)))
      continue;
    const auto order = [](const Row& row) {
      return std::tuple(-row.score, -static_cast<int64_t>(row.support), row.lhs.size(), row.lhs);
    };
    std::optional<Row> first;
    for (size_t subset = 1; subset < size_t{1} << indexes.size(); ++subset) {
      Row row{item, 0, {}, 0, 0, count({item})};
      for (size_t k = 0; k < indexes.size(); ++k)
        if (subset >> k & 1) row.lhs.push_back(indexes[k]);
      if (query.max_lhs && row.lhs.size() > static_cast<size_t>(*query.max_lhs)) continue;
      row.lhs_support = count(row.lhs);
      std::vector<int64_t> both = row.lhs;
      both.push_back(item);
      row.support = count(both);
      if (row.support < min_count) continue;
      const auto n = [](uint64_t number) { return static_cast<double>(number); };
      row.score = pair_measure(query.measure, {n(row.support), n(row.lhs_support), n(row.item_support), n(total)});
      if (std::isnan(row.score)) continue;
      if (query.min_confidence && n(row.support) / n(row.lhs_support) < *query.min_confidence) continue;
      if (query.min_lift && n(row.support) * n(total) / (n(row.lhs_support) * n(row.item_support)) < *query.min_lift)
        continue;
      if (!first || order(row) < order(*first)) first = row;
    }
    if (first) best.push_back(*first);
  }
  std::stable_sort(best.begin(), best.end(), [](const Row& a, const Row& b) {
    return std::tuple(-a.score, -static_cast<int64_t>(a.support)) < std::tuple(-b.score, -static_cast<int64_t>(b.support));
  });
  if (best.size() > static_cast<size_t>(query.top_k)) best.resize(static_cast<size_t>(query.top_k));
  return best;
}

/// A random question. @param basket  it has fewer items @param items  that occur are 0 .. items - 1
RecommendQuery draw_query(Random& random, size_t basket, int64_t items, int64_t max_count) {
  RecommendQuery query;
  query.basket.emplace();
  for (size_t k = random.below(basket); k > 0; --k) query.basket->push_back(random.signed_below(items + 2));
  query.top_k = 1 + random.signed_below(items);
  if (random.chance(70)) query.min_count = 1 + random.signed_below(max_count);
  if (random.chance(30)) query.min_confidence = static_cast<double>(random.below(21)) / 20;
  if (random.chance(20)) query.min_lift = static_cast<double>(random.below(30)) / 16;
  if (random.chance(50)) query.max_lhs = 1 + random.signed_below(3);
  query.measure = parse_pair_measure(kNames[random.below(std::size(kNames))], MeasureUse::kRankRules);
  const auto list = [&] { return std::vector<int64_t>{random.signed_below(items), random.signed_below(items), 0}; };
  if (random.chance(20)) query.include = list();
  if (random.chance(20)) query.exclude = list();
  return query;
}

TEST(Recommend, AnswersLikeTheOracle) {
  Random random(kSeed);
  size_t rows = 0;
  for (int round = 0; round < 1500; ++round) {
    const int64_t items = 1 + random.signed_below(12);
    std::vector<TidItem> relation = random_grid(random, 1 + random.signed_below(25), items, 20 + random.below(70));
    for (size_t k = random.below(5); k > 0 && !relation.empty(); --k)
      relation.push_back(relation[random.below(relation.size())]);
    const RecommendQuery query = draw_query(random, 6, 12, 5);
    const std::vector<Row> found = rows_of(relation, query);
    rows += found.size();
    ASSERT_TRUE(found == expected_rows(relation, query)) << "round " << round << ", seed " << kSeed;
  }
  EXPECT_GT(rows, 1000u);
}

// The rows of each input wait in files. The work memory holds the counters of a few subsets, or of one at a time.
TEST(Recommend, RowsInFilesGiveTheSameAnswer) {
  Random random(kSeed + 5);
  size_t rows = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<TidItem> relation = random_grid(random, 600 + random.signed_below(600), 40, 10 + random.below(40));
    for (TidItem& row : relation) row.tid = row.tid * (round % 2 == 0 ? 1 : 1'000'003) - 70;
    const RecommendQuery query = draw_query(random, 9, 40, 150);
    std::vector<uint32_t> item_rank;
    if (round % 3 == 0)  // item `i` stands for item_rank[i]
      for (uint32_t item = 0; item < 40; ++item) item_rank.push_back((item * 7 + 3) % 40);
    MemoryMeter meter;
    FakeFiles files;
    const size_t work_bytes = round % 4 == 0 ? 1 << 10 : 24 << 10;
    {
      const ExecutionOptions options{1, &meter, {}, &files, work_bytes};
      const RowLog log = log_of(relation, options);
      ASSERT_NE(log.partitions(), nullptr);
      const RecommendRun run(log, item_rank, query, options);
      const PackedRows packed(relation);
      MemoryMeter own;
      const RecommendRun in_memory(packed.chunks(), item_rank, query, {.memory = &own, .cancel = {}});
      ASSERT_TRUE(rows_of(run) == rows_of(in_memory)) << "round " << round << ", seed " << kSeed;
      EXPECT_EQ(run.record().transactions, in_memory.record().transactions);
      EXPECT_EQ(run.record().items_kept, in_memory.record().items_kept);
      rows += run.rows().size();
    }
    ASSERT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(rows, 300u);
}

TEST(Recommend, RowsInFilesCanBeCancelledAndRunOutOfMemoryAndOfFiles) {
  Random random(kSeed + 6);
  const std::vector<TidItem> relation = random_grid(random, 800, 30, 40);
  RecommendQuery query;
  query.basket = {1, 2, 3, 4, 5, 6};
  query.top_k = 30;
  query.min_count = 40;
  const std::vector<Row> all = rows_of(relation, query);
  ASSERT_GT(all.size(), 5u);
  const auto run_with = [&](const ExecutionOptions& given, uint64_t room) {
    FakeFiles files(room);
    ExecutionOptions options = given;
    options.files = &files;
    options.work_bytes = 64 << 10;
    const RowLog log = log_of(relation, options);
    ASSERT_NE(log.partitions(), nullptr);
    const RecommendRun run(log, {}, query, options);
    ASSERT_TRUE(rows_of(run) == all);
  };
  run_out_of_memory_everywhere(1, 64 << 10, 10, [&](const ExecutionOptions& options) { run_with(options, UINT64_MAX); });
  cancel_everywhere(1, 20, [&](const ExecutionOptions& options) { run_with(options, UINT64_MAX); });
  MemoryMeter meter;
  EXPECT_THROW(run_with({.threads = 1, .memory = &meter, .cancel = {}}, 10'000), FileFailed);
  EXPECT_EQ(meter.current(), 0u);
}

// The memory of a run is that of a part and of the counters, not that of the rows.
TEST(Recommend, MillionsOfRowsInFilesNeedLittleMemory) {
  RecommendQuery query;
  query.basket = {0, 1, 2};
  query.max_lhs = 2;
  MemoryMeter meter;
  FakeFiles files;
  const ExecutionOptions options{1, &meter, {}, &files, 1 << 20};
  RowLog log(options);
  for (int64_t tid = 0; tid < 400'000; ++tid)
    for (int64_t k = 0; k < 10; ++k) log.append(tid, (tid * k + k) % 500);
  log.seal();
  const RecommendRun run(log, {}, query, options);
  EXPECT_EQ(run.rows().size(), 10u);
  EXPECT_GT(run.record().distinct_transactions, 300'000u) << "all of them held items of the basket";
  EXPECT_LT(meter.peak(), size_t{6} << 20);
}

// Baskets of more than 64 items, and hundreds of rules: the answers are those of RuleRun.
TEST(Recommend, AgreesWithTheRules) {
  Random random(kSeed + 1);
  const std::vector<TidItem> relation = random_grid(random, 300, 90, 30);
  RecommendQuery query;
  query.basket.emplace();
  for (int64_t item = 0; item < 70; ++item) query.basket->push_back(item);
  query.top_k = 90;
  query.min_count = 25;
  query.max_lhs = 2;
  const std::vector<Row> found = rows_of(relation, query);

  MemoryMeter meter;
  const PackedRows packed(relation);
  RuleQuery rules;
  rules.itemsets.min_count = query.min_count;
  rules.max_lhs = query.max_lhs;
  rules.lhs_exclude.emplace();
  for (int64_t item = 70; item < 90; ++item) rules.lhs_exclude->push_back(item);
  rules.rhs_exclude = query.basket;
  RuleRun run(packed.chunks(), {}, rules, {.memory = &meter, .cancel = {}});
  std::map<int64_t, double> best;
  RuleBatch batch(meter);
  while (run.next(batch))
    for (const RuleRow& row : batch.rows) {
      double& score = best[batch.items[row.begin + row.lhs_length]];
      score = std::max(score, static_cast<double>(row.support) / row.lhs_support);
    }
  ASSERT_EQ(best.size(), 20u);
  ASSERT_EQ(found.size(), best.size());
  for (const Row& row : found) EXPECT_EQ(row.score, best[row.item]) << "item " << row.item;
}

TEST(Recommend, TakesScatteredKeysAndNothing) {
  for (const Shape& shape : shapes(kSeed + 2)) {
    RecommendQuery query;
    query.max_lhs = 2;
    query.basket.emplace();
    EXPECT_TRUE(rows_of(shape.rows, query).empty()) << shape.name;
    for (size_t k = 0; k < std::min<size_t>(3, shape.rows.size()); ++k) query.basket->push_back(shape.rows[k].item);
    const std::vector<Row> found = rows_of(shape.rows, query);
    if (shape.rows.size() < 2000) {
      EXPECT_TRUE(found == expected_rows(shape.rows, query)) << shape.name;
    }
    query.basket.reset();
    EXPECT_TRUE(rows_of(shape.rows, query).empty()) << shape.name;
  }
}

TEST(Recommend, CanBeCancelledAndRunOutOfMemory) {
  Random random(kSeed + 3);
  const PackedRows packed(random_grid(random, 2000, 40, 60));
  RecommendQuery query;
  query.basket.emplace();
  for (int64_t item = 0; item < 20; ++item) query.basket->push_back(item);
  int cancelled = 0;
  for (int64_t polls = 0; polls < 60; polls += 3) {
    Countdown countdown{polls};
    MemoryMeter meter;
    try {
      const RecommendRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = countdown.token()});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kCancelled);
      ++cancelled;
    }
    ASSERT_EQ(meter.current(), 0u);
  }
  EXPECT_EQ(cancelled, 20);
  query.max_lhs = 1;
  int refused = 0;
  for (size_t limit = 1 << 10; limit < 1 << 20; limit *= 2) {
    MemoryMeter meter(limit);
    try {
      const RecommendRun run(packed.chunks(), {}, query, {.memory = &meter, .cancel = {}});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kMemoryLimit);
      ++refused;
    }
    ASSERT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(refused, 3);
}

TEST(Recommend, RefusesBadParameters) {
  const auto refused = [](auto change) {
    RecommendQuery query;
    change(query);
    try {
      query.check();
    } catch (const Error& error) {
      return error.code() == ErrorCode::kInvalidParameter;
    }
    return false;
  };
  EXPECT_FALSE(refused([](RecommendQuery&) {}));
  EXPECT_TRUE(refused([](RecommendQuery& q) { q.top_k = 0; }));
  EXPECT_TRUE(refused([](RecommendQuery& q) { q.min_count = 0; }));
  EXPECT_TRUE(refused([](RecommendQuery& q) { q.min_support = 1.5; }));
  EXPECT_TRUE(refused([](RecommendQuery& q) { q.min_count = 1, q.min_support = 0.5; }));
  EXPECT_TRUE(refused([](RecommendQuery& q) { q.min_confidence = 1.01; }));
  EXPECT_TRUE(refused([](RecommendQuery& q) { q.min_lift = -1; }));
  EXPECT_TRUE(refused([](RecommendQuery& q) { q.max_lhs = 0; }));
}

}  // namespace
}  // namespace batmap::test
