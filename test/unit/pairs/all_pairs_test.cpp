// All pairs of stored sets against plain loops over std::set: all ways of counting, every kernel, several
// threads; and on a fake accelerator, whatever it answers and whenever it fails.
#include "pairs/all_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "set/set_builder.h"
#include "test/unit/shared/fake_accelerator.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr AllPairsWay kWays[kAllPairsWays] = {AllPairsWay::kTiles, AllPairsWay::kPositional, AllPairsWay::kRelation,
                                              AllPairsWay::kPrefix};

struct NamedSet {
  int64_t id;
  std::set<uint64_t> elements;
  int width;
};

SetCollection stored(const std::vector<NamedSet>& sets, MemoryMeter& meter) {
  SetCollection collection(meter);
  const ExecutionOptions options{1, &meter, {}};
  SetEncoder encoder(options);
  for (const NamedSet& set : sets) {
    const std::vector<uint64_t> elements(set.elements.begin(), set.elements.end());
    std::vector<std::byte> bytes(encoder.prepare(elements, set.width));
    encoder.write(bytes.data());
    collection.add(set.id, bytes);
  }
  return collection;
}

uint64_t common(const NamedSet& a, const NamedSet& b) {
  uint64_t count = 0;
  for (const uint64_t x : a.elements) count += b.elements.count(x);
  return count;
}

/// All answers in the documented order, from plain loops.
std::vector<PairRow> oracle(const std::vector<NamedSet>& sets, const AllPairsQuery& query) {
  std::vector<size_t> by_id(sets.size());
  for (size_t i = 0; i < sets.size(); ++i) by_id[i] = i;
  std::stable_sort(by_id.begin(), by_id.end(), [&](size_t x, size_t y) { return sets[x].id < sets[y].id; });
  struct Answer {
    size_t a, b;  // positions in by_id
    PairRow row;
    double score;
  };
  std::vector<Answer> answers;
  for (size_t a = 0; a < by_id.size(); ++a)
    for (size_t b = a + 1; b < by_id.size(); ++b) {
      const NamedSet& x = sets[by_id[a]];
      const NamedSet& y = sets[by_id[b]];
      const uint64_t count = common(x, y);
      if (count < static_cast<uint64_t>(query.min_count.value_or(1))) continue;
      const double jaccard = static_cast<double>(count) / static_cast<double>(x.elements.size() + y.elements.size() - count);
      if (jaccard < query.min_jaccard.value_or(0)) continue;
      answers.push_back({a,
                         b,
                         {x.id, y.id, count, x.elements.size(), y.elements.size()},
                         query.min_jaccard ? jaccard : static_cast<double>(count)});
    }
  const auto better = [](const Answer& x, const Answer& y) {
    return std::tuple(-x.score, x.a, x.b) < std::tuple(-y.score, y.a, y.b);
  };
  if (query.per_item_top_k) {
    std::set<std::pair<size_t, size_t>> keep;
    for (size_t name = 0; name < by_id.size(); ++name) {
      std::vector<Answer> mine;
      for (const Answer& answer : answers)
        if (answer.a == name || answer.b == name) mine.push_back(answer);
      std::sort(mine.begin(), mine.end(), [&](const Answer& x, const Answer& y) {
        return std::tuple(-x.score, x.a + x.b - name) < std::tuple(-y.score, y.a + y.b - name);
      });
      for (size_t k = 0; k < mine.size() && k < static_cast<size_t>(*query.per_item_top_k); ++k)
        keep.insert({mine[k].a, mine[k].b});
    }
    std::erase_if(answers, [&](const Answer& answer) { return !keep.count({answer.a, answer.b}); });
  }
  const auto place = [&](size_t name) { return std::pair(sets[by_id[name]].elements.size(), name); };
  const auto key = [&](const Answer& x) { return std::minmax({place(x.a), place(x.b)}); };
  if (query.top_k) {
    std::sort(answers.begin(), answers.end(), better);
    if (answers.size() > static_cast<size_t>(*query.top_k)) answers.resize(static_cast<size_t>(*query.top_k));
  } else {
    std::sort(answers.begin(), answers.end(), [&](const Answer& x, const Answer& y) { return key(x) < key(y); });
  }
  std::vector<PairRow> rows;
  for (const Answer& answer : answers) rows.push_back(answer.row);
  if (query.max_results && rows.size() > static_cast<size_t>(*query.max_results))
    rows.resize(static_cast<size_t>(*query.max_results));
  return rows;
}

