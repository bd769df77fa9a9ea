// Runs over rows in files, against the same runs in memory. Work memory is so small that partitions are split
// again and counts go to files, too. Then failing files, and cancellation.
#include "pairs/spilled_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/unit/shared/countdown.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Answer {
  std::vector<PairRow> rows;
  RunRecord record;
};

Answer run(const std::vector<TidItem>& rows, std::span<const uint32_t> item_rank, const PairQuery& query,
           const ExecutionOptions& options, bool must_spill) {
  RowLog log(options);
  for (const TidItem& row : rows) log.append(row.tid, row.item);
  log.seal();
  EXPECT_EQ(log.partitions() != nullptr, must_spill);
  EXPECT_EQ(log.rows(), rows.size());
  PairRun pairs(log, item_rank, query, options);
  Answer answer;
  PairBatch batch;
  while (pairs.next(batch)) answer.rows.insert(answer.rows.end(), batch.begin(), batch.end());
  answer.record = pairs.record();
  return answer;
}

std::string compare(const std::vector<TidItem>& rows, std::span<const uint32_t> item_rank, const PairQuery& query,
                    int threads, size_t work_bytes) {
  MemoryMeter meter;
  const Answer expected = run(rows, item_rank, query, {.threads = threads, .memory = &meter, .cancel = {}}, false);
  FakeFiles files;
  const Answer found =
      run(rows, item_rank, query,
          {.threads = threads, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes}, true);
  EXPECT_EQ(meter.current(), 0u);
  EXPECT_GT(files.bytes(), 0u);
  std::string wrong = difference(found.rows, expected.rows);
  const auto same = [&](const char* name, uint64_t is, uint64_t should) {
    if (is != should) wrong += std::string("; ") + name + " " + std::to_string(is) + ", not " + std::to_string(should);
  };
  same("results", found.record.results, expected.record.results);
  same("truncated", found.record.truncated(), expected.record.truncated());
  same("transactions", found.record.transactions, expected.record.transactions);
  same("items", found.record.items, expected.record.items);
  same("items_kept", found.record.items_kept, expected.record.items_kept);
  same("occurrences", found.record.occurrences, expected.record.occurrences);
  if (!query.include) same("pair_instances", found.record.pair_instances, expected.record.pair_instances);
  return wrong;
}

/// `tids` transactions; some rows repeat; items and tids lie in a range of `spread` times their number.
std::vector<TidItem> relation(uint64_t seed, uint64_t tids, uint64_t items, uint64_t rows, int64_t spread) {
  Random random(seed);
  std::vector<TidItem> all;
  while (all.size() < rows) {
    const uint64_t item = std::min(random.below(items), random.below(items));
    all.push_back({random.signed_below(tids) * spread - 5, static_cast<int64_t>(item) * spread * spread - 70});
    if (random.chance(3)) all.push_back(all.back());
  }
  return all;
}

std::vector<PairQuery> queries(const std::vector<TidItem>& rows) {
  std::vector<PairQuery> all;
  const auto add = [&](auto fill) {
    PairQuery query;
    fill(query);
    all.push_back(query);
  };
  add([](PairQuery& q) { q.min_count = 1; });
  add([](PairQuery& q) { q.min_count = 3; });
  add([](PairQuery& q) { q.min_support = 0.01; });
  add([](PairQuery& q) { q.min_count = 1000000; });
  add([](PairQuery& q) { q.top_k = 100; });
  add([](PairQuery& q) { q.per_item_top_k = 2; });
  add([](PairQuery& q) { q.top_k = 50, q.measure = PairMeasure::kJaccard; });
  add([](PairQuery& q) { q.min_count = 1, q.min_jaccard = 0.1; });
  add([](PairQuery& q) { q.min_count = 1, q.max_results = 77; });
  add([&](PairQuery& q) { q.min_count = 1, q.include = {rows[0].item, rows[9].item, 987654321}; });
  add([&](PairQuery& q) { q.min_count = 2, q.exclude = {rows[0].item, rows[9].item, rows[20].item}; });
  for (const PairMethodName& entry : kPairMethodNames) add([&](PairQuery& q) { q.min_count = 2, q.method = entry.method; });
  return all;
}

