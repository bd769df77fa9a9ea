// Itemsets in parts: rows in files against rows in memory, two rounds over counts that are added up against the whole, and
// answers from stored counts. Then failing files, cancellation and lack of memory.
#include "itemsets/itemset_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "itemsets/counts/itemset_counts.h"
#include "itemsets/itemset_run.h"
#include "itemsets/rules/rules.h"
#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/itemsets.h"

namespace batmap::test {
namespace {

using Rows = std::vector<TidItem>;

/// Many transactions of few items, so that the oracle can count them; some rows repeat, tids are spread.
Rows many_rows(uint64_t seed, int64_t tids, uint64_t items, int64_t spread) {
  Random random(seed);
  Rows rows;
  for (int64_t tid = 0; tid < tids; ++tid)
    for (uint64_t k = 1 + random.below(items); k > 0; --k) {
      rows.push_back({tid * spread, static_cast<int64_t>(std::min(random.below(items), random.below(items)))});
      if (random.chance(3)) rows.push_back(rows.back());
    }
  return rows;
}

std::vector<ItemsetRow> rows_of(ItemsetRun& run, const ItemsetQuery& query) {
  RowSink sink(run);
  run.search(sink);
  if (!query.top_k) std::sort(sink.rows.begin(), sink.rows.end());
  return sink.rows;
}

std::vector<ItemsetRow> rows_in_files(const Rows& rows, const ItemsetQuery& query, const ExecutionOptions& options) {
  const RowLog log = log_of(rows, options);
  EXPECT_NE(log.partitions(), nullptr);
  ItemsetRun run(log, {}, query, options);
  EXPECT_TRUE(run.is_known() || run.transactions() == 0 || query.min_count_among(run.transactions()) > run.transactions());
  return rows_of(run, query);
}

/// A sample of the transactions says nearly how many itemsets all of them have; its other figures are exact.
TEST(ItemsetParts, ForecastsFromASample) {
  for (const int64_t min_count : {600, 3000, 60'000'000}) {
    for (const size_t work_bytes : {size_t{256} << 10, size_t{2} << 20}) {
      SCOPED_TRACE(testing::Message() << min_count << ", " << work_bytes << " bytes");
      const Rows rows = many_rows(kSeed + 100, 60'000, 12, 1);
      ItemsetQuery query;
      query.min_count = min_count;
      query.exclude = {3};
      MemoryMeter meter;
      const ExecutionOptions in_memory{.threads = 2, .memory = &meter, .cancel = {}};
      ItemsetRun whole(log_of(rows, in_memory), {}, query, in_memory);
      const ItemsetForecast expected = whole.forecast(1e6);
      FakeFiles files;
      const ExecutionOptions options{2, &meter, {}, &files, work_bytes};
      const RowLog log = log_of(rows, options);
      ASSERT_NE(log.partitions(), nullptr);
      RunRecord record;
      const ItemsetForecast found = forecast_of_parts(*log.partitions(), {}, query, 1e6, options, record);
      EXPECT_EQ(record.transactions, whole.transactions());
      EXPECT_EQ(record.items, whole.record().items);
      EXPECT_EQ(record.items_kept, whole.record().items_kept);
      EXPECT_EQ(record.occurrences, whole.record().occurrences);
      EXPECT_GT(record.file_bytes, 0u);
      EXPECT_EQ(found.ways, 0u);
      if (min_count > 60'000) {
        EXPECT_EQ(found.itemsets, 0);
        EXPECT_TRUE(found.is_exact());
        continue;
      }
      EXPECT_FALSE(found.is_exact());
      EXPECT_GT(expected.itemsets, 20);
      EXPECT_NEAR(found.itemsets, expected.itemsets, 0.1 * expected.itemsets + 3 * found.standard_error);
      EXPECT_NE(record.reason.find(" parts of "), std::string::npos) << record.reason;
    }
  }
}

TEST(ItemsetParts, AnswerLikeTheOracle) {
  Random random(kSeed);
  int in_parts = 0;
  for (int round = 0; round < 40; ++round) {
    const Rows rows = many_rows(kSeed + static_cast<uint64_t>(round), 3000, 9, round % 2 == 0 ? 1 : 1000003);
    ItemsetQuery query = draw_query(random, 9);
    if (query.min_count) *query.min_count *= 1 + random.signed_below(200);
    MemoryMeter meter;
    FakeFiles files;
    const ExecutionOptions options{1 + round % 3, &meter, {}, &files, 24 << 10};
    ASSERT_EQ(difference(rows_in_files(rows, query, options), ItemsetOracle(rows).answer(query)), "")
        << describe_query(query) << ", round " << round << ", seed " << kSeed;
    ASSERT_EQ(meter.current(), 0u);
    const RowLog log = log_of(rows, options);
    ItemsetParts parts(*log.partitions(), {}, options);
    const uint64_t min_count = query.min_count_among(parts.transactions());
    if (min_count > parts.transactions()) continue;
    parts.find(query, min_count);
    in_parts += parts.parts() > 1;
    EXPECT_TRUE(parts.parts() == 1 ||
                parts.transactions() * ItemsetParts::kMinPartCount <= parts.parts() * 3000 * min_count);
  }
  EXPECT_GT(in_parts, 10) << "most rounds have parts";
}

TEST(ItemsetParts, ItemRanksStandForItems) {
  const Rows rows = many_rows(kSeed, 3000, 9, 1);
  const std::vector<uint32_t> rank = {4, 2, 8, 0, 1, 3, 7, 6, 5};
  Rows ranked = rows;
  for (TidItem& row : ranked) row.item = rank[static_cast<size_t>(row.item)];
  ItemsetQuery query = question(200);
  query.include = {2, 8};
  query.exclude = {5};
  MemoryMeter meter;
  FakeFiles files;
  const ExecutionOptions options{2, &meter, {}, &files, 24 << 10};
  const RowLog log = log_of(rows, options);
  ItemsetRun run(log, rank, query, options);
  EXPECT_EQ(difference(rows_of(run, query), ItemsetOracle(ranked).answer(query)), "");
}

/// The parts of a relation, by tid.
std::vector<Rows> parts_of(const Rows& rows, size_t parts) {
  std::vector<Rows> all(parts);
  for (const TidItem& row : rows) all[static_cast<uint64_t>(row.tid) * 0x9e3779b97f4a7c15u % parts].push_back(row);
  return all;
}

using Value = std::vector<std::byte>;

Value value_of(const GrowingBuffer<std::byte>& bytes) { return {bytes.begin(), bytes.end()}; }

Value found_in(const Rows& rows, const ItemsetQuery& query, const ExecutionOptions& options) {
  const RowLog log = log_of(rows, options);
  ItemsetRun run(log, {}, query, options);
  GrowingBuffer<std::byte> out(*options.memory);
  write_itemset_counts(run, out, options);
  validate_itemset_counts(out.span(), options);
  return value_of(out);
}

Value recounted(const Rows& rows, const Value& candidates, const ExecutionOptions& options) {
  const RowLog log = log_of(rows, options);
  GrowingBuffer<std::byte> out(*options.memory);
  count_itemsets_of_part(log, candidates.data(), out, options);
  validate_itemset_counts(out.span(), options);
  return value_of(out);
}

Value added(const std::vector<Value>& values, const ExecutionOptions& options) {
  std::vector<const std::byte*> pointers;
  for (const Value& value : values) pointers.push_back(value.data());
  GrowingBuffer<std::byte> out(*options.memory);
  add_itemset_counts(pointers, out, options);
  return value_of(out);
}

TEST(ItemsetParts, TwoRoundsGiveTheCountsOfTheWhole) {
  for (const size_t parts : {1, 2, 7})
    for (const double min_support : {0.02, 0.2}) {
      for (const size_t work_bytes : {size_t{24} << 10, SIZE_MAX}) {
        const Rows rows = many_rows(kSeed + parts, 2000, 10, 1);
        MemoryMeter meter;
        FakeFiles files;
        const ExecutionOptions options{2, &meter, {}, &files, work_bytes};
        ItemsetQuery query;
        query.min_support = min_support;
        std::vector<Value> values;
        for (const Rows& part : parts_of(rows, parts)) values.push_back(found_in(part, query, options));
        const Value candidates = added(values, options);
        values.clear();
        for (const Rows& part : parts_of(rows, parts)) values.push_back(recounted(part, candidates, options));
        const Value sum = added(values, options);
        EXPECT_EQ(itemset_counts_header(sum.data()).total, 2000u);
        EXPECT_EQ(itemset_counts_header(sum.data()).itemsets, itemset_counts_header(candidates.data()).itemsets);
        ItemsetRun run(sum.data(), query, options);
        EXPECT_TRUE(run.is_known());
        EXPECT_EQ(difference(rows_of(run, query), ItemsetOracle(rows).answer(query)), "");
        if (parts == 1) {
          EXPECT_EQ(sum, candidates);
        }
      }
    }
}

TEST(ItemsetParts, CandidatesThatDoNotOccurAreLeftOut) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const Value candidates = found_in({{1, 1}, {1, 2}, {1, 3}, {2, 5}}, question(1), options);
  const Value found = recounted({{7, 2}, {7, 3}, {8, 3}, {8, 9}, {9, 100}}, candidates, options);
  EXPECT_EQ(itemset_counts_header(found.data()).total, 3u);
  EXPECT_EQ(found,
            added({found_in({{7, 2}, {7, 3}, {8, 3}}, question(1), options), found_in({{9, 100}}, question(2), options)},
                  options));
  EXPECT_EQ(itemset_counts_header(recounted({}, candidates, options).data()).total, 0u);
  const Value none = found_in({}, question(1), options);
  EXPECT_EQ(itemset_counts_header(recounted({{1, 1}}, none, options).data()).total, 1u);
}

TEST(ItemsetParts, StoredCountsAnswerAsTheRowsDo) {
  Random random(kSeed + 5);
  for (int round = 0; round < 60; ++round) {
    const Rows rows = draw_relation(random, 8);
    MemoryMeter meter;
    const ExecutionOptions options{1, &meter, {}};
    const Value all = found_in(rows, question(1), options);
    const ItemsetQuery query = draw_query(random, 8);
    ItemsetRun run(all.data(), query, options);
    ASSERT_EQ(difference(rows_of(run, query), ItemsetOracle(rows).answer(query)), "")
        << describe_query(query) << ", round " << round << ", seed " << kSeed;
  }
}

TEST(ItemsetParts, RulesOfStoredCountsNeedAllSubsets) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  RuleQuery query;
  query.itemsets.min_count = 1;
  const auto rules = [&](const Value& counts) {
    RuleRun run(counts.data(), query, options);
    RuleBatch batch(meter);
    size_t count = 0;
    while (run.next(batch)) count += batch.rows.size();
    return count;
  };
  const Rows rows = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}};
  EXPECT_EQ(rules(found_in(rows, question(1), options)), 9u);
  ItemsetQuery with = question(1);
  with.include = {1};
  const auto refusal = [&](const Value& counts) {
    try {
      rules(counts);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kCancelled;
  };
  EXPECT_EQ(refusal(found_in(rows, with, options)), ErrorCode::kInvalidParameter);
  AscendingWriter items(options);
  TreeWriter nodes(CodesBelow::kAscend, options);
  for (int64_t item = 0; item < 40; ++item) items.add(item);
  for (uint32_t item = 0; item < 40; ++item) nodes.add(item + 1, item, 1);
  GrowingBuffer<std::byte> chain(meter);
  finish_itemset_counts(items, nodes, 1, chain);
  EXPECT_EQ(refusal(value_of(chain)), ErrorCode::kInvalidParameter) << "40 items have 2^40 subsets";
}

TEST(ItemsetParts, AFileThatFailsEndsTheRun) {
  const Rows rows = many_rows(kSeed, 3000, 9, 1);
  int failures = 0;
  for (uint64_t room = 0;; room += 5009) {
    MemoryMeter meter;
    FakeFiles files(room);
    bool failed = false;
    try {
      rows_in_files(rows, question(300), {2, &meter, {}, &files, 24 << 10});
    } catch (const FileFailed&) {
      failed = true;
    }
    ASSERT_EQ(meter.current(), 0u);
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 3);
}

TEST(ItemsetParts, CancelledAndOutOfMemory) {
  const Rows rows = many_rows(kSeed, 3000, 9, 1);
  MemoryMeter unlimited;
  const Value candidates = found_in(rows, question(300), {1, &unlimited, {}});
  const FailingRun run = [&](ExecutionOptions options) {
    FakeFiles files;
    options.files = &files;
    options.work_bytes = 24 << 10;
    rows_in_files(rows, question(300), options);
    recounted(rows, candidates, options);
  };
  run_out_of_memory_everywhere(1, 20011, 10, run);
  cancel_everywhere(1, 20, run);
}

}  // namespace
}  // namespace batmap::test
