// Answers for each row of a list of pairs against loops over sets: the shapes of relations, lists with unknown items, equal
// items and pairs that repeat. Then rows in files against rows in memory, too little memory, and cancellation.
#include "pairs/listed_answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_accelerator_test.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

std::vector<TidItem> list_for_answers(Random& random, const std::vector<TidItem>& rows, uint64_t pairs) {
  std::vector<TidItem> list;
  const auto item = [&] {
    return rows.empty() || random.chance(10) ? random.signed_below(1000) - 500 : rows[random.below(rows.size())].item;
  };
  for (uint64_t k = 0; k < pairs; ++k) {
    TidItem pair{item(), item()};
    if (random.chance(10)) pair.item = pair.tid;
    if (!list.empty() && random.chance(20)) pair = list[random.below(list.size())];
    list.push_back(pair);
  }
  return list;
}

std::vector<PairRow> all_listed_answers(const std::vector<TidItem>& list, const std::vector<TidItem>& rows, bool supports,
                                        const ExecutionOptions& options, uint64_t* total = nullptr, uint64_t pieces = 0,
                                        const DeviceUse& device = {}, RunRecord* record = nullptr) {
  const PackedRows listed(list);
  std::vector<PairRow> found;
  std::optional<ListedAnswers> answers;
  if (options.files != nullptr) {
    const RowLog log = log_of(rows, options);
    if (log.partitions() == nullptr) throw std::logic_error("the rows are in memory");
    answers.emplace(listed.chunks(), listed.chunks(), *log.partitions(), supports, device, options);
  } else {
    const PackedRows relation(rows, pieces);
    answers.emplace(listed.chunks(), listed.chunks(), relation.chunks(), supports, device, options);
  }
  if (total != nullptr) *total = answers->record().transactions;
  PairBatch batch;
  while (answers->next(batch)) found.insert(found.end(), batch.begin(), batch.end());
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(answers->next(batch));
  EXPECT_EQ(answers->record().results, list.size());
  if (record != nullptr) *record = answers->record();
  return found;
}

TEST(ListedAnswersTest, AnswerEachRowOfTheListInItsOrder) {
  Random random(kSeed);
  uint64_t both = 0;
  for (const Shape& shape : shapes(kSeed)) {
    SCOPED_TRACE(shape.name + ", seed " + std::to_string(kSeed));
    const std::vector<TidItem> list = list_for_answers(random, shape.rows, 5000);
    std::map<int64_t, std::set<int64_t>> tids;
    std::set<int64_t> all_tids;
    for (const TidItem& row : shape.rows) {
      tids[row.item].insert(row.tid);
      all_tids.insert(row.tid);
    }
    for (const bool supports : {false, true}) {
      MemoryMeter meter;
      uint64_t total = 0;
      const std::vector<PairRow> found =
          all_listed_answers(list, shape.rows, supports, {.threads = 2, .memory = &meter, .cancel = {}}, &total);
      ASSERT_EQ(found.size(), list.size());
      if (supports) {
        EXPECT_EQ(total, all_tids.size());
      }
      for (size_t k = 0; k < list.size(); ++k) {
        const std::set<int64_t>& a = tids[list[k].tid];
        const std::set<int64_t>& b = tids[list[k].item];
        std::vector<int64_t> common;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
        ASSERT_EQ(found[k].item_a, list[k].tid);
        ASSERT_EQ(found[k].item_b, list[k].item);
        ASSERT_EQ(found[k].support, common.size()) << list[k].tid << ", " << list[k].item;
        ASSERT_EQ(found[k].support_a, supports ? a.size() : 0);
        ASSERT_EQ(found[k].support_b, supports ? b.size() : 0);
        both += common.size();
      }
      EXPECT_EQ(meter.current(), 0u);
    }
  }
  EXPECT_GT(both, 10000u);
}

class ListedAnswersOnDevices : public FakeAcceleratorTest {};

