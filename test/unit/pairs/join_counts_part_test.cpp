// Join counts of parts: all pairs, those at a threshold, and those of candidates, against the counts of a map; rows in memory and
// in files; sums; answers; malformed bytes. Then cancellation and lack of memory.
#include "pairs/counts/join_counts_part.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "pairs/counts/pair_counts.h"
#include "pairs/counts/pair_counts_run.h"
#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/golden.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Rows (b, a) and (b, c).
struct Sides {
  std::vector<TidItem> left;
  std::vector<TidItem> right;
};

Bytes counted(const Sides& sides, const JoinPartQuery& query, const ExecutionOptions& options) {
  const RowLog left = log_of(sides.left, options);
  const RowLog right = log_of(sides.right, options);
  GrowingBuffer<std::byte> out(*options.memory);
  count_join_of_part(join_relations(side_of(left, {}), side_of(right, {}), options), query, out, options);
  validate_join_counts(out.span(), options);
  EXPECT_TRUE(is_join_counts(out.span(), out.size()));
  EXPECT_FALSE(is_pair_counts(out.span(), out.size()));
  return {out.begin(), out.end()};
}

Bytes counted(const Sides& sides, const JoinPartQuery& query = {}) {
  MemoryMeter meter;
  return counted(sides, query, {1, &meter, {}});
}

Bytes sum(const std::vector<Bytes>& values) {
  MemoryMeter meter;
  std::vector<const std::byte*> pointers;
  for (const Bytes& value : values) pointers.push_back(value.data());
  GrowingBuffer<std::byte> out(meter);
  add_pair_counts(pointers, out, {1, &meter, {}});
  validate_join_counts(out.span(), {1, &meter, {}});
  return {out.begin(), out.end()};
}

using Counts = std::map<std::pair<int64_t, int64_t>, uint64_t>;

Counts read(const Bytes& bytes) {
  std::vector<int64_t> values;
  for (PairCountsItems items(bytes.data()); items.next();) values.push_back(items.item());
  Counts counts;
  for (PairCountsItems items(bytes.data()); items.next();)
    for (PairCountsRow row = items.row(); row.next();) counts[{items.item(), values.at(row.index())}] = row.count();
  EXPECT_EQ(counts.size(), pair_counts_header(bytes.data()).pairs);
  return counts;
}

std::map<int64_t, std::set<int64_t>> by_b(const std::vector<TidItem>& rows) {
  std::map<int64_t, std::set<int64_t>> items;
  for (const TidItem& row : rows) items[row.tid].insert(row.item);
  return items;
}

struct Whole {
  Counts counts;
  uint64_t total = 0;
};

Whole oracle_counts(const Sides& sides) {
  Whole whole;
  const auto right = by_b(sides.right);
  for (const auto& [b, left] : by_b(sides.left)) {
    const auto found = right.find(b);
    if (found == right.end()) continue;
    ++whole.total;
    for (const int64_t a : left)
      for (const int64_t c : found->second) ++whole.counts[{a, c}];
  }
  return whole;
}

Sides many_rows(uint64_t seed, size_t rows = 9000) {
  Random random(seed);
  Sides sides{random_rows(random, rows, 1500, 80), random_rows(random, rows / 2, 1200, 50)};
  for (TidItem& row : sides.right) row.item = row.item * 1000003 - 7;  // some of them are items of both sides
  return sides;
}

std::vector<Sides> parts_of(const Sides& sides, size_t parts) {
  std::vector<Sides> by_part(parts);
  for (const TidItem& row : sides.left) by_part[static_cast<uint64_t>(row.tid) % parts].left.push_back(row);
  for (const TidItem& row : sides.right) by_part[static_cast<uint64_t>(row.tid) % parts].right.push_back(row);
  return by_part;
}

TEST(JoinCountsPart, AllPairsOfAllShapes) {
  const std::vector<Shape> all = shapes(kSeed);
  for (size_t k = 0; k < all.size(); ++k) {
    const Sides sides{all[k].rows, all[(k + 1) % all.size()].rows};
    const Whole whole = oracle_counts(sides);
    for (const int threads : {1, 3}) {
      MemoryMeter meter;
      const Bytes bytes = counted(sides, {}, {threads, &meter, {}});
      EXPECT_EQ(read(bytes), whole.counts) << all[k].name;
      EXPECT_EQ(pair_counts_header(bytes.data()).total, whole.total);
      EXPECT_EQ(sum({bytes, bytes}), sum({sum({bytes}), bytes}));
    }
  }
}

TEST(JoinCountsPart, RowsInFilesGiveTheSame) {
  const Sides sides = many_rows(kSeed + 1);
  std::vector<JoinPartQuery> queries(2);
  queries[1].min_count = 4;
  const Bytes candidates = counted(sides, queries[1]);
  queries.emplace_back().candidates = candidates.data();
  for (const JoinPartQuery& query : queries) {
    MemoryMeter meter;
    FakeFiles files;
    EXPECT_EQ(counted(sides, query, {2, &meter, {}, &files, size_t{32} << 10}), counted(sides, query));
    EXPECT_GT(files.bytes(), 0u);
    EXPECT_EQ(meter.current(), 0u);
  }
}

