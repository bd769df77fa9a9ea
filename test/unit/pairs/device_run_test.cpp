// Runs of pair support and join-project on a fake accelerator. The answers and their order are those of the
// CPU, whatever the accelerator answers and whenever it fails. The user is told, the accelerator is not asked
// again after an error, and no job stays open.
#include <gtest/gtest.h>

#include "pairs/join_run.h"
#include "pairs/pair_run.h"
#include "test/unit/shared/fake_accelerator_test.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Fake = FakeAccelerator;

using DeviceRun = FakeAcceleratorTest;

struct Found {
  std::vector<PairRow> rows;
  RunRecord record;
};

std::vector<TidItem> relation(int64_t tids, int64_t items, uint64_t percent) {
  Random random(42);
  std::vector<TidItem> rows = random_grid(random, tids, items, percent);
  for (size_t i = 0; i < rows.size(); i += 5) rows.push_back(rows[i]);  // duplicates
  random.shuffle(rows);
  return rows;
}

template <typename Run>
Found drain(Run& run) {
  Found found;
  PairBatch batch;
  while (run.next(batch)) found.rows.insert(found.rows.end(), batch.begin(), batch.end());
  found.record = run.record();
  return found;
}

Found count(const std::vector<TidItem>& rows, PairQuery query, Offload* offload, DeviceMode mode, int threads = 1) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
  const RowLog log = log_of(rows, options);
  query.device.offload = offload;
  query.device.mode = mode;
  PairRun run(log, {}, query, options);
  return drain(run);
}

void expect_same(const Found& found, const Found& expected) {
  EXPECT_EQ(difference(found.rows, expected.rows), "");
  EXPECT_EQ(found.record.results, expected.record.results);
  EXPECT_EQ(found.record.items_kept, expected.record.items_kept);
  EXPECT_EQ(found.record.pair_instances, expected.record.pair_instances);
  EXPECT_EQ(found.record.truncated(), expected.record.truncated());
}

std::vector<PairQuery> queries() {
  std::vector<PairQuery> all(7);
  all[0].min_count = 1;
  all[1].min_count = 20;
  all[2].top_k = 25;
  all[3].per_item_top_k = 2;
  all[4].min_count = 3, all[4].max_results = 100;
  all[5].min_support = 0.05, all[5].include = {{1, 5, 300}};
  all[6].min_count = 1, all[6].left_items = 100;
  return all;
}

TEST_F(DeviceRun, AnswersAsTheCpu) {
  const std::vector<TidItem> rows = relation(90, 400, 10);
  for (const PairQuery& query : queries()) {
    const Found expected = count(rows, query, nullptr, DeviceMode::kAuto);
    for (const DeviceMode mode : {DeviceMode::kCuda, DeviceMode::kRequire, DeviceMode::kAuto})
      for (const uint32_t devices : {1u, 3u})
        for (const int threads : {1, 4}) {
          Fake::state().device_count = devices;
          const Found found = count(rows, query, &offload_, mode, threads);
          expect_same(found, expected);
          EXPECT_EQ(found.record.device, devices == 1 ? "cuda:0 fake" : "cuda:0 fake, cuda:1 fake, cuda:2 fake");
          EXPECT_EQ(found.record.notice, "");
        }
    expect_same(count(rows, query, &offload_, DeviceMode::kCpu), expected);
  }
}

// Bit rows are chosen before the pair instances are known.
TEST_F(DeviceRun, BitRowsAsTheCpu) {
  const std::vector<TidItem> rows = relation(90, 400, 10);
  Fake::state().rates.grouped_rows = 1e-3;
  for (const PairQuery& query : queries()) {
    const Found expected = count(rows, query, nullptr, DeviceMode::kAuto);
    for (int run = 0; run < 2; ++run) {  // the first one loads the module
      const Found found = count(rows, query, &offload_, DeviceMode::kCuda, 4);
      expect_same(found, expected);
      EXPECT_EQ(found.record.method, "bitmap");
      EXPECT_EQ(found.record.device, "cuda:0 fake");
    }
  }
}