TEST_F(ListedAnswersOnDevices, AnswerAsTheCpuDoes) {
  using Fake = FakeAccelerator;
  Random random(kSeed + 2);
  const std::vector<TidItem> rows = random_rows(random, 5000, 300, 80);
  const std::vector<TidItem> list = list_for_answers(random, rows, 5000);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
  const auto expected = all_listed_answers(list, rows, true, options);
  const auto expect_same = [&](const std::vector<PairRow>& found) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t k = 0; k < list.size(); ++k) {
      ASSERT_EQ(found[k].support, expected[k].support) << list[k].tid << ", " << list[k].item;
      ASSERT_EQ(found[k].support_a, expected[k].support_a);
      ASSERT_EQ(found[k].support_b, expected[k].support_b);
    }
  };
  DeviceUse device{.offload = &offload_, .mode = DeviceMode::kRequire, .only = {}, .memory_limit = 0};
  RunRecord record;
  expect_same(all_listed_answers(list, rows, true, options, nullptr, 0, device, &record));
  EXPECT_EQ(record.device, "cuda:0 fake");
  EXPECT_EQ(record.method, "bitmap") << record.reason;
  EXPECT_GT(Fake::state().calls[Fake::kCountList], 0);
  EXPECT_TRUE(all_listed_answers({}, rows, true, options, nullptr, 0, device).empty());

  Fake::state().rates.launch_ms = 1000;
  device.mode = DeviceMode::kAuto;
  expect_same(all_listed_answers(list, rows, true, options, nullptr, 0, device, &record));
  EXPECT_EQ(record.device, "cpu") << record.reason;
  Fake::state().rates.launch_ms = 0;
  for (const Fake::Call call : {Fake::kPrepare, Fake::kOpen, Fake::kAddRows, Fake::kBuild, Fake::kCountList}) {
    Fake::state().reset();
    Fake::state().answer[call] = AcceleratorStatus::kFailed;
    Offload offload([](std::string&) { return Fake::api(); });
    device = {.offload = &offload, .mode = DeviceMode::kCuda, .only = {}, .memory_limit = 0};
    expect_same(all_listed_answers(list, rows, true, options, nullptr, 0, device, &record));
    EXPECT_EQ(record.device, "cpu");
    EXPECT_EQ(record.method, "marking");
    EXPECT_NE(record.notice, "");
  }
}

TEST_F(ListedAnswersOnDevices, AreCountedFromListsWhereTransactionsAreMany) {
  Random random(kSeed + 6);
  const std::vector<TidItem> rows = random_rows(random, 60'000, 50'000, 80);
  const std::vector<TidItem> list = list_for_answers(random, rows, 5000);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
  const DeviceUse device{.offload = &offload_, .mode = DeviceMode::kRequire, .only = {}, .memory_limit = 0};
  RunRecord record;
  const auto expected = all_listed_answers(list, rows, true, options);
  const auto found = all_listed_answers(list, rows, true, options, nullptr, 0, device, &record);
  EXPECT_EQ(record.method, "lists") << record.reason;
  ASSERT_EQ(found.size(), expected.size());
  for (size_t k = 0; k < list.size(); ++k)
    ASSERT_EQ(found[k].support, expected[k].support) << list[k].tid << ", " << list[k].item;
}

TEST_F(ListedAnswersOnDevices, DoNotCountRowsInFiles) {
  Random random(kSeed + 5);
  const std::vector<TidItem> rows = random_rows(random, 9000, 300, 80);
  const std::vector<TidItem> list = list_for_answers(random, rows, 100);
  MemoryMeter meter;
  FakeFiles files;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 1 << 10};
  DeviceUse device{.offload = &offload_, .mode = DeviceMode::kCuda, .only = {}, .memory_limit = 0};
  RunRecord record;
  EXPECT_EQ(all_listed_answers(list, rows, true, options, nullptr, 0, device, &record).size(), list.size());
  EXPECT_EQ(record.device, "cpu");
  device.mode = DeviceMode::kRequire;
  EXPECT_THROW(all_listed_answers(list, rows, true, options, nullptr, 0, device), Error);
}

TEST(ListedAnswersTest, CanFailAnywhere) {
  Random random(kSeed + 1);
  std::vector<TidItem> rows = random_rows(random, 20000, 3000, 300);
  for (TidItem& row : rows) row = {scattered_key(row.tid), scattered_key(row.item)};
  const std::vector<TidItem> list = list_for_answers(random, rows, 20000);
  MemoryMeter unlimited;
  const auto expected = all_listed_answers(list, rows, true, {.threads = 2, .memory = &unlimited, .cancel = {}});
  const auto check = [&](const ExecutionOptions& options) {
    EXPECT_EQ(all_listed_answers(list, rows, true, options).size(), expected.size());
  };
  run_out_of_memory_everywhere(2, 65536, 5, check);
  cancel_everywhere(2, 10, check);
}

