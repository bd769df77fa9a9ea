// Pair counts of parts: all of them, those at a threshold, and those of candidates, against the counts of a map; rows in
// memory and in files. Then cancellation and lack of memory.
#include "pairs/counts/pair_counts_part.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "pairs/counts/pair_counts.h"
#include "pairs/counts/pair_counts_build.h"
#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Bytes = std::vector<std::byte>;
using Rows = std::vector<TidItem>;

Bytes counted(const Rows& rows, const PairPartQuery& query, const ExecutionOptions& options) {
  RowLog log(options);
  for (const TidItem& row : rows) log.append(row.tid, row.item);
  log.seal();
  GrowingBuffer<std::byte> out(*options.memory);
  count_pairs_of_part(log, query, out, options);
  validate_pair_counts(out.span(), options);
  return {out.begin(), out.end()};
}

Bytes counted(const Rows& rows, const PairPartQuery& query = {}) {
  MemoryMeter meter;
  return counted(rows, query, {1, &meter, {}});
}

Bytes sum(const std::vector<Bytes>& values) {
  MemoryMeter meter;
  std::vector<const std::byte*> pointers;
  for (const Bytes& value : values) pointers.push_back(value.data());
  GrowingBuffer<std::byte> out(meter);
  add_pair_counts(pointers, out, {1, &meter, {}});
  return {out.begin(), out.end()};
}

Bytes missing_of(const Bytes& all, const Bytes& own) {
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  missing_pair_counts(all.data(), own.data(), out, {1, &meter, {}});
  validate_pair_counts(out.span(), {1, &meter, {}});
  return {out.begin(), out.end()};
}

std::optional<Bytes> completed_of(const Bytes& own, const Bytes& more) {
  MemoryMeter meter;
  GrowingBuffer<std::byte> out(meter);
  if (!complete_pair_counts(own.data(), more.data(), out, {1, &meter, {}})) {
    EXPECT_EQ(out.size(), 0u);
    return std::nullopt;
  }
  validate_pair_counts(out.span(), {1, &meter, {}});
  return Bytes(out.begin(), out.end());
}

/// Counts by pair; an item with itself has its support.
using Counts = std::map<std::pair<int64_t, int64_t>, uint64_t>;

Counts read(const Bytes& bytes) {
  std::vector<int64_t> values;
  for (PairCountsItems items(bytes.data()); items.next();) values.push_back(items.item());
  Counts counts;
  for (PairCountsItems items(bytes.data()); items.next();) {
    counts[{items.item(), items.item()}] = items.support();
    for (PairCountsRow row = items.row(); row.next();) counts[{items.item(), values.at(row.index())}] = row.count();
  }
  return counts;
}

Counts oracle_counts(const Rows& rows) {
  std::map<int64_t, std::set<int64_t>> transactions;
  for (const TidItem& row : rows) transactions[row.tid].insert(row.item);
  Counts counts;
  for (const auto& [tid, items] : transactions)
    for (auto a = items.begin(); a != items.end(); ++a)
      for (auto b = a; b != items.end(); ++b) ++counts[{*a, *b}];
  return counts;
}

Rows many_rows(uint64_t seed, uint64_t items) {
  Random random(seed);
  return random_rows(random, 20000, 2000, items);
}

TEST(PairCountsPart, AllPairsAreThoseOfTheAggregate) {
  for (const Shape& shape : shapes(kSeed)) {
    MemoryMeter meter;
    GrowingBuffer<std::byte> expected(meter);
    const PackedRows packed(shape.rows);
    count_pairs_of(packed.chunks(), 0, {}, expected, {1, &meter, {}});
    for (const int threads : {1, 3})
      EXPECT_EQ(counted(shape.rows, {}, {threads, &meter, {}}), Bytes(expected.begin(), expected.end())) << shape.name;
  }
}