TEST(JoinCountsPart, TwoRoundsGiveTheCountsOfTheWhole) {
  const Sides sides = many_rows(kSeed + 2);
  const Whole whole = oracle_counts(sides);
  for (const size_t parts : {1, 2, 9})
    for (const int64_t min_count : {8, 12, 14}) {
      // Thresholds t with a sum of all t - 1 below min_count, as parts on servers have.
      JoinPartQuery first;
      first.min_count = (min_count - 1) / static_cast<int64_t>(parts) + 1;
      std::vector<Bytes> values;
      for (const Sides& part : parts_of(sides, parts)) values.push_back(counted(part, first));
      const Bytes candidates = sum(values);
      JoinPartQuery second;
      second.candidates = candidates.data();
      values.clear();
      for (const Sides& part : parts_of(sides, parts)) values.push_back(counted(part, second));
      const Bytes exact = sum(values);
      EXPECT_EQ(pair_counts_header(exact.data()).total, whole.total);
      const Counts found = read(exact);
      size_t frequent = 0;
      for (const auto& [pair, count] : whole.counts) {
        if (count < static_cast<uint64_t>(min_count)) continue;
        ++frequent;
        ASSERT_TRUE(found.contains(pair)) << parts << " parts, seed " << kSeed;
      }
      EXPECT_GT(frequent, 5u);
      for (const auto& [pair, count] : found) ASSERT_EQ(count, whole.counts.at(pair));
      EXPECT_EQ(found.size(), read(candidates).size());
    }
}

TEST(JoinCountsPart, CandidatesThatDoNotOccurAreLeftOut) {
  const Bytes candidates = counted({{{1, 1}, {1, 2}, {2, 9}}, {{1, 1}, {2, 4}}});  // (1, 1), (2, 1), (9, 4)
  JoinPartQuery query;
  query.candidates = candidates.data();
  const Bytes found = counted({{{5, 2}, {5, 7}, {6, 2}, {6, 9}}, {{5, 1}, {5, 4}, {6, 1}}}, query);
  EXPECT_EQ(read(found), (Counts{{{2, 1}, 2}}));
  EXPECT_EQ(pair_counts_header(found.data()).total, 2u);
  EXPECT_EQ(counted({}, query), counted({}));
  query.min_count = 2;
  EXPECT_THROW(counted({}, query), Error);
}

TEST(JoinCountsPart, AnswersAreThePairsOfTheValue) {
  const Sides sides = many_rows(kSeed + 3);
  const Bytes bytes = counted(sides);
  Counts expected = oracle_counts(sides).counts;
  std::erase_if(expected, [](const auto& entry) { return entry.second < 5; });
  MemoryMeter meter;
  PairQuery query;
  query.min_count = 5;
  query.supports = false;
  PairCountsRun run(bytes.data(), query, {2, &meter, {}});
  std::vector<std::pair<int64_t, int64_t>> order;
  Counts found;
  for (PairBatch batch; run.next(batch);)
    for (const ItemPair& pair : batch.pairs()) {
      found[{pair.item_a, pair.item_b}] = pair.support;
      order.emplace_back(pair.item_a, pair.item_b);
    }
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(JoinCountsPart, EveryChangedByteIsRefusedOrAnotherValue) {
  const Bytes bytes = counted({{{1, -3}, {1, 5}, {2, 5}, {2, 200}}, {{1, 5}, {2, 5}, {2, 700}}});
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      Bytes changed = bytes;
      changed[at] = std::byte{static_cast<uint8_t>(value)};
      try {
        validate_join_counts(changed, options);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kInvalidData);
        ++refused;
        continue;
      }
      ASSERT_TRUE(is_join_counts(changed, changed.size()));
      if (pair_counts_header(changed.data()).total > INT64_MAX / 2) continue;
      const Counts counts = read(changed);
      for (const auto& [pair, count] : read(sum({changed, changed}))) ASSERT_EQ(count, 2 * counts.at(pair));
    }
  EXPECT_GT(refused, static_cast<int>(bytes.size()) * 100);
}

// Stored values must stay readable, and equal counts must be stored in the same way.
TEST(JoinCountsPart, BytesAreThoseOfTheGoldenFile) {
  const Bytes golden = golden_bytes("small_join_counts");
  const Sides sides{{{1, -5}, {2, 3}, {3, 3}, {4, 9}}, {{1, -5}, {1, 3}, {2, 3}, {2, 700}, {3, 3}, {7, 1}}};
  EXPECT_EQ(read(golden), oracle_counts(sides).counts);
  EXPECT_EQ(hex_of(counted(sides)), hex_of(golden));
}

TEST(JoinCountsPart, CancelledAndOutOfMemory) {
  const Sides sides = many_rows(kSeed + 4, 3000);
  const Bytes candidates = counted(sides);
  const FailingRun run = [&](ExecutionOptions options) {
    FakeFiles files;
    options.files = &files;
    options.work_bytes = 32 << 10;
    JoinPartQuery query;
    query.candidates = candidates.data();
    counted(sides, query, options);
  };
  run_out_of_memory_everywhere(1, 50021, 10, run);
  cancel_everywhere(1, 10, run);
}

}  // namespace
}  // namespace batmap::test