// Parts of a few transactions, in which most items of the list have no rows; and rows that repeat.
TEST(ListedAnswersTest, RowsInFilesGiveTheSameAnswers) {
  Random random(kSeed + 3);
  uint64_t both = 0;
  for (int round = 0; round < 30; ++round) {
    std::vector<TidItem> rows = random_rows(random, 9000 + random.below(9000), 2000, 20 + random.below(300));
    for (size_t k = random.below(500); k > 0; --k) rows.push_back(rows[random.below(rows.size())]);
    for (TidItem& row : rows) {
      if (round % 2 == 0) row.tid = scattered_key(row.tid);
      if (round % 3 == 0) row.item = scattered_key(row.item);
    }
    const std::vector<TidItem> list = list_for_answers(random, rows, round == 7 ? 0 : random.below(6000));
    for (const bool supports : {false, true}) {
      SCOPED_TRACE("round " + std::to_string(round) + ", seed " + std::to_string(kSeed));
      MemoryMeter meter;
      RunRecord in_memory;
      uint64_t total = 0;
      const std::vector<PairRow> expected = all_listed_answers(
          list, rows, supports, {.threads = 2, .memory = &meter, .cancel = {}}, &total, 0, {}, &in_memory);
      FakeFiles files;
      RunRecord in_files;
      uint64_t total_in_files = 0;
      const ExecutionOptions options{2, &meter, {}, &files, static_cast<size_t>(round % 4 == 0 ? 4 << 10 : 64 << 10)};
      const std::vector<PairRow> found =
          all_listed_answers(list, rows, supports, options, &total_in_files, 0, {}, &in_files);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t k = 0; k < found.size(); ++k) {
        ASSERT_EQ(found[k].item_a, expected[k].item_a);
        ASSERT_EQ(found[k].item_b, expected[k].item_b);
        ASSERT_EQ(found[k].support, expected[k].support) << list[k].tid << ", " << list[k].item;
        ASSERT_EQ(found[k].support_a, expected[k].support_a);
        ASSERT_EQ(found[k].support_b, expected[k].support_b);
        both += found[k].support;
      }
      if (supports && !list.empty()) {
        EXPECT_EQ(total_in_files, total);
      }
      EXPECT_EQ(in_files.items, in_memory.items);
      if (supports) {
        EXPECT_EQ(in_files.items_kept, in_memory.items_kept);
      }
      EXPECT_EQ(in_files.occurrences, in_memory.occurrences);
      EXPECT_EQ(in_files.results, in_memory.results);
      EXPECT_GT(in_files.file_bytes, 0u);
      EXPECT_EQ(meter.current(), 0u);
    }
  }
  EXPECT_GT(both, 10000u);
}

TEST(ListedAnswersTest, RowsInFilesCanFailAnywhere) {
  Random random(kSeed + 4);
  const std::vector<TidItem> rows = random_rows(random, 20000, 3000, 300);
  const std::vector<TidItem> list = list_for_answers(random, rows, 2000);
  const auto run_with = [&](const ExecutionOptions& given, uint64_t room) {
    FakeFiles files(room);
    ExecutionOptions options = given;
    options.files = &files;
    options.work_bytes = 128 << 10;
    EXPECT_EQ(all_listed_answers(list, rows, true, options).size(), list.size());
  };
  run_out_of_memory_everywhere(2, 65536, 5, [&](const ExecutionOptions& options) { run_with(options, UINT64_MAX); });
  cancel_everywhere(2, 20, [&](const ExecutionOptions& options) { run_with(options, UINT64_MAX); });
  MemoryMeter meter;
  EXPECT_THROW(run_with({.threads = 2, .memory = &meter, .cancel = {}}, 10'000), FileFailed);
  EXPECT_EQ(meter.current(), 0u);
}

// The memory of a run is that of a part and of the list, not that of the rows.
TEST(ListedAnswersTest, MillionsOfRowsInFilesNeedLittleMemory) {
  std::vector<TidItem> list;
  for (int64_t item = 0; item < 500; ++item) list.push_back({item, (item + 1) % 500});
  const PackedRows listed(list);
  MemoryMeter meter;
  FakeFiles files;
  const ExecutionOptions options{1, &meter, {}, &files, 1 << 20};
  std::optional<ListedAnswers> answers;
  {
    RowLog log(options);
    for (int64_t tid = 0; tid < 400'000; ++tid)
      for (int64_t k = 0; k < 10; ++k) log.append(tid, (tid + k) % 500);
    log.seal();
    ASSERT_NE(log.partitions(), nullptr);
    answers.emplace(listed.chunks(), listed.chunks(), *log.partitions(), true, DeviceUse{}, options);
  }
  EXPECT_EQ(answers->record().transactions, 400'000u);
  PairBatch batch;
  uint64_t rows = 0;
  while (answers->next(batch)) {
    for (const PairRow& row : batch) {
      ASSERT_EQ(row.support, 7200u);  // 9 of the 10 tids in 500 that have an item have the next one, too
      ASSERT_EQ(row.support_a, 8000u);
      ASSERT_EQ(row.support_b, 8000u);
      ++rows;
    }
  }
  EXPECT_EQ(rows, 500u);
  EXPECT_LT(meter.peak(), size_t{6} << 20);
}

}  // namespace
}  // namespace batmap::test
