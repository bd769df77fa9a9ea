// Itemset runs on a fake accelerator. For every algorithm the answers and their order are those of the CPU, whatever the
// accelerator answers, whenever it fails, and also if few rows fit it. Nothing is handed over twice, the accelerator is
// not asked again after an error, and no search stays open. Then the sample on which the choice of a device depends.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "itemsets/itemset_stream.h"
#include "itemsets/rules/rules.h"
#include "itemsets/search/search_sample.h"
#include "test/unit/shared/fake_itemsets.h"
#include "test/unit/shared/itemsets.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Fake = FakeItemsets;
constexpr ItemsetAlgorithm kAlgorithms[] = {ItemsetAlgorithm::kAuto, ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kTbi,
                                            ItemsetAlgorithm::kDfs};

class DeviceItemsetRun : public ::testing::Test {
 protected:
  void SetUp() override {
    FakeAccelerator::state().reset();
    Fake::state().reset();
  }
  void TearDown() override { EXPECT_EQ(Fake::state().open, 0) << "a search was not closed"; }

  Offload offload_{[](std::string&) { return FakeItemsets::accelerator(); }};
};

struct Found {
  std::vector<ItemsetRow> rows;
  ExecutionSite site;
  std::vector<std::pair<uint64_t, uint64_t>> levels;  // candidates, frequent
};

Found mine(const PackedRows& rows, ItemsetQuery query, Offload* offload, DeviceMode mode) {
  query.device.offload = offload;
  query.device.mode = mode;
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 2, .memory = &meter, .cancel = {}};
  ItemsetRun run(rows.chunks(), {}, query, options);
  Found found;
  {
    ItemsetStream stream(run, options);
    RowSink sink(run);
    std::vector<ItemsetStep> batch;
    while (stream.next(batch)) sink.take(batch);
    found.rows = std::move(sink.rows);
  }
  found.site = run.site();
  found.levels = levels_of(run);
  return found;
}

/// Transactions that repeat, so that weights have several bits.
std::vector<TidItem> weighted_relation(Random& random) {
  std::vector<TidItem> rows;
  int64_t tid = 0;
  for (int k = 0; k < 60; ++k) {
    std::vector<int64_t> items;
    for (int64_t item = 0; item < 12; ++item)
      if (random.chance(50)) items.push_back(item);
    for (uint64_t copies = 1 + random.below(40); copies > 0; --copies, ++tid)
      for (const int64_t item : items) rows.push_back({tid, item});
  }
  return rows;
}

TEST_F(DeviceItemsetRun, AnswersAsTheCpu) {
  Random random(kSeed);
  uint64_t answers = 0;
  int on_device = 0;
  for (int round = 0; round < 600; ++round) {
    const PackedRows rows(round % 20 == 0 ? weighted_relation(random) : draw_relation(random, 1 + random.signed_below(12)));
    ItemsetQuery query = draw_query(random, 12);
    if (round % 20 == 0) query = question(30);
    Fake::state().room_bytes = random.chance(50) ? UINT64_MAX : 64 * random.below(40);
    for (const ItemsetAlgorithm algorithm : kAlgorithms) {
      query.algorithm = algorithm;
      const bool is_refused =
          algorithm == ItemsetAlgorithm::kAuto && query.target == ItemsetTarget::kGenerators && !query.top_k;
      const Found expected = mine(rows, query, nullptr, DeviceMode::kAuto);
      const Found found = mine(rows, query, &offload_, DeviceMode::kCuda);
      answers += found.rows.size();
      const std::string what = "round " + std::to_string(round) + ", " + describe_query(query);
      ASSERT_EQ(difference(found.rows, expected.rows), "") << what;
      on_device += found.site.device == "cuda:0 fake";
      EXPECT_FALSE(is_refused && found.site.device != "cpu") << what;
      if (Fake::state().room_bytes == UINT64_MAX && algorithm != ItemsetAlgorithm::kAuto) {
        ASSERT_EQ(found.levels, expected.levels) << what;
      }
    }
  }
  EXPECT_GT(answers, 10000u);
  EXPECT_GT(on_device, 1500);
}

TEST_F(DeviceItemsetRun, SaysWhereItWas) {
  Random random(kSeed + 1);
  const PackedRows rows(random_grid(random, 60, 20, 40));
  const ItemsetQuery query = question(8);
  for (const DeviceMode mode : {DeviceMode::kCuda, DeviceMode::kRequire}) {
    const Found found = mine(rows, query, &offload_, mode);
    EXPECT_EQ(found.site.device, "cuda:0 fake");
    EXPECT_EQ(found.site.method, "pbi");
    EXPECT_EQ(found.site.notice, "");
  }
  EXPECT_EQ(mine(rows, query, &offload_, DeviceMode::kCpu).site.device, "cpu");
  EXPECT_EQ(mine(rows, query, &offload_, DeviceMode::kAuto).site.device, "cpu") << "so small";
}