TEST_F(DeviceRun, NamedDevicesAndMethods) {
  const std::vector<TidItem> rows = relation(50, 60, 20);
  PairQuery query;
  query.min_count = 1;
  Fake::state().device_count = 3;
  query.device.only = {2};
  EXPECT_EQ(count(rows, query, &offload_, DeviceMode::kCuda).record.device, "cuda:2 fake");
  query.device.only = {7};
  EXPECT_EQ(count(rows, query, &offload_, DeviceMode::kCuda).record.device, "cpu");
  EXPECT_THROW(count(rows, query, &offload_, DeviceMode::kRequire), Error);
  query.device.only = {};
  query.method = PairMethod::kHorizontal;
  EXPECT_EQ(count(rows, query, &offload_, DeviceMode::kCuda).record.method, "horizontal");
  query.method = PairMethod::kMerge;
  EXPECT_EQ(count(rows, query, &offload_, DeviceMode::kCuda).record.device, "cpu");
  EXPECT_THROW(count(rows, query, &offload_, DeviceMode::kRequire), Error);
}

TEST_F(DeviceRun, EveryCallMayFail) {
  const std::vector<TidItem> rows = relation(90, 400, 10);
  for (const PairQuery& query : queries()) {
    const Found expected = count(rows, query, nullptr, DeviceMode::kAuto);
    for (const AcceleratorStatus status : {AcceleratorStatus::kDeclined, AcceleratorStatus::kNoDevice,
                                           AcceleratorStatus::kOutOfMemory, AcceleratorStatus::kFailed})
      for (int call = 0; call < Fake::kPairCalls; ++call) {
        if (call == Fake::kAddSets || call == Fake::kAddPlanes) continue;
        Fake::state().reset();
        Fake::state().answer[call] = status;
        Offload offload([](std::string&) { return Fake::api(); });
        const Found found = count(rows, query, &offload, DeviceMode::kCuda, 2);
        expect_same(found, expected);
        EXPECT_EQ(found.record.device, "cpu");
        const bool is_error = status == AcceleratorStatus::kFailed && call != Fake::kDevices;
        EXPECT_EQ(found.record.notice.empty(), !is_error) << found.record.notice;
        EXPECT_EQ(Fake::state().open, 0);
        // Later runs trust it again, unless the device is broken.
        Fake::state().reset();
        const bool is_lost =
            call == Fake::kDevices || status == AcceleratorStatus::kFailed || status == AcceleratorStatus::kNoDevice;
        EXPECT_EQ(count(rows, query, &offload, DeviceMode::kCuda).record.device, is_lost ? "cpu" : "cuda:0 fake");
        if (is_lost) {
          EXPECT_NE(offload.why_not(), "");
        }
        Fake::state().answer[call] = status;
        Offload another([](std::string&) { return Fake::api(); });
        EXPECT_THROW(count(rows, query, &another, DeviceMode::kRequire), Error);
      }
  }
}

TEST_F(DeviceRun, FailsInTheMiddle) {
  // Enough pairs of items for several tasks.
  std::vector<TidItem> rows;
  Random random(3);
  for (int64_t tid = 0; tid < 30; ++tid)
    for (int k = 0; k < 300; ++k) rows.push_back({tid, random.signed_below(12000)});
  PairQuery query;
  query.min_count = 1;
  const Found expected = count(rows, query, nullptr, DeviceMode::kAuto);
  ASSERT_GT(expected.rows.size(), 10000u);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const RowLog log = log_of(rows, options);
  for (const AcceleratorStatus status : {AcceleratorStatus::kFailed, AcceleratorStatus::kOutOfMemory}) {
    // Threads decide whether the first task's answers are handed over before the last task fails. Repeat until they were.
    bool handed_over = false;
    for (int run_number = 0; run_number < 20 && !handed_over; ++run_number) {
      Fake::state().reset();
      Fake::state().answer[Fake::kCountRows] = status;
      Fake::state().after[Fake::kCountRows] = 2;
      Fake::state().delay_ms = 20;
      Offload offload([](std::string&) { return Fake::api(); });
      query.device.offload = &offload;
      query.device.mode = DeviceMode::kCuda;
      PairRun run(log, {}, query, options);
      EXPECT_TRUE(run.needs_rows());
      Found found;
      PairBatch batch;
      while (run.next(batch)) {
        found.rows.insert(found.rows.end(), batch.begin(), batch.end());
        handed_over |= run.record().device != "cpu" && !found.rows.empty();
      }
      found.record = run.record();
      expect_same(found, expected);
      EXPECT_EQ(found.record.device, "cpu");
      EXPECT_FALSE(run.needs_rows());
    }
    EXPECT_TRUE(handed_over);
  }
}

