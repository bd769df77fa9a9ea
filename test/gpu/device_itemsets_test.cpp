// Searches for itemsets on a GPU against the same searches on the CPU: random databases with weights,
// thresholds, leading items, bounds of length, every algorithm and target; little memory, so that levels come
// in pieces; reference data by length; stopping. Runs on a machine with a GPU. BATMAP_ACCELERATOR names the
// module, BATMAP_TEST_DATA the folder of reference data (plain text, fimi/NAME.dat).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "accel/loader.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"
#include "test/unit/shared/itemsets.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr uint64_t kSeed = 5;
constexpr ItemsetAlgorithm kAlgorithms[] = {ItemsetAlgorithm::kAuto, ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kTbi,
                                            ItemsetAlgorithm::kDfs};

Offload& offload() {
  static Offload loaded([](std::string& why) {
    const char* const path = std::getenv("BATMAP_ACCELERATOR");
    return load_accelerator(path != nullptr ? path : "batmap_cuda.so", why);
  });
  return loaded;
}

/// Under a sanitizer, tests take a hundred times as long.
bool is_small() { return std::getenv("BATMAP_SMALL") != nullptr; }

struct Found {
  std::vector<ItemsetRow> rows;
  std::string device;
  std::vector<std::pair<uint64_t, uint64_t>> levels;
};

Found mine(const PackedRows& rows, ItemsetQuery query, DeviceMode mode, uint64_t memory_limit = 0) {
  query.device.offload = &offload();
  query.device.mode = mode;
  query.device.memory_limit = memory_limit;
  MemoryMeter meter;
  ItemsetRun run(rows.chunks(), {}, query, {.threads = 1, .memory = &meter, .cancel = {}});
  RowSink sink(run);
  run.search(sink);
  return {std::move(sink.rows), run.site().device, levels_of(run)};
}

TEST(DeviceItemsets, SmallDatabasesAndAllQuestions) {
  Random random(kSeed);
  uint64_t answers = 0;
  const int64_t most = is_small() ? 6 : 12;
  for (int round = 0; round < (is_small() ? 6 : 300); ++round) {
    const PackedRows rows(draw_relation(random, 1 + random.signed_below(most)));
    ItemsetQuery query = draw_query(random, most);
    for (const ItemsetAlgorithm algorithm : kAlgorithms) {
      query.algorithm = algorithm;
      const Found expected = mine(rows, query, DeviceMode::kCpu);
      const Found found = mine(rows, query, DeviceMode::kCuda);
      answers += found.rows.size();
      const std::string what = "round " + std::to_string(round) + ", " + describe_query(query);
      ASSERT_EQ(difference(found.rows, expected.rows), "") << what;
      if (algorithm != ItemsetAlgorithm::kAuto) {
        ASSERT_EQ(found.levels, expected.levels) << what;
      }
    }
  }
  EXPECT_GT(answers, is_small() ? 10u : 1000u);
}

struct Wide {
  const char* name;
  std::vector<TidItem> rows;
  int64_t min_count;
};

