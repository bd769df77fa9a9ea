// Sets that stay in memory, or become rows of a log: the pairs of both are the same, in the same order. Then numbers in place of
// ids, ids that repeat, and what fails.
#include "pairs/collected_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "pairs/all_pairs.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/sets.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr size_t kLimit = size_t{6} << 20;

struct NumberedSet {
  int64_t id;
  std::vector<std::byte> bytes;
};

/// Sets of a few megabytes in all: some are empty, some have one id, some are prepared.
std::vector<NumberedSet> some_sets(Random& random, size_t count) {
  std::vector<NumberedSet> sets;
  for (size_t k = 0; k < count; ++k) {
    std::set<uint64_t> elements;
    for (uint64_t size = k % 7 == 0 ? 0 : random.below(4000); size > 0; --size)
      elements.insert(std::min(random.below(40'000), random.below(40'000)));
    const Elements sorted(elements.begin(), elements.end());
    sets.push_back({random.signed_below(count) - 50, k % 5 == 0 ? encode(sorted, 16) : encode_compact(sorted)});
  }
  return sets;
}

CollectedSets collected(const std::vector<NumberedSet>& sets, bool may_spill, const ExecutionOptions& options) {
  CollectedSets all(options, may_spill);
  for (const NumberedSet& set : sets) all.add(set.id, set.bytes);
  all.seal();
  return all;
}

using Answer = std::tuple<int64_t, int64_t, uint64_t, uint64_t, uint64_t>;

std::vector<Answer> pairs_of(CollectedSets sets, const AllPairsQuery& query, const ExecutionOptions& options,
                             RunRecord& record) {
  AllPairsRun run(std::move(sets), query, options);
  std::vector<Answer> answers;
  PairBatch batch;
  while (run.next(batch))
    for (const PairRow row : batch) answers.emplace_back(row.item_a, row.item_b, row.support, row.support_a, row.support_b);
  record = run.record();
  return answers;
}

TEST(CollectedSets, PairsOfRowsAreThoseOfSets) {
  Random random(kSeed);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const std::vector<NumberedSet> sets = some_sets(random, 900);
    AllPairsQuery query;
    if (round % 3 != 1) query.min_count = 1 + random.signed_below(150);
    if (round % 3 != 0) query.min_jaccard = 0.005 + 0.01 * static_cast<double>(random.below(3));
    if (round % 4 == 1) query.top_k = 1 + random.signed_below(300);
    if (round % 4 == 2) query.per_item_top_k = 1 + random.signed_below(3);
    MemoryMeter unlimited;
    const ExecutionOptions in_memory{2, &unlimited, {}};
    RunRecord expected_record;
    const std::vector<Answer> expected = pairs_of(collected(sets, true, in_memory), query, in_memory, expected_record);
    EXPECT_GT(expected.size(), 0u);
    MemoryMeter meter(kLimit);
    FakeFiles files;
    const ExecutionOptions in_files{2, &meter, {}, &files, size_t{1} << 20};
    CollectedSets given = collected(sets, true, in_files);
    ASSERT_TRUE(given.are_rows());
    EXPECT_EQ(given.size(), sets.size());
    RunRecord record;
    EXPECT_EQ(pairs_of(std::move(given), query, in_files, record), expected);
    EXPECT_NE(record.reason.find("too large for memory; rows in"), std::string::npos) << record.reason;
    EXPECT_EQ(record.items, expected_record.items);
    EXPECT_LE(meter.peak(), kLimit);
  }
}

TEST(CollectedSets, StayInMemoryIfTheyMustOrMay) {
  Random random(kSeed + 1);
  const std::vector<NumberedSet> few = some_sets(random, 60);
  const std::vector<NumberedSet> many = some_sets(random, 1500);
  MemoryMeter meter(kLimit);
  FakeFiles files;
  const ExecutionOptions options{1, &meter, {}, &files, size_t{1} << 20};
  EXPECT_FALSE(collected(few, true, options).are_rows());
  EXPECT_THROW(collected(many, false, options), Error);
  ExecutionOptions without_files = options;
  without_files.files = nullptr;
  EXPECT_THROW(collected(many, true, without_files), Error);
  EXPECT_EQ(files.bytes(), 0u);
  EXPECT_EQ(meter.current(), 0u);
}

TEST(CollectedSets, NumbersAndIds) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  CollectedSets sets(options, true);
  const auto add = [&](int64_t id) { sets.add(id, encode_compact(Elements{1})); };
  EXPECT_EQ(sets.repeated_id(), std::nullopt);
  add(3);
  add(-5);
  add(4);
  EXPECT_EQ(sets.repeated_id(), std::nullopt);
  RowLog list(meter);
  for (const TidItem pair : {TidItem{3, 4}, {4, 9}, {INT64_MIN, -5}}) list.append(pair.tid, pair.item);
  list.seal();
  RowLog numbers(meter);
  sets.append_numbers(list.chunks(), numbers);
  TidItem rows[kChunkRows];
  ASSERT_EQ(numbers.rows(), 3u);
  decode_chunk(numbers.chunks()[0], rows);
  const TidItem expected[] = {{0, 2}, {2, -1}, {-1, 1}};
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(rows[k].tid, expected[k].tid);
    EXPECT_EQ(rows[k].item, expected[k].item);
  }
  add(-5);
  EXPECT_EQ(sets.repeated_id(), -5);
}

TEST(CollectedSets, AFullDiskAndACancel) {
  Random random(kSeed + 2);
  const std::vector<NumberedSet> sets = some_sets(random, 1500);
  MemoryMeter meter(kLimit);
  FakeFiles full(size_t{1} << 20);
  ExecutionOptions options{1, &meter, {}, &full, size_t{1} << 20};
  EXPECT_THROW(collected(sets, true, options), FileFailed);
  EXPECT_EQ(meter.current(), 0u);
  FakeFiles files;
  options.files = &files;
  options.cancel = {[](void*) { return true; }, nullptr};
  EXPECT_THROW(collected(sets, true, options), Error);
  EXPECT_EQ(meter.current(), 0u);
}

}  // namespace
}  // namespace batmap::test
