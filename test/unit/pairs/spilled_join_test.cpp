// Joins with one or both sides in files, against the same joins in memory.
#include <gtest/gtest.h>

#include "pairs/join_run.h"
#include "test/unit/shared/countdown.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Answer {
  std::vector<PairRow> rows;
  RunRecord record;
  bool in_files;  // of the joined relation
};

struct Input {
  std::vector<TidItem> left;
  std::vector<TidItem> right;
  std::vector<uint32_t> left_rank;
  std::vector<uint32_t> right_rank;
};

Answer run(const Input& input, const JoinQuery& query, const ExecutionOptions& options) {
  std::optional<RowLog> left(log_of(input.left, options));
  std::optional<RowLog> right(log_of(input.right, options));
  JoinedRelation joined = join_relations(side_of(*left, input.left_rank), side_of(*right, input.right_rank), options);
  Answer answer;
  answer.in_files = joined.log.partitions() != nullptr;
  left.reset();
  right.reset();
  JoinRun run(std::move(joined), query, options);
  PairBatch batch;
  while (run.next(batch)) answer.rows.insert(answer.rows.end(), batch.begin(), batch.end());
  for (PairRow& row : answer.rows) row.support_a = row.support_b = 0;  // not part of the answer of a join
  answer.record = run.record();
  return answer;
}

/// @param joined_in_files  is increased if the joined relation was in files, too
std::string compare(const Input& input, const JoinQuery& query, int threads, size_t work_bytes, int& joined_in_files) {
  MemoryMeter meter;
  const Answer expected = run(input, query, {.threads = threads, .memory = &meter, .cancel = {}});
  FakeFiles files;
  const Answer found =
      run(input, query, {.threads = threads, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes});
  EXPECT_EQ(meter.current(), 0u);
  EXPECT_GT(files.bytes(), 0u);
  joined_in_files += found.in_files;
  std::string wrong = difference(found.rows, expected.rows);
  const auto same = [&](const char* name, uint64_t is, uint64_t should) {
    if (is != should) wrong += std::string("; ") + name + " " + std::to_string(is) + ", not " + std::to_string(should);
  };
  same("results", found.record.results, expected.record.results);
  same("truncated", found.record.truncated(), expected.record.truncated());
  same("transactions", found.record.transactions, expected.record.transactions);
  same("items", found.record.items, expected.record.items);
  same("occurrences", found.record.occurrences, expected.record.occurrences);
  if (!found.record.truncated() && !query.distinct_only) {
    same("items_kept", found.record.items_kept, expected.record.items_kept);
    same("pair_instances", found.record.pair_instances, expected.record.pair_instances);
  }
  return wrong;
}

std::vector<TidItem> side(uint64_t seed, uint64_t tids, uint64_t items, uint64_t rows, int64_t spread) {
  Random random(seed);
  std::vector<TidItem> all;
  while (all.size() < rows) {
    const uint64_t item = std::min(random.below(items), random.below(items));
    all.push_back({random.signed_below(tids) * spread, static_cast<int64_t>(item) * spread * spread - 70});
    if (random.chance(9)) all.push_back(all.back());
  }
  return all;
}

std::vector<JoinQuery> queries() {
  std::vector<JoinQuery> all;
  const auto add = [&](auto fill) {
    JoinQuery query;
    fill(query);
    all.push_back(query);
  };
  add([](JoinQuery&) {});
  add([](JoinQuery& q) { q.min_count = 4; });
  add([](JoinQuery& q) { q.min_count = 1000000; });
  add([](JoinQuery& q) { q.distinct_only = true; });
  add([](JoinQuery& q) { q.distinct_only = true, q.bag = true; });
  add([](JoinQuery& q) { q.distinct_only = true, q.bag = true, q.min_count = 3; });
  add([](JoinQuery& q) { q.top_k = 30; });
  add([](JoinQuery& q) { q.per_item_top_k = 2; });
  add([](JoinQuery& q) { q.max_results = 77; });
  add([](JoinQuery& q) { q.bag = true; });
  add([](JoinQuery& q) { q.bag = true, q.min_count = 6; });
  for (const PairMethodName& entry : kPairMethodNames) add([&](JoinQuery& q) { q.min_count = 2, q.method = entry.method; });
  return all;
}

TEST(SpilledJoin, AnswersLikeAJoinInMemory) {
  int joined_in_files = 0;
  for (const int64_t spread : {1, 1000003}) {
    // Both sides large; one small; most b on one side only.
    const Input inputs[] = {{side(1, 2000, 150, 15000, spread), side(2, 2000, 90, 12000, spread), {}, {}},
                            {side(3, 3000, 20, 300, spread), side(4, 3000, 200, 20000, spread), {}, {}},
                            {side(5, 90000, 60, 20000, spread), side(6, 500, 60, 4000, spread), {}, {}}};
    for (const Input& input : inputs)
      for (const JoinQuery& query : queries())
        for (const size_t work_bytes : {size_t{64} << 10, size_t{150} << 10})
          ASSERT_EQ(compare(input, query, 2, work_bytes, joined_in_files), "") << spread << " " << work_bytes;
  }
  EXPECT_GT(joined_in_files, 50);
}