TEST(PairCountsPart, RowsInFilesGiveTheSame) {
  const Rows rows = many_rows(kSeed, 300);
  std::vector<PairPartQuery> queries(5);
  queries[1].min_count = 5;
  queries[2].min_support = 0.003;
  queries[3].include = {3, 4, 99};
  queries[4].include = {-1};
  queries[4].exclude = {7};
  const Bytes candidates = counted(rows, queries[1]);
  queries.emplace_back().candidates = candidates.data();
  for (const PairPartQuery& query : queries)
    for (const size_t work_bytes : {size_t{64} << 10, size_t{64} << 20}) {
      MemoryMeter meter;
      FakeFiles files;
      EXPECT_EQ(counted(rows, query, {2, &meter, {}, &files, work_bytes}), counted(rows, query));
      EXPECT_EQ(files.bytes() > 0, work_bytes == 64 << 10);
      EXPECT_EQ(meter.current(), 0u);
    }
}

TEST(PairCountsPart, WhatIsBelowTheThresholdIsLeftOut) {
  const Rows rows = many_rows(kSeed + 1, 200);
  PairPartQuery query;
  query.min_count = 6;
  Counts expected = oracle_counts(rows);
  std::erase_if(expected, [](const auto& entry) { return entry.second < 6; });
  EXPECT_EQ(read(counted(rows, query)), expected);
  query.min_count = 1000000;
  EXPECT_EQ(counted(rows, query).size(), kPairCountsHeaderBytes);
  EXPECT_EQ(pair_counts_header(counted(rows, query).data()).total, pair_counts_header(counted(rows).data()).total);
}

TEST(PairCountsPart, IncludedItemsLeadButAllItemsKeepTheirSupport) {
  const Rows rows = many_rows(kSeed + 2, 50);
  PairPartQuery query;
  query.include = {3, 7, 1000};
  query.exclude = {7, 9};
  Counts expected = oracle_counts(rows);
  std::erase_if(expected, [](const auto& entry) {
    const auto [a, b] = entry.first;
    const auto is = [&](int64_t item) { return a == item || b == item; };
    return is(7) || is(9) || (a != b && !is(3));
  });
  EXPECT_EQ(read(counted(rows, query)), expected);
}

// What Savasere, Omiecinski and Navathe prove: no pair that is frequent in the whole is missed, at its edge neither.
TEST(PairCountsPart, TwoRoundsGiveTheCountsOfTheWhole) {
  const Rows rows = many_rows(kSeed + 3, 150);
  const Counts whole = oracle_counts(rows);
  const uint64_t total = pair_counts_header(counted(rows).data()).total;
  for (const size_t parts : {1, 2, 9})
    for (const uint64_t min_count : {8, 14, 25}) {
      std::vector<Rows> by_part(parts);
      for (const TidItem& row : rows) by_part[static_cast<uint64_t>(row.tid) % parts].push_back(row);
      PairPartQuery first;
      first.min_support = static_cast<double>(min_count) / static_cast<double>(total);
      std::vector<Bytes> values;
      for (const Rows& part : by_part) values.push_back(counted(part, first));
      const Bytes candidates = sum(values);
      PairPartQuery second;
      second.candidates = candidates.data();
      values.clear();
      for (const Rows& part : by_part) values.push_back(counted(part, second));
      const Bytes exact = sum(values);
      // A part need not count again what it has counted.
      std::vector<Bytes> completed;
      size_t asked = 0;
      for (size_t part = 0; part < parts; ++part) {
        const Bytes own = counted(by_part[part], first);
        const Bytes missing = missing_of(candidates, own);
        asked += pair_counts_header(missing.data()).pairs;
        if (pair_counts_header(missing.data()).items == 0) {
          completed.push_back(own);
          continue;
        }
        PairPartQuery rest;
        rest.candidates = missing.data();
        completed.push_back(completed_of(own, counted(by_part[part], rest)).value());
      }
      EXPECT_EQ(sum(completed), exact);
      EXPECT_EQ(asked > 0, parts > 1);
      EXPECT_EQ(pair_counts_header(exact.data()).total, total);
      const Counts found = read(exact);
      size_t frequent = 0;
      for (const auto& [pair, count] : whole) {
        if (count < min_count) continue;
        ++frequent;
        ASSERT_TRUE(found.contains(pair)) << parts << " parts, seed " << kSeed;
      }
      EXPECT_GT(frequent, 10u);
      for (const auto& [pair, count] : found) ASSERT_EQ(count, whole.at(pair));
      EXPECT_EQ(found.size(), read(candidates).size());
    }
}