TEST_F(DeviceItemsetRun, EveryCallMayFail) {
  Random random(kSeed + 2);
  const PackedRows rows(random_grid(random, 80, 14, 60));
  for (const ItemsetAlgorithm algorithm : kAlgorithms)
    for (const AcceleratorStatus status :
         {AcceleratorStatus::kDeclined, AcceleratorStatus::kOutOfMemory, AcceleratorStatus::kFailed})
      for (int call = 0; call < Fake::kCalls; ++call)
        for (const int after : {0, 1, 3, 17}) {
          ItemsetQuery query = question(12, algorithm);
          const Found expected = mine(rows, query, nullptr, DeviceMode::kAuto);
          Fake::state().reset();
          Fake::state().answer[call] = status;
          Fake::state().after[call] = after;
          Offload offload([](std::string&) { return FakeItemsets::accelerator(); });
          const Found found = mine(rows, query, &offload, DeviceMode::kCuda);
          ASSERT_EQ(difference(found.rows, expected.rows), "");
          const bool has_failed = Fake::state().calls[call] > after;
          EXPECT_EQ(found.site.device, has_failed ? "cpu" : "cuda:0 fake");
          EXPECT_EQ(found.site.method, has_failed ? expected.site.method : found.site.method);
          EXPECT_EQ(found.site.notice.empty(), !has_failed || status != AcceleratorStatus::kFailed);
          EXPECT_EQ(offload.api() == nullptr, has_failed && status == AcceleratorStatus::kFailed);
          Fake::state().calls[call] = 0;
          Offload another([](std::string&) { return FakeItemsets::accelerator(); });
          if (has_failed) {
            EXPECT_THROW(mine(rows, query, &another, DeviceMode::kRequire), Error);
          }
        }
}

TEST_F(DeviceItemsetRun, FailsAfterAnswersWereHandedOver) {
  // dfs gives its answers as it finds them, in batches of thousands.
  Random random(kSeed + 3);
  const PackedRows rows(random_grid(random, 40, 16, 90));
  ItemsetQuery query = question(4, ItemsetAlgorithm::kDfs);
  const Found expected = mine(rows, query, nullptr, DeviceMode::kAuto);
  ASSERT_GT(expected.rows.size(), 20000u);
  mine(rows, query, &offload_, DeviceMode::kCuda);
  const int all = Fake::state().calls[Fake::kExtend];
  for (const int after : {all / 2, all - 1}) {
    Fake::state().reset();
    Fake::state().answer[Fake::kExtend] = AcceleratorStatus::kFailed;
    Fake::state().after[Fake::kExtend] = after;
    Offload offload([](std::string&) { return FakeItemsets::accelerator(); });
    EXPECT_EQ(mine(rows, query, &offload, DeviceMode::kCuda).rows, expected.rows);
  }
}

TEST_F(DeviceItemsetRun, RequireRefusesWhatNoDeviceDoes) {
  Random random(kSeed + 9);
  const PackedRows rows(random_grid(random, 40, 10, 50));
  ItemsetQuery query = question(5);
  query.target = ItemsetTarget::kGenerators;
  EXPECT_THROW(mine(rows, query, &offload_, DeviceMode::kRequire), Error);
  EXPECT_EQ(mine(rows, query, &offload_, DeviceMode::kCuda).site.device, "cpu");
  query.algorithm = ItemsetAlgorithm::kTbi;
  EXPECT_EQ(mine(rows, query, &offload_, DeviceMode::kRequire).site.device, "cuda:0 fake");
}

TEST_F(DeviceItemsetRun, ModulesWithoutItemsets) {
  Random random(kSeed + 4);
  const PackedRows rows(random_grid(random, 40, 10, 50));
  Offload pairs_only([](std::string&) { return FakeAccelerator::api(); });
  const Found found = mine(rows, question(5), &pairs_only, DeviceMode::kCuda);
  EXPECT_EQ(found.site.device, "cpu");
  EXPECT_EQ(found.site.notice, "");
  EXPECT_THROW(mine(rows, question(5), &pairs_only, DeviceMode::kRequire), Error);
}

TEST_F(DeviceItemsetRun, Cancel) {
  Random random(kSeed + 5);
  const PackedRows rows(random_grid(random, 40, 10, 50));
  for (const ItemsetAlgorithm algorithm : {ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kDfs}) {
    Fake::state().stalls = true;
    std::atomic<bool> stop{false};
    MemoryMeter meter;
    const ExecutionOptions options{
        .threads = 1,
        .memory = &meter,
        .cancel = {[](void* arg) { return static_cast<std::atomic<bool>*>(arg)->load(); }, &stop}};
    ItemsetQuery query = question(5, algorithm);
    query.device.offload = &offload_;
    query.device.mode = DeviceMode::kCuda;
    ItemsetRun run(rows.chunks(), {}, query, options);
    ItemsetStream stream(run, options);
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = true;
    });
    std::vector<ItemsetStep> batch;
    try {
      while (stream.next(batch)) {
      }
      ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
    canceller.join();
  }
  EXPECT_NE(offload_.api(), nullptr) << "cancelling is no error of the device";
}