std::vector<Wide> wide_relations() {
  Random random(kSeed + 1);
  std::vector<Wide> all;
  // Rows from one vector to many, around the sizes of warps, blocks and slices; many items, so that bitmaps have many words.
  if (is_small()) {
    all.push_back({"one word", random_grid(random, 60, 24, 40), 12});
    all.push_back({"around 512 columns", random_grid(random, 513, 12, 30), 30});
    all.push_back({"many items", random_rows(random, 1500, 60, 150), 7});
    all.push_back({"wide rows", random_grid(random, 140'000, 6, 30), 50});
    return all;
  }
  all.push_back({"one word", random_grid(random, 60, 90, 40), 10});
  all.push_back({"around 512 columns", random_grid(random, 513, 40, 30), 30});
  all.push_back({"many items", random_rows(random, 30000, 900, 3000), 4});
  all.push_back({"wide rows", random_grid(random, 140'000, 30, 30), 2500});
  all.push_back({"rows in slices", random_grid(random, 70'000, 12, 50), 2000});
  all.push_back({"deep", random_grid(random, 3000, 24, 50), 150});
  // Copies of some transactions, so that weights have several bits; one weight is large.
  std::vector<TidItem> weighted;
  int64_t tid = 0;
  for (int k = 0; k < 700; ++k) {
    std::vector<int64_t> items;
    for (int64_t item = 0; item < 40; ++item)
      if (random.chance(25)) items.push_back(item);
    for (uint64_t copies = k == 0 ? 5000 : 1 + random.below(20); copies > 0; --copies, ++tid)
      for (const int64_t item : items) weighted.push_back({tid, item});
  }
  all.push_back({"weights", weighted, 120});
  return all;
}

TEST(DeviceItemsets, LargerDatabases) {
  for (const Wide& wide : wide_relations()) {
    const PackedRows rows(wide.rows);
    for (const ItemsetAlgorithm algorithm : kAlgorithms) {
      ItemsetQuery query = question(wide.min_count, algorithm);
      const Found expected = mine(rows, query, DeviceMode::kCpu);
      EXPECT_GT(expected.rows.size(), 50u) << wide.name;
      Found found = mine(rows, query, DeviceMode::kRequire);
      ASSERT_EQ(difference(found.rows, expected.rows), "") << wide.name << ", " << describe_query(query);
      EXPECT_EQ(found.device.rfind("cuda:", 0), 0u);
      if (algorithm != ItemsetAlgorithm::kAuto) {
        EXPECT_EQ(found.levels, expected.levels) << wide.name << ", " << describe_query(query);
      }
      query.include = {{3, 7, 8}};
      query.max_length = 3;
      ASSERT_EQ(difference(mine(rows, query, DeviceMode::kRequire).rows, mine(rows, query, DeviceMode::kCpu).rows), "")
          << wide.name << ", " << describe_query(query);
    }
  }
}

/// Among the subsets of {1, 2, 3, 4, 5} with four items and the included one, one is infrequent. It
/// lies in the middle of the order.
TEST(DeviceItemsets, PrunesWhereSomeItemsLead) {
  std::vector<TidItem> relation;
  int64_t tid = 0;
  const auto add = [&](int copies, std::initializer_list<int64_t> items) {
    for (; copies > 0; --copies, ++tid)
      for (const int64_t item : items) relation.push_back({tid, item});
  };
  add(10, {1, 2, 3, 4});
  add(10, {1, 2, 3, 5});
  add(10, {1, 3, 4, 5});
  add(30, {3});  // rarer items come first
  add(60, {4});
  add(90, {5});
  const PackedRows rows(relation);
  for (const ItemsetAlgorithm algorithm : {ItemsetAlgorithm::kPbi, ItemsetAlgorithm::kTbi}) {
    ItemsetQuery query = question(10, algorithm);
    query.include = {{1}};
    const Found expected = mine(rows, query, DeviceMode::kCpu);
    const Found found = mine(rows, query, DeviceMode::kRequire);
    ASSERT_EQ(difference(found.rows, expected.rows), "");
    EXPECT_EQ(expected.levels.size(), 4u) << "the candidate of five items is not counted";
    EXPECT_EQ(found.levels, expected.levels) << describe_query(query);
  }
}

TEST(DeviceItemsets, LittleMemory) {
  Random random(kSeed + 2);
  const PackedRows rows(random_grid(random, is_small() ? 600 : 20'000, is_small() ? 16 : 60, 40));
  const ItemsetQuery query = question(is_small() ? 40 : 700, ItemsetAlgorithm::kPbi);
  const Found expected = mine(rows, query, DeviceMode::kCpu);
  EXPECT_GT(expected.rows.size(), is_small() ? 100u : 1000u);
  int on_device = 0;
  int on_cpu = 0;
  for (uint64_t limit = uint64_t{1} << (is_small() ? 10 : 17); limit < uint64_t{1} << 28; limit *= is_small() ? 4 : 2) {
    const Found found = mine(rows, query, DeviceMode::kCuda, limit);
    ASSERT_EQ(difference(found.rows, expected.rows), "") << limit << " bytes";
    (found.device == "cpu" ? on_cpu : on_device) += 1;
  }
  EXPECT_GT(on_device, 2);
  EXPECT_GT(on_cpu, 0);
  EXPECT_NE(offload().api(), nullptr) << offload().why_not();
}

/// The driver takes some milliseconds for each GB that it frees. So the end is timed with little memory, and the error also
/// with all that the device has.
TEST(DeviceItemsets, StopsSoon) {
  if (is_small()) GTEST_SKIP();
  Random random(kSeed + 3);
  std::vector<TidItem> relation;
  for (int64_t tid = 0; tid < 400'000; ++tid)
    for (int64_t item = 0; item < 60; ++item)
      if (random.chance(60)) relation.push_back({tid, item});
  const PackedRows rows(relation);
  for (const ItemsetAlgorithm algorithm : kAlgorithms) {
    for (const uint64_t limit_gb : {uint64_t{0}, uint64_t{8}}) {
      if (algorithm == ItemsetAlgorithm::kTbi && limit_gb != 0) continue;  // a whole level is larger
      ItemsetQuery query = question(4000, algorithm);                      // more than any device finds in seconds
      query.device.offload = &offload();
      query.device.mode = DeviceMode::kRequire;
      query.device.memory_limit = limit_gb << 30;
      std::atomic<bool> stop{false};
      MemoryMeter meter;
      const ExecutionOptions options{
          .threads = 1,
          .memory = &meter,
          .cancel = {[](void* arg) { return static_cast<std::atomic<bool>*>(arg)->load(); }, &stop}};
      ItemsetRun run(rows.chunks(), {}, query, options);
      std::chrono::steady_clock::time_point stopped;
      const auto ms = [&] {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - stopped).count();
      };
      double to_error = 0;
      {
        ItemsetStream stream(run, options);
        std::thread stopper([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(600));
          stopped = std::chrono::steady_clock::now();
          stop = true;
        });
        std::vector<ItemsetStep> batch;
        try {
          while (stream.next(batch)) {
          }
          ADD_FAILURE() << "not cancelled";
        } catch (const Error& error) {
          to_error = ms();
          EXPECT_EQ(error.code(), ErrorCode::kCancelled);
        }
        stopper.join();
      }
      const double to_end = ms();
      std::cout << describe_query(query) << ", " << (limit_gb == 0 ? "all" : std::to_string(limit_gb) + " GB")
                << " of the memory: error after " << to_error << " ms, end after " << to_end << '\n';
      EXPECT_LT(to_error, 100);
      EXPECT_TRUE(limit_gb == 0 || to_end < 100);
    }
  }
}

TEST(DeviceItemsets, CountsOfReferenceDataByLength) {
  const char* const folder = std::getenv("BATMAP_TEST_DATA");
  if (folder == nullptr || is_small()) GTEST_SKIP() << "BATMAP_TEST_DATA is not set";
  const ReferenceCounts expected = reference_counts(folder);
  ASSERT_FALSE(expected.empty());
  int compared = 0;
  for (const auto& [of, counts] : expected) {
    uint64_t all = 0;
    for (const auto& [length, count] : counts) all += count;
    std::ifstream text(std::string(folder) + "/fimi/" + of.first + ".dat");
    if (!text.is_open() || all > 3'000'000) continue;
    std::vector<TidItem> relation;
    std::string line;
    for (int64_t tid = 0; std::getline(text, line); ++tid) {
      std::istringstream items(line);
      for (int64_t item; items >> item;) relation.push_back({tid, item});
    }
    const PackedRows rows(relation);
    for (const ItemsetAlgorithm algorithm : kAlgorithms) {
      if (algorithm == ItemsetAlgorithm::kDfs && all > 200'000) continue;
      ItemsetQuery query = question(of.second, algorithm);
      query.device.offload = &offload();
      query.device.mode = DeviceMode::kRequire;
      MemoryMeter meter;
      ItemsetRun run(rows.chunks(), {}, query, {.threads = 1, .memory = &meter, .cancel = {}});
      std::map<uint64_t, uint64_t> found;
      const auto start = std::chrono::steady_clock::now();
      for (const SpectrumRow& row : run.spectrum()) found[row.length] += row.itemsets;
      EXPECT_EQ(found, counts) << of.first << ", min_count " << of.second;
      std::printf("%s %lld %s: %zu itemsets, %.2f s\n", of.first.c_str(), static_cast<long long>(of.second),
                  run.site().method.c_str(), static_cast<size_t>(all),
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      EXPECT_EQ(run.site().device.rfind("cuda:", 0), 0u);
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "no data sets in " << folder;
}

}  // namespace
}  // namespace batmap::test