std::vector<PairRow> run(const std::vector<NamedSet>& sets, const AllPairsQuery& query, int threads) {
  MemoryMeter meter;
  std::vector<PairRow> rows;
  {
    AllPairsRun pairs(stored(sets, meter), query, {threads, &meter, {}});
    PairBatch batch;
    while (pairs.next(batch)) rows.insert(rows.end(), batch.begin(), batch.end());
    EXPECT_EQ(pairs.record().results, rows.size());
    EXPECT_EQ(pairs.record().items, sets.size());
    EXPECT_FALSE(pairs.record().reason.empty());
  }
  EXPECT_EQ(meter.current(), 0u);
  return rows;
}

/// Sets of all containers, with equal ids, equal sets, empty sets and several widths.
std::vector<NamedSet> mixed_sets(Random& random, size_t count) {
  std::vector<NamedSet> sets;
  for (size_t i = 0; i < count; ++i) {
    NamedSet set{static_cast<int64_t>(random.below(count)) - 5, {}, i % 7 == 0 ? 40 : 14};
    static constexpr uint64_t kSizes[] = {0, 1, 3, 40, 255, 256, 300, 700, 5000};
    const uint64_t size = kSizes[random.below(std::size(kSizes))];
    const uint64_t range = i % 3 == 0 ? 16384 : 6000;
    while (set.elements.size() < size) set.elements.insert(random.below(range));
    if (i % 11 == 0 && i > 0) set.elements = sets.back().elements;
    sets.push_back(set);
  }
  return sets;
}

std::vector<AllPairsQuery> queries() {
  std::vector<AllPairsQuery> all;
  const auto add = [&](auto set) {
    AllPairsQuery query;
    set(query);
    all.push_back(query);
  };
  for (const int64_t count : {1, 2, 100, 100000}) add([&](AllPairsQuery& q) { q.min_count = count; });
  for (const double min_jaccard : {1e-9, 0.01, 0.3, 0.5, 1.0}) add([&](AllPairsQuery& q) { q.min_jaccard = min_jaccard; });
  add([](AllPairsQuery& q) { q.min_jaccard = 0.1, q.min_count = 50; });
  for (const int64_t k : {1, 10, 1000000}) {
    add([&](AllPairsQuery& q) { q.top_k = k; });
    add([&](AllPairsQuery& q) { q.per_item_top_k = k; });
    add([&](AllPairsQuery& q) { q.top_k = k, q.min_jaccard = 0.01; });
    add([&](AllPairsQuery& q) { q.per_item_top_k = k, q.min_jaccard = 0.01; });
    add([&](AllPairsQuery& q) { q.top_k = k, q.per_item_top_k = 2; });
    add([&](AllPairsQuery& q) { q.min_count = 2, q.max_results = k; });
  }
  return all;
}

TEST(AllPairs, LikeTheOracle) {
  Random random(kSeed);
  for (const size_t count : {0, 1, 2, 5, 40}) {
    const std::vector<NamedSet> sets = mixed_sets(random, count);
    for (const AllPairsQuery& base : queries()) {
      const std::vector<PairRow> expected = oracle(sets, base);
      for (const SetKernel& kernel : set_kernels()) {
        if (find_set_kernel(kernel.name) == nullptr) continue;
        for (const AllPairsWay way : kWays)
          for (const int threads : {1, 3}) {
            AllPairsQuery query = base;
            query.kernels.sets = &kernel;
            query.kernels.bits = find_and_popcount(kernel.name);
            query.way = way;
            ASSERT_EQ(difference(run(sets, query, threads), expected), "")
                << count << " sets, kernel " << kernel.name << ", way " << static_cast<int>(way) << ", seed " << kSeed;
          }
      }
    }
  }
}