TEST(PairCountsPart, WhatAPartLacksIsAskedOnce) {
  const Bytes all = counted({{1, 1}, {1, 2}, {1, 3}, {2, 3}, {2, 5}, {3, 8}});
  EXPECT_EQ(missing_of(all, all), counted({}));
  EXPECT_EQ(read(missing_of(all, counted({}))), (Counts{{{1, 1}, 1},
                                                        {{2, 2}, 1},
                                                        {{3, 3}, 1},
                                                        {{5, 5}, 1},
                                                        {{8, 8}, 1},
                                                        {{1, 2}, 1},
                                                        {{1, 3}, 1},
                                                        {{2, 3}, 1},
                                                        {{3, 5}, 1}}));
  const Bytes own = counted({{1, 1}, {1, 2}, {2, 3}, {2, 5}});
  EXPECT_EQ(read(missing_of(all, own)),
            (Counts{{{1, 1}, 1}, {{2, 2}, 1}, {{3, 3}, 1}, {{8, 8}, 1}, {{1, 3}, 1}, {{2, 3}, 1}}));
  EXPECT_FALSE(completed_of(own, counted({{1, 1}, {2, 3}, {3, 8}})));  // more transactions
  EXPECT_FALSE(completed_of(own, counted({{1, 1}, {2, 1}, {2, 3}})));  // another support
  EXPECT_FALSE(completed_of(own, counted({{1, 1}, {1, 2}, {2, 8}})));  // a pair in both
  EXPECT_EQ(read(*completed_of(own, counted({{1, 1}, {1, 8}, {2, 3}, {2, 8}}))), (Counts{{{1, 1}, 1},
                                                                                         {{2, 2}, 1},
                                                                                         {{3, 3}, 1},
                                                                                         {{5, 5}, 1},
                                                                                         {{8, 8}, 2},
                                                                                         {{1, 2}, 1},
                                                                                         {{3, 5}, 1},
                                                                                         {{1, 8}, 1},
                                                                                         {{3, 8}, 1}}));
}

TEST(PairCountsPart, CandidatesThatDoNotOccurAreLeftOut) {
  const Bytes candidates = counted({{1, 1}, {1, 2}, {1, 3}, {2, 5}});
  PairPartQuery query;
  query.candidates = candidates.data();
  EXPECT_EQ(read(counted({{7, 2}, {7, 3}, {8, 3}, {8, 9}, {8, 5}}, query)),
            (Counts{{{2, 2}, 1}, {{3, 3}, 2}, {{5, 5}, 1}, {{2, 3}, 1}}));
  EXPECT_EQ(counted({}, query), counted({}));
  query.min_count = 2;
  try {
    counted({}, query);
    FAIL() << "candidates say what is counted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidParameter);
  }
}

TEST(PairCountsPart, CancelledAndOutOfMemory) {
  const Rows rows = many_rows(kSeed + 4, 60);
  const Bytes candidates = counted(rows);
  PairPartQuery frequent;
  frequent.min_count = 40;
  const Bytes few = counted(rows, frequent);
  const FailingRun run = [&](ExecutionOptions options) {
    FakeFiles files;
    options.files = &files;
    options.work_bytes = 64 << 10;
    counted(rows, {}, options);
    PairPartQuery query;
    query.candidates = candidates.data();
    counted(rows, query, options);
    GrowingBuffer<std::byte> out(*options.memory);
    missing_pair_counts(candidates.data(), few.data(), out, options);
    complete_pair_counts(candidates.data(), few.data(), out, options);
  };
  run_out_of_memory_everywhere(1, 50021, 10, run);
  cancel_everywhere(1, 10, run);
}

}  // namespace
}  // namespace batmap::test