TEST(SpilledJoin, ItemRanksStandForItems) {
  Input input{side(7, 2000, 150, 15000, 1), side(8, 2000, 90, 12000, 1), {}, {}};
  for (std::vector<TidItem>* const rows : {&input.left, &input.right})
    for (TidItem& row : *rows) row.item += 70;  // 0 .. 149
  for (uint32_t i = 0; i < 150; ++i) {
    input.left_rank.push_back((i * 7 + 3) % 150);
    input.right_rank.push_back((i * 11 + 5) % 150);
  }
  int joined_in_files = 0;
  for (const JoinQuery& query : queries()) ASSERT_EQ(compare(input, query, 1, 64 << 10, joined_in_files), "");
}

TEST(SpilledJoin, OneBLargerThanAPartition) {
  Input input{side(9, 300, 50, 12000, 1), side(10, 300, 50, 12000, 1), {}, {}};
  for (int64_t item = 0; item < 9000; ++item) input.left.push_back({77, item});
  for (int64_t item = 0; item < 40; ++item) input.right.push_back({77, item});
  JoinQuery query;
  query.min_count = 2;
  int joined_in_files = 0;
  ASSERT_EQ(compare(input, query, 2, 64 << 10, joined_in_files), "");
}

TEST(SpilledJoin, PartitionsWithRareItemsOnly) {
  Input input;
  for (int64_t b = 0; b < 6000; ++b) input.left.push_back({b, b});
  for (int64_t k = 0; k < 18000; ++k) input.right.push_back({k / 3, k % 37});
  int joined_in_files = 0;
  for (const int64_t min_count : {1, 2}) {  // no left item has two rows
    JoinQuery query;
    query.min_count = min_count;
    ASSERT_EQ(compare(input, query, 2, 64 << 10, joined_in_files), "") << min_count;
  }
  EXPECT_EQ(joined_in_files, 2);
}

TEST(SpilledJoin, SaysThatRowsAreCounted) {
  const Input input{side(19, 2000, 60, 12000, 1), side(20, 2000, 60, 12000, 1), {}, {}};
  MemoryMeter meter;
  FakeFiles files;
  JoinQuery query;
  query.bag = true;
  query.method = PairMethod::kMerge;  // has no effect
  const RunRecord record =
      run(input, query, {.threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 64 << 10}).record;
  EXPECT_EQ(record.reason.rfind("rows repeat, so that rows are counted; rows in ", 0), 0u) << record.reason;
  EXPECT_EQ(record.method, pair_method_name(PairMethod::kHorizontal));
}

TEST(SpilledJoin, NothingInCommon) {
  Input input{side(11, 1000, 50, 12000, 2), side(12, 1000, 50, 12000, 2), {}, {}};
  for (TidItem& row : input.right) ++row.tid;
  int joined_in_files = 0;
  ASSERT_EQ(compare(input, {}, 2, 64 << 10, joined_in_files), "");
  input.right.clear();
  ASSERT_EQ(compare(input, {}, 2, 64 << 10, joined_in_files), "");
}

TEST(SpilledJoin, StaysNearItsWorkMemory) {
  const Input input{side(13, 100000, 1500, 600000, 1), side(14, 100000, 1500, 600000, 1), {}, {}};
  MemoryMeter meter;
  FakeFiles files;
  JoinQuery query;
  query.min_count = 3;
  const size_t work_bytes = size_t{4} << 20;
  const Answer answer =
      run(input, query, {.threads = 2, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes});
  EXPECT_TRUE(answer.in_files);
  EXPECT_LT(meter.peak(), 2 * work_bytes);
}

TEST(SpilledJoin, ClosesFilesThatHaveBeenRead) {
  const Input input{side(21, 100000, 500, 200000, 1), side(22, 100000, 500, 200000, 1), {}, {}};
  MemoryMeter meter;
  FakeFiles files;
  JoinQuery query;
  query.min_count = 1000;
  run(input, query, {.threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 128 << 10});
  // The partitions of both sides, the parts of a split one, and the joined relation: less than all
  // bytes that were written.
  EXPECT_LT(files.bytes(), files.regions_begun() * TempFiles::kRegionBytes * 2 / 3);
}

TEST(SpilledJoin, CanBeCancelledAtEveryPoll) {
  const Input input{side(15, 1000, 60, 9000, 1), side(16, 1000, 60, 9000, 1), {}, {}};
  int64_t polls = 0;
  for (bool cancelled = true; cancelled; polls = polls * 5 / 4 + 1) {
    MemoryMeter meter;
    FakeFiles files;
    Countdown countdown{polls};
    cancelled = false;
    try {
      run(input, {}, {2, &meter, countdown.token(), &files, 64 << 10});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kCancelled);
      cancelled = true;
    }
    ASSERT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(polls, 20);
}

TEST(SpilledJoin, AFileThatFailsEndsTheRun) {
  const Input input{side(17, 2000, 100, 20000, 1), side(18, 2000, 100, 20000, 1), {}, {}};
  int failures = 0;
  for (uint64_t room = 0;; room += 17011) {
    MemoryMeter meter;
    FakeFiles files(room);
    bool failed = false;
    try {
      run(input, {}, {.threads = 2, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 64 << 10});
    } catch (const FileFailed&) {
      failed = true;
    }
    ASSERT_EQ(meter.current(), 0u);
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 5);
}

}  // namespace
}  // namespace batmap::test