/// Small sets of frequent and rare elements; every fifth is nearly one before it.
std::vector<NamedSet> tag_sets(Random& random, size_t count, uint64_t universe, uint64_t max_size) {
  std::vector<NamedSet> sets;
  for (size_t i = 0; i < count; ++i) {
    NamedSet set{static_cast<int64_t>(i), {}, 32};
    if (i % 5 == 4) set.elements = sets[i - 1 - random.below(4)].elements;
    const uint64_t more = i % 5 == 4 ? random.below(2) : 1 + random.below(max_size);
    for (uint64_t k = 0; k < more; ++k) set.elements.insert(random.below(random.below(universe) + 1));
    sets.push_back(set);
  }
  return sets;
}

TEST(AllPairs, PrefixesFindWhatTilesFind) {
  Random random(kSeed + 9);
  for (int round = 0; round < 12; ++round) {
    // Element codes are direct in the small universe, hashed in the large one.
    const std::vector<NamedSet> sets =
        tag_sets(random, 50 + random.below(900), round % 2 == 0 ? 300 : uint64_t{1} << 31, 1 + random.below(30));
    for (const double min_jaccard : {0.05, 0.2, 0.5, 2.0 / 3, 0.8, 0.9, 1.0}) {
      AllPairsQuery query;
      query.min_jaccard = min_jaccard;
      if (round % 3 == 1) query.min_count = 3;
      if (round % 4 == 2) query.top_k = 25;
      query.way = AllPairsWay::kTiles;
      const std::vector<PairRow> expected = run(sets, query, 1);
      query.way = AllPairsWay::kPrefix;
      for (const int threads : {1, 3})
        ASSERT_EQ(difference(run(sets, query, threads), expected), "") << "round " << round << ", J >= " << min_jaccard;
    }
  }
}

// The relation's cost grows with the pairs that share a frequent element. As if all elements were alike, it seemed to be cheap.
TEST(AllPairs, TakesPrefixesWherePairsMustBeAlike) {
  Random random(kSeed + 10);
  std::vector<NamedSet> sets = tag_sets(random, 20000, 50000, 15);
  for (NamedSet& set : sets) set.elements.insert({random.below(3), 5 + random.below(3)});
  MemoryMeter meter;
  AllPairsQuery query;
  query.min_jaccard = 0.8;
  const AllPairsRun pairs(stored(sets, meter), query, {1, &meter, {}});
  EXPECT_EQ(pairs.record().method, "prefix") << pairs.record().reason;
}

TEST(AllPairs, NamesOfWays) {
  EXPECT_EQ(all_pairs_way("auto"), std::nullopt);
  EXPECT_EQ(all_pairs_way("prefix"), AllPairsWay::kPrefix);
  EXPECT_EQ(all_pairs_way("tiles"), AllPairsWay::kTiles);
  EXPECT_THROW(all_pairs_way("Tiles"), Error);
}

// Ids that are given while sets are added, and ranks that are known afterwards.
TEST(AllPairs, RenamedSets) {
  const std::vector<NamedSet> given = {{2, {1, 2, 3}, 10}, {0, {2, 3}, 10}, {1, {3}, 10}, {2, {2}, 10}};
  MemoryMeter meter;
  SetCollection sets = stored(given, meter);
  const uint32_t ranks[] = {1, 2, 0};
  sets.rename(ranks);
  ASSERT_EQ(sets.size(), given.size());
  for (size_t i = 0; i < sets.size(); ++i) {
    EXPECT_EQ(sets.id(i), ranks[given[i].id]);
    EXPECT_EQ(sets[i].cardinality(), given[i].elements.size());
  }
}

TEST(AllPairs, TakesSetsApartWhereComparingCostsMore) {
  Random random(kSeed + 1);
  std::vector<NamedSet> sets;
  for (int64_t id = 0; id < 400; ++id) {
    NamedSet set{id, {}, 32};
    while (set.elements.size() < 600) set.elements.insert(random.below(30000));
    sets.push_back(set);
  }
  MemoryMeter meter;
  AllPairsQuery query;
  query.min_count = 20;
  const AllPairsRun many(stored(sets, meter), query, {1, &meter, {}});
  EXPECT_NE(many.record().method, "tiles") << many.record().reason;
  sets.resize(3);
  const AllPairsRun few(stored(sets, meter), query, {1, &meter, {}});
  EXPECT_EQ(few.record().method, "tiles") << few.record().reason;
}