TEST(SpilledPairs, AnswersLikeARunInMemory) {
  for (const int64_t spread : {1, 1000003}) {
    for (const size_t work_bytes : {size_t{96} << 10, size_t{400} << 10}) {
      const std::vector<TidItem> rows = relation(7, 2000, 200, 20000, spread);
      for (const PairQuery& query : queries(rows))
        for (const int threads : {1, 3})
          ASSERT_EQ(compare(rows, {}, query, threads, work_bytes), "") << spread << " " << work_bytes << " " << threads;
    }
  }
}

TEST(SpilledPairs, ItemRanksStandForItems) {
  std::vector<TidItem> rows = relation(8, 1000, 500, 20000, 1);
  for (TidItem& row : rows) row.item += 70;  // 0 .. 499
  std::vector<uint32_t> rank(500);
  for (uint32_t i = 0; i < 500; ++i) rank[i] = (i * 7 + 3) % 500;
  for (PairQuery& query : queries(rows)) {
    if (query.include) query.include = {3, 99};
    if (query.exclude) query.exclude = {3, 99};
    ASSERT_EQ(compare(rows, rank, query, 2, 64 << 10), "");
  }
}

TEST(SpilledPairs, OneTransactionLargerThanAPartition) {
  std::vector<TidItem> rows = relation(9, 300, 50, 3000, 1);
  for (int64_t item = 0; item < 20000; ++item) rows.push_back({77, item});
  PairQuery query;
  query.min_count = 5;
  ASSERT_EQ(compare(rows, {}, query, 2, 64 << 10), "");
}

TEST(SpilledPairs, OneItemInAllTransactions) {
  std::vector<TidItem> rows = relation(10, 20000, 8000, 25000, 1);
  for (int64_t tid = 0; tid < 20000; ++tid) rows.push_back({tid, -1});
  PairQuery query;
  query.min_count = 4;
  ASSERT_EQ(compare(rows, {}, query, 2, 512 << 10), "");
}

TEST(SpilledPairs, ChunksFollowIntoFiles) {
  const std::vector<TidItem> rows = relation(11, 3000, 300, 60000, 1);
  MemoryMeter meter;
  FakeFiles files;
  const ExecutionOptions options{1, &meter, {}, &files, 64 << 10};
  RowLog packed(meter);
  for (const TidItem& row : rows) packed.append(row.tid, row.item);
  packed.seal();
  RowLog log(options);
  for (const ChunkView& chunk : packed.chunks()) log.append_chunk(chunk.tids - kChunkHeaderBytes, chunk.bytes);
  log.seal();
  ASSERT_NE(log.partitions(), nullptr);
  EXPECT_EQ(log.partitions()->rows(), rows.size());
  PairQuery query;
  query.min_count = 3;
  PairRun spilled(log, {}, query, options);
  PairRun in_memory(packed.chunks(), {}, query, options);
  std::vector<PairRow> found, expected;
  PairBatch batch;
  while (spilled.next(batch)) found.insert(found.end(), batch.begin(), batch.end());
  while (in_memory.next(batch)) expected.insert(expected.end(), batch.begin(), batch.end());
  EXPECT_EQ(difference(found, expected), "");
}

TEST(SpilledPairs, StaysNearItsWorkMemory) {
  const std::vector<TidItem> rows = relation(12, 100000, 1500, 1000000, 1);
  MemoryMeter meter;
  FakeFiles files;
  PairQuery query;
  query.min_count = 20;
  const size_t work_bytes = size_t{4} << 20;
  run(rows, {}, query, {.threads = 2, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes}, true);
  EXPECT_LT(meter.peak(), 2 * work_bytes);
}

TEST(SpilledPairs, RowsThatRepeatMultiply) {
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < 3000; ++tid)
    for (int64_t item = 0; item < 20; ++item) rows.push_back({tid, tid % 7 * 20 + item});
  PairQuery query;
  query.min_count = 400;
  query.bag = true;
  query.diagonal = true;
  ASSERT_EQ(compare(rows, {}, query, 2, 64 << 10), "");  // no row repeats
  Random random(16);
  for (int k = 0; k < 20000; ++k) rows.push_back(rows[random.below(60000)]);
  for (int k = 0; k < 70000; ++k) rows.push_back(rows[k % 2]);  // counts above 2^32
  for (const int64_t min_count : {int64_t{1}, int64_t{600}, int64_t{1} << 30, int64_t{1} << 33}) {
    query.min_count = min_count;
    for (const size_t work_bytes : {size_t{64} << 10, size_t{1} << 20})
      ASSERT_EQ(compare(rows, {}, query, 2, work_bytes), "") << min_count << " " << work_bytes;
  }
}