TEST_F(DeviceItemsetRun, EndsWithAnErrorAtEveryMemoryLimit) {
  Random random(kSeed + 6);
  const PackedRows rows(random_grid(random, 100, 14, 60));
  ItemsetQuery query = question(12, ItemsetAlgorithm::kPbi);
  query.device.offload = &offload_;
  query.device.mode = DeviceMode::kCuda;
  int refused = 0;
  for (size_t limit = 1000; refused < 1000; limit += 1500) {
    MemoryMeter meter(limit);
    const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
    try {
      ItemsetRun run(rows.chunks(), {}, query, options);
      RowSink sink(run);
      run.search(sink);
      EXPECT_EQ(run.site().device, "cuda:0 fake");
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
      ++refused;
    }
    EXPECT_EQ(meter.current(), 0u);
  }
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 1000);
}

TEST_F(DeviceItemsetRun, Rules) {
  Random random(kSeed + 7);
  const PackedRows rows(random_grid(random, 60, 12, 50));
  const auto rules = [&](Offload* offload) {
    MemoryMeter meter;
    RuleQuery query;
    query.itemsets.min_count = 8;
    query.min_confidence = 0.5;
    query.itemsets.device.offload = offload;
    query.itemsets.device.mode = DeviceMode::kCuda;
    RuleRun run(rows.chunks(), {}, query, {.threads = 1, .memory = &meter, .cancel = {}});
    std::vector<int64_t> all;
    RuleBatch batch(meter);
    while (run.next(batch)) {
      all.insert(all.end(), batch.items.begin(), batch.items.end());
      for (const RuleRow& row : batch.rows) all.push_back(row.support);
    }
    EXPECT_EQ(run.site().device, offload == nullptr ? "cpu" : "cuda:0 fake");
    return all;
  };
  const std::vector<int64_t> expected = rules(nullptr);
  EXPECT_GT(expected.size(), 100u);
  EXPECT_EQ(rules(&offload_), expected);
}

// ---- the sample

TEST(SearchSample, CountsWhatASearchDoes) {
  Random random(kSeed + 8);
  const PackedRows rows(random_grid(random, 500, 20, 40));
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const EncodedRelation relation(rows.chunks(), {}, options);
  const KeptItems kept = keep_items(relation, {.min_rows = 50, .include = {}, .exclude = {}}, options);
  const SearchRoot root = build_search_root(relation, kept, 50, true, options);
  const Found exact = mine(rows, question(50, ItemsetAlgorithm::kTbi), nullptr, DeviceMode::kAuto);
  const auto sample = [&](uint32_t max_length, double max_ns) {
    const auto goes_on = [&](const SearchOutline&, double ns) { return ns <= max_ns; };
    return sample_search(root, 50, max_length, goes_on, best_and_popcount(), options);
  };
  // All transactions and every item: the sample does what tbi does, but without pruning.
  const SearchOutline all = sample(UINT32_MAX, 1e12);
  EXPECT_TRUE(all.is_complete);
  EXPECT_EQ(all.itemsets + 20, exact.rows.size());
  double candidates = 0;
  for (size_t k = 1; k < exact.levels.size(); ++k) candidates += static_cast<double>(exact.levels[k].first);
  EXPECT_GE(all.joins, candidates);
  EXPECT_LT(all.branch_joins, all.joins);
  EXPECT_EQ(all.longest,
            static_cast<size_t>(std::ranges::count_if(exact.levels, [](const auto& level) { return level.second > 0; })));
  // If a sample is stopped, what it has seen stands for the rest.
  const SearchOutline some = sample(UINT32_MAX, 3e4);
  EXPECT_FALSE(some.is_complete);
  EXPECT_GT(some.joins, 190);
  EXPECT_GT(some.itemsets, all.itemsets / 3);
  EXPECT_LT(some.itemsets, all.itemsets * 3);
  const SearchOutline pairs = sample(UINT32_MAX, 0);
  EXPECT_FALSE(pairs.is_complete);
  EXPECT_EQ(pairs.joins, 190);
  EXPECT_EQ(pairs.extended, 19);
  EXPECT_EQ(pairs.itemsets, 0);
  EXPECT_EQ(sample(2, 1e12).joins, 190);
  EXPECT_EQ(sample(1, 1e12).joins, 0);
}

TEST(SearchSample, SomeTransactionsAndItemsStandForAll) {
  Random random(kSeed + 10);
  const PackedRows rows(random_grid(random, 20'000, 70, 30));
  MemoryMeter meter;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}};
  const EncodedRelation relation(rows.chunks(), {}, options);
  const KeptItems kept = keep_items(relation, {.min_rows = 400, .include = {}, .exclude = {}}, options);
  const SearchRoot root = build_search_root(relation, kept, 400, true, options);
  const auto exact = static_cast<double>(mine(rows, question(400), nullptr, DeviceMode::kAuto).rows.size());
  const auto to_the_end = [](const SearchOutline&, double) { return true; };
  const SearchOutline known = sample_search(root, 400, UINT32_MAX, to_the_end, best_and_popcount(), options);
  EXPECT_TRUE(known.is_complete);
  EXPECT_GT(known.itemsets, exact / 2);
  EXPECT_LT(known.itemsets, exact * 2);
}

}  // namespace
}  // namespace batmap::test