// A row for every possible element is too expensive for few sets, however large these are.
TEST(AllPairs, LeavesLargeUniversesAlone) {
  Random random(kSeed + 8);
  std::vector<NamedSet> sets;
  for (int64_t id = 0; id < 60; ++id) {
    NamedSet set{id, {}, 24};
    while (set.elements.size() < 500) set.elements.insert(random.below(1 << 20));
    sets.push_back(set);
  }
  MemoryMeter meter;
  Offload none([](std::string&) -> const AcceleratorApi* { return nullptr; });
  AllPairsQuery query;
  query.min_count = 2;
  query.device.offload = &none;
  query.device.mode = DeviceMode::kCuda;  // makes the run look at all ways
  const AllPairsRun pairs(stored(sets, meter), query, {1, &meter, {}});
  EXPECT_EQ(pairs.record().method, "tiles") << pairs.record().reason;
  EXPECT_EQ(pairs.record().reason.find("not looked at"), std::string::npos) << pairs.record().reason;
}

TEST(AllPairs, BadQuestions) {
  const auto check = [](auto set) {
    AllPairsQuery query;
    set(query);
    EXPECT_THROW(query.check(), Error);
  };
  check([](AllPairsQuery&) {});
  check([](AllPairsQuery& q) { q.max_results = 5; });
  check([](AllPairsQuery& q) { q.min_count = 0; });
  check([](AllPairsQuery& q) { q.min_jaccard = 0; });
  check([](AllPairsQuery& q) { q.min_jaccard = 1.5; });
  check([](AllPairsQuery& q) { q.min_jaccard = std::numeric_limits<double>::quiet_NaN(); });
  check([](AllPairsQuery& q) { q.top_k = 0; });
  check([](AllPairsQuery& q) { q.per_item_top_k = -1; });
  check([](AllPairsQuery& q) { q.min_count = 1, q.max_results = 0; });
}

TEST(AllPairs, CancelledAtEveryPoll) {
  Random random(kSeed + 2);
  const std::vector<NamedSet> sets = mixed_sets(random, 60);
  for (const AllPairsWay way : kWays) {
    struct Polls {
      std::atomic<int64_t> left;
    } polls{1 << 30};
    const CancelToken token{[](void* arg) { return --static_cast<Polls*>(arg)->left < 0; }, &polls};
    AllPairsQuery query;
    query.top_k = 50;
    query.way = way;
    const auto attempt = [&](int64_t allowed) {
      polls.left = allowed;
      MemoryMeter meter;
      bool finished = false;
      try {
        AllPairsRun pairs(stored(sets, meter), query, {2, &meter, token});
        PairBatch batch;
        while (pairs.next(batch)) {
        }
        finished = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      }
      EXPECT_EQ(meter.current(), 0u);
      return finished;
    };
    ASSERT_TRUE(attempt(1 << 30));
    const int64_t needed = (int64_t{1} << 30) - polls.left;
    ASSERT_GT(needed, 3);
    for (int64_t allowed = 0; allowed < needed - 8; allowed += std::max<int64_t>(1, needed / 50))
      EXPECT_FALSE(attempt(allowed)) << "of " << needed;
  }
}

TEST(AllPairs, OutOfMemoryAtEveryCharge) {
  Random random(kSeed + 3);
  const std::vector<NamedSet> sets = mixed_sets(random, 30);
  for (const AllPairsWay way : kWays) {
    AllPairsQuery query;
    query.min_count = 1;
    query.way = way;
    bool finished = false;
    for (size_t limit = size_t{1} << 10; !finished && limit < (size_t{1} << 30); limit += limit / 8) {
      MemoryMeter meter(limit);
      try {
        AllPairsRun pairs(stored(sets, meter), query, {1, &meter, {}});
        PairBatch batch;
        while (pairs.next(batch)) {
        }
        finished = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit);
      }
      EXPECT_EQ(meter.current(), 0u);
    }
    EXPECT_TRUE(finished);
  }
}