TEST(SpilledPairs, TiesOfTheBestAreAmongTheAnswers) {
  const std::vector<TidItem> rows = relation(15, 2000, 200, 20000, 1);
  PairQuery query;
  query.top_k = 10;
  MemoryMeter meter;
  FakeFiles files;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 96 << 10};
  const Answer best = run(rows, {}, query, options, true);
  query.ties = true;
  const Answer ties = run(rows, {}, query, options, true);
  for (const PairRow& row : best.rows)
    EXPECT_TRUE(std::ranges::any_of(ties.rows, [&](const PairRow& other) {
      return std::tuple(other.item_a, other.item_b, other.support) == std::tuple(row.item_a, row.item_b, row.support);
    }));
}

// Counters of 4 bytes for 60 * 59 / 2 pairs take 7 kB, and may take a quarter of the work memory.
TEST(SpilledPairs, CountsOfPartsAreInFilesIfCountersAreTooLarge) {
  const std::vector<TidItem> rows = relation(17, 4000, 60, 40000, 1);
  PairQuery query;
  query.min_count = 1;
  for (const bool bag : {false, true})
    for (const size_t work_bytes : {size_t{20} << 10, size_t{70} << 10}) {
      query.bag = bag;
      MemoryMeter meter;
      FakeFiles files;
      const ExecutionOptions options{
          .threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes};
      const std::string reason = run(rows, {}, query, options, true).record.reason;
      EXPECT_EQ(reason.find("their counts in") != std::string::npos, work_bytes == 20 << 10) << reason;
      for (const int threads : {1, 3}) ASSERT_EQ(compare(rows, {}, query, threads, work_bytes), "");
    }
}

TEST(SpilledPairs, CountsAllBeforeTheFirstAnswer) {
  const std::vector<TidItem> rows = relation(18, 2000, 400, 20000, 1);
  for (PairQuery& query : queries(rows)) {
    for (const size_t work_bytes : {size_t{128} << 10, size_t{64} << 20}) {
      MemoryMeter meter;
      FakeFiles files;
      const ExecutionOptions options{
          .threads = 2, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = work_bytes};
      std::optional<RowLog> log(options);
      for (const TidItem& row : rows) log->append(row.tid, row.item);
      log->seal();
      query.supports = false;  // they are not kept in files
      PairRun streamed(*log, {}, query, options);
      PairRun counted(*log, {}, query, options);
      EXPECT_TRUE(work_bytes > size_t{1} << 20 || counted.may_run_out());
      std::vector<PairRow> expected, found;
      PairBatch batch;
      while (streamed.next(batch)) expected.insert(expected.end(), batch.begin(), batch.end());
      const size_t streamed_bytes = meter.current();
      counted.count_all();
      EXPECT_LE(meter.current(), streamed_bytes);  // the memory of counting has been freed
      while (counted.next(batch)) found.insert(found.end(), batch.begin(), batch.end());
      ASSERT_EQ(difference(found, expected), "");
      EXPECT_EQ(counted.record().results, streamed.record().results);
    }
  }
}

TEST(SpilledPairs, AFileThatFailsEndsTheRun) {
  const std::vector<TidItem> rows = relation(13, 3000, 300, 60000, 1);
  PairQuery query;
  query.min_count = 1;
  int failures = 0;
  for (uint64_t room = 0;; room += 40009) {
    MemoryMeter meter;
    FakeFiles files(room);
    bool failed = false;
    try {
      run(rows, {}, query, {.threads = 2, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 64 << 10}, true);
    } catch (const FileFailed&) {
      failed = true;
    }
    ASSERT_EQ(meter.current(), 0u);
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 5);
}

TEST(SpilledPairs, CanBeCancelledAtEveryPoll) {
  const std::vector<TidItem> rows = relation(14, 1000, 100, 20000, 1);
  PairQuery query;
  query.min_count = 1;
  int64_t polls = 0;
  for (bool cancelled = true; cancelled; polls = polls * 5 / 4 + 1) {
    MemoryMeter meter;
    FakeFiles files;
    Countdown countdown{polls};
    const ExecutionOptions options{2, &meter, countdown.token(), &files, 64 << 10};
    cancelled = false;
    try {
      run(rows, {}, query, options, true);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kCancelled);
      cancelled = true;
    }
    ASSERT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(polls, 20);
}

}  // namespace
}  // namespace batmap::test