TEST_F(DeviceRun, NoModule) {
  const std::vector<TidItem> rows = relation(20, 20, 20);
  PairQuery query;
  query.min_count = 1;
  int loads = 0;
  Offload none([&](std::string& why) -> const AcceleratorApi* {
    ++loads;
    why = "no such file";
    return nullptr;
  });
  EXPECT_EQ(count(rows, query, &none, DeviceMode::kAuto).record.device, "cpu");
  EXPECT_EQ(count(rows, query, &none, DeviceMode::kCuda).record.notice, "");
  try {
    count(rows, query, &none, DeviceMode::kRequire);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNoDevice);
    EXPECT_NE(std::string(error.what()).find("no such file"), std::string::npos) << error.what();
  }
  EXPECT_EQ(loads, 1);
}

TEST_F(DeviceRun, RequireRefusesWhatNoDeviceDoes) {
  const std::vector<TidItem> rows = relation(20, 20, 40);  // with repeated rows
  PairQuery query;
  query.min_count = 1;
  query.bag = true;
  EXPECT_THROW(count(rows, query, &offload_, DeviceMode::kRequire), Error);
  EXPECT_EQ(count(rows, query, &offload_, DeviceMode::kCuda).record.device, "cpu");
}

TEST_F(DeviceRun, CancelReachesAStallingDevice) {
  const std::vector<TidItem> rows = relation(50, 60, 20);
  MemoryMeter meter;
  const RowLog log = log_of(rows, {.threads = 1, .memory = &meter, .cancel = {}});
  PairQuery query;
  query.min_count = 1;
  query.device.offload = &offload_;
  query.device.mode = DeviceMode::kCuda;
  expect_cancelled([&](const CancelToken& cancel) {
    PairRun run(log, {}, query, {.threads = 1, .memory = &meter, .cancel = cancel});
    PairBatch batch;
    while (run.next(batch)) {
    }
  });
}

TEST_F(DeviceRun, Joins) {
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const std::vector<TidItem> left = relation(60, 150, 10);
  const std::vector<TidItem> right = relation(60, 300, 5);
  const auto join = [&](Offload* offload, AcceleratorStatus status) {
    Fake::state().reset();
    Fake::state().answer[Fake::kCountRows] = status;
    RowLog logs[] = {RowLog(meter), RowLog(meter)};
    for (const TidItem& row : left) logs[0].append(row.tid, row.item);
    for (const TidItem& row : right) logs[1].append(row.tid, row.item);
    for (RowLog& log : logs) log.seal();
    JoinQuery query;
    query.min_count = 2;
    query.device.offload = offload;
    query.device.mode = DeviceMode::kCuda;
    JoinRun run(join_relations({logs[0].chunks(), {}}, {logs[1].chunks(), {}}, options), query, options);
    return drain(run);
  };
  const Found expected = join(nullptr, AcceleratorStatus::kOk);
  const Found found = join(&offload_, AcceleratorStatus::kOk);
  expect_same(found, expected);
  EXPECT_EQ(found.record.device, "cuda:0 fake");
  const Found failed = join(&offload_, AcceleratorStatus::kFailed);
  expect_same(failed, expected);
  EXPECT_NE(failed.record.notice, "");
}

}  // namespace
}  // namespace batmap::test