using Fake = FakeAccelerator;

class AllPairsOnDevices : public ::testing::Test {
 protected:
  void SetUp() override { Fake::state().reset(); }
  void TearDown() override { EXPECT_EQ(Fake::state().open, 0) << "a job was not closed"; }

  static AllPairsQuery on_devices(AllPairsQuery query, Offload& offload, DeviceMode mode) {
    query.device.offload = &offload;
    query.device.mode = mode;
    return query;
  }

  Offload offload_{[](std::string&) { return Fake::api(); }};
};

struct Found {
  std::vector<PairRow> rows;
  RunRecord record;
};

Found found(const std::vector<NamedSet>& sets, const AllPairsQuery& query, int threads) {
  MemoryMeter meter(size_t{1} << 30);
  Found answers;
  {
    AllPairsRun pairs(stored(sets, meter), query, {threads, &meter, {}});
    PairBatch batch;
    while (pairs.next(batch)) answers.rows.insert(answers.rows.end(), batch.begin(), batch.end());
    answers.record = pairs.record();
  }
  EXPECT_EQ(meter.current(), 0u);
  EXPECT_EQ(answers.record.results, answers.rows.size());
  return answers;
}

/// Sets that are all batmaps of one width.
std::vector<NamedSet> batmaps(Random& random, size_t count) {
  std::vector<NamedSet> sets;
  for (size_t i = 0; i < count; ++i) {
    NamedSet set{static_cast<int64_t>(random.below(count)), {}, 24};
    static constexpr uint64_t kSizes[] = {300, 511, 512, 513, 1100};
    const uint64_t size = kSizes[random.below(std::size(kSizes))];
    while (set.elements.size() < size) set.elements.insert(random.below(6000));
    sets.push_back(set);
  }
  return sets;
}

TEST_F(AllPairsOnDevices, LikeTheOracle) {
  Random random(kSeed + 4);
  const std::vector<NamedSet> batmap_sets = batmaps(random, 35);
  const std::vector<NamedSet> other_sets = mixed_sets(random, 35);
  for (const AllPairsQuery& query : queries())
    for (const std::vector<NamedSet>* sets : {&batmap_sets, &other_sets}) {
      const std::vector<PairRow> expected = oracle(*sets, query);
      for (const DeviceMode mode : {DeviceMode::kCuda, DeviceMode::kRequire, DeviceMode::kAuto})
        for (const uint32_t devices : {1u, 3u}) {
          Fake::state().device_count = devices;
          const Found answers = found(*sets, on_devices(query, offload_, mode), devices == 1 ? 1 : 4);
          ASSERT_EQ(difference(answers.rows, expected), "") << answers.record.reason << ", seed " << kSeed + 4;
          EXPECT_EQ(answers.record.notice, "");
          const bool is_any = answers.record.items_kept > 1;
          if (mode == DeviceMode::kAuto || !is_any) continue;
          EXPECT_EQ(answers.record.device, devices == 1 ? "cuda:0 fake" : "cuda:0 fake, cuda:1 fake, cuda:2 fake");
          EXPECT_EQ(answers.record.method == "tiles", sets == &batmap_sets) << answers.record.reason;
        }
    }
  EXPECT_GT(Fake::state().calls[Fake::kAddSets], 0);
  EXPECT_GT(Fake::state().calls[Fake::kAddRows], 0);
}

TEST_F(AllPairsOnDevices, AutoTakesThemWhereTheyAreFaster) {
  Random random(kSeed + 5);
  const std::vector<NamedSet> sets = batmaps(random, 200);
  AllPairsQuery query;
  query.min_count = 100;
  query.way = AllPairsWay::kTiles;
  offload_.api();  // loads the module, so that no context is in the estimate
  const Found fast = found(sets, on_devices(query, offload_, DeviceMode::kAuto), 1);
  EXPECT_EQ(fast.record.device, "cuda:0 fake") << fast.record.reason;
  Fake::state().rates.launch_ms = 1000;
  const Found slow = found(sets, on_devices(query, offload_, DeviceMode::kAuto), 1);
  Fake::state().rates.launch_ms = 0;
  EXPECT_EQ(slow.record.device, "cpu") << slow.record.reason;
  EXPECT_NE(slow.record.reason.find("batmap on 1 GPU"), std::string::npos) << slow.record.reason;
  EXPECT_EQ(difference(fast.rows, slow.rows), "");
  EXPECT_EQ(found(sets, on_devices(query, offload_, DeviceMode::kCpu), 1).record.device, "cpu");
}

TEST_F(AllPairsOnDevices, EveryCallMayFail) {
  Random random(kSeed + 6);
  const std::vector<NamedSet> sets = batmaps(random, 40);
  AllPairsQuery query;
  query.min_count = 60;
  for (const AllPairsWay way : {AllPairsWay::kTiles, AllPairsWay::kRelation}) {
    query.way = way;
    const std::vector<PairRow> expected = oracle(sets, query);
    ASSERT_FALSE(expected.empty());
    for (const AcceleratorStatus status : {AcceleratorStatus::kDeclined, AcceleratorStatus::kNoDevice,
                                           AcceleratorStatus::kOutOfMemory, AcceleratorStatus::kFailed})
      for (int call = 0; call < Fake::kPairCalls; ++call) {
        const bool is_of_sets = call == Fake::kAddSets || call == Fake::kAddPlanes;
        if (way == AllPairsWay::kTiles ? call == Fake::kAddRows : is_of_sets) continue;
        Fake::state().reset();
        Fake::state().answer[call] = status;
        Offload offload([](std::string&) { return Fake::api(); });
        const Found answers = found(sets, on_devices(query, offload, DeviceMode::kCuda), 2);
        EXPECT_EQ(difference(answers.rows, expected), "");
        EXPECT_EQ(answers.record.device, "cpu");
        const bool is_error = status == AcceleratorStatus::kFailed && call != Fake::kDevices;
        EXPECT_EQ(answers.record.notice.empty(), !is_error) << answers.record.notice;
        EXPECT_EQ(Fake::state().open, 0);
        Offload another([](std::string&) { return Fake::api(); });
        EXPECT_THROW(found(sets, on_devices(query, another, DeviceMode::kRequire), 2), Error);
      }
  }
}

TEST_F(AllPairsOnDevices, FailInTheMiddle) {
  // enough pairs for two tasks
  Random random(kSeed + 7);
  std::vector<NamedSet> sets;
  for (int64_t id = 0; id < 3200; ++id) {
    NamedSet set{id, {}, 24};
    while (set.elements.size() < 300) set.elements.insert(random.below(1 << 24));
    sets.push_back(set);
  }
  AllPairsQuery query;
  query.min_count = 1;
  const Found expected = found(sets, query, 2);
  ASSERT_GT(expected.rows.size(), 10000u);
  for (const AcceleratorStatus status : {AcceleratorStatus::kFailed, AcceleratorStatus::kOutOfMemory}) {
    // The threads decide whether the first task's answers are handed over before the last task fails:
    // repeat until they are.
    bool handed_over = false;
    for (int run_number = 0; run_number < 20 && !handed_over; ++run_number) {
      Fake::state().reset();
      Fake::state().answer[Fake::kCountRows] = status;
      Fake::state().after[Fake::kCountRows] = 1;
      Fake::state().delay_ms = 20;
      Offload offload([](std::string&) { return Fake::api(); });
      MemoryMeter meter(size_t{1} << 30);
      AllPairsRun pairs(stored(sets, meter), on_devices(query, offload, DeviceMode::kCuda), {2, &meter, {}});
      EXPECT_EQ(pairs.record().device, "cuda:0 fake") << pairs.record().reason;
      std::vector<PairRow> rows;
      PairBatch batch;
      while (pairs.next(batch)) {
        rows.insert(rows.end(), batch.begin(), batch.end());
        handed_over |= pairs.record().device != "cpu" && !rows.empty();
      }
      EXPECT_EQ(difference(rows, expected.rows), "");
      EXPECT_EQ(pairs.record().device, "cpu");
    }
    EXPECT_TRUE(handed_over);
  }
}

}  // namespace
}  // namespace batmap::test
