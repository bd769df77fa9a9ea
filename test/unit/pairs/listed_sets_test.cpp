// Listed pairs of stored sets against loops over std::set: both forms of a set, several widths, ids without a set, pairs that
// repeat. On a fake accelerator, whatever it answers. Then too little memory, and cancellation.
#include "pairs/listed_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/fake_accelerator_test.h"
#include "test/unit/shared/sets.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr uint64_t kListedSeed = 20261124;
constexpr double kSlow = 1e-9;  // rows that a device groups in a nanosecond: batmaps are faster than lists

struct IdSet {
  int64_t id;
  std::set<uint64_t> elements;
  int width;  // kCompactForm: compact
};

/// @param widths  the sets take turns
std::vector<IdSet> sets_with_ids(Random& random, size_t count, uint64_t universe, uint64_t max_size,
                                 const std::vector<int>& widths) {
  std::vector<IdSet> sets;
  for (size_t i = 0; i < count; ++i) {
    IdSet set{scattered_key(static_cast<int64_t>(i)), {}, widths[i % widths.size()]};
    for (uint64_t k = random.below(max_size + 1); k > 0; --k) set.elements.insert(random.below(universe));
    sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<TidItem> list_of_ids(Random& random, const std::vector<IdSet>& sets, size_t pairs) {
  std::vector<TidItem> list;
  const auto id = [&] {
    return sets.empty() || random.chance(20) ? random.signed_below(1000) : sets[random.below(sets.size())].id;
  };
  for (size_t k = 0; k < pairs; ++k) {
    TidItem pair{id(), id()};
    if (random.chance(20)) pair.item = pair.tid;
    if (!list.empty() && random.chance(20)) pair = list[random.below(list.size())];
    list.push_back(pair);
  }
  return list;
}

SetCollection collection_of(const std::vector<IdSet>& sets, MemoryMeter& meter) {
  SetCollection collection(meter);
  for (const IdSet& set : sets) {
    const Elements elements(set.elements.begin(), set.elements.end());
    collection.add(set.id, set.width == kCompactForm ? encode_compact(elements) : encode(elements, set.width));
  }
  return collection;
}

struct FoundAnswers {
  std::vector<PairRow> rows;
  RunRecord record;
};

FoundAnswers find(const std::vector<IdSet>& sets, const std::vector<TidItem>& list, const ListedSetsQuery& query,
                  const ExecutionOptions& options) {
  const PackedRows listed(list);
  ListedSets run(collection_of(sets, *options.memory), listed.chunks(), listed.chunks(), query, options);
  FoundAnswers found;
  PairBatch batch;
  while (run.next(batch)) found.rows.insert(found.rows.end(), batch.begin(), batch.end());
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(run.next(batch));
  found.record = run.record();
  return found;
}

void expect_right(const FoundAnswers& found, const std::vector<IdSet>& sets, const std::vector<TidItem>& list,
                  const ListedSetsQuery& query) {
  std::map<int64_t, const std::set<uint64_t>*> by_id;
  std::set<uint64_t> all;
  for (const IdSet& set : sets) {
    by_id[set.id] = &set.elements;
    all.insert(set.elements.begin(), set.elements.end());
  }
  const std::set<uint64_t> none;
  const auto elements = [&](int64_t id) -> const std::set<uint64_t>& {
    const auto at = by_id.find(id);
    return at == by_id.end() ? none : *at->second;
  };
  ASSERT_EQ(found.rows.size(), list.size());
  EXPECT_EQ(found.record.results, list.size());
  EXPECT_EQ(found.record.transactions, query.total ? all.size() : 0);
  for (size_t k = 0; k < list.size(); ++k) {
    const std::set<uint64_t>& a = elements(list[k].tid);
    const std::set<uint64_t>& b = elements(list[k].item);
    std::vector<uint64_t> common;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
    ASSERT_EQ(found.rows[k].item_a, list[k].tid);
    ASSERT_EQ(found.rows[k].item_b, list[k].item);
    ASSERT_EQ(found.rows[k].support, common.size()) << list[k].tid << ", " << list[k].item;
    ASSERT_EQ(found.rows[k].support_a, query.supports ? a.size() : 0);
    ASSERT_EQ(found.rows[k].support_b, query.supports ? b.size() : 0);
  }
}

class ListedSetsTest : public FakeAcceleratorTest {
 protected:
  ListedSetsQuery on_devices(DeviceMode mode) { return on_devices(mode, offload_); }
  static ListedSetsQuery on_devices(DeviceMode mode, Offload& offload) {
    ListedSetsQuery query;
    query.device.offload = &offload;
    query.device.mode = mode;
    return query;
  }
};

TEST_F(ListedSetsTest, AnswersEachRowOfTheListInItsOrder) {
  SCOPED_TRACE("seed " + std::to_string(kListedSeed));
  Random random(kListedSeed);
  const std::vector<int> forms[] = {{kCompactForm}, {24}, {kCompactForm, 16, 24, 40}};
  for (const std::vector<int>& widths : forms)
    for (const auto& [count, universe] : {std::pair{0u, 10u}, {1u, 10u}, {2u, 65536u}, {40u, 700u}, {40u, 65536u}})
      for (const size_t pairs : {0, 1, 30, 3000}) {  // few are compared as they are; for many, compact sets are prepared
        const std::vector<IdSet> sets = sets_with_ids(random, count, universe, 900, widths);
        const std::vector<TidItem> list = list_of_ids(random, sets, pairs);
        for (const int threads : {1, 3}) {
          MemoryMeter meter;
          ListedSetsQuery query;
          query.supports = query.total = threads == 3;
          expect_right(find(sets, list, query, {threads, &meter, {}}), sets, list, query);
          EXPECT_EQ(meter.current(), 0u);
        }
      }
}

// So many rows that threads share out each step; of few and of many different pairs, and with rows that name no set.
TEST_F(ListedSetsTest, LongLists) {
  Random random(kListedSeed + 7);
  for (const size_t count : {3u, 600u}) {
    const std::vector<IdSet> sets = sets_with_ids(random, count, 2000, 60, {kCompactForm});
    const std::vector<TidItem> list = list_of_ids(random, sets, 400'000);
    for (const int threads : {1, 2, 7}) {
      MemoryMeter meter;
      ListedSetsQuery query;
      query.supports = true;
      expect_right(find(sets, list, query, {threads, &meter, {}}), sets, list, query);
      EXPECT_EQ(meter.current(), 0u);
    }
  }
}

// Far apart, so that elements are sorted and not marked.
TEST_F(ListedSetsTest, TotalOfALargeUniverse) {
  Random random(kListedSeed + 1);
  const std::vector<IdSet> sets = sets_with_ids(random, 10, uint64_t{1} << 40, 500, {kCompactForm});
  const std::vector<TidItem> list = list_of_ids(random, sets, 20);
  MemoryMeter meter;
  ListedSetsQuery query;
  query.total = true;
  expect_right(find(sets, list, query, {2, &meter, {}}), sets, list, query);
}

TEST_F(ListedSetsTest, OnDevices) {
  Random random(kListedSeed + 2);
  // Batmaps, others, and batmaps of another width: the CPU counts the pairs of which one set is no batmap of the width.
  const std::vector<int> forms[] = {{kCompactForm}, {24}, {kCompactForm, 24, 30}};
  for (const std::vector<int>& widths : forms) {
    std::vector<IdSet> sets = sets_with_ids(random, 30, uint64_t{1} << 24, 40, widths);
    for (size_t i = 0; i < 20; ++i)
      while (sets[i].elements.size() < 300 + 10 * i) sets[i].elements.insert(random.below(uint64_t{1} << 12));
    if (widths[0] == kCompactForm) sets[0].elements.insert((uint64_t{1} << 24) - 1);
    const std::vector<TidItem> list = list_of_ids(random, sets, 2000);
    for (const bool as_lists : {true, false})
      for (const DeviceMode mode : {DeviceMode::kCuda, DeviceMode::kRequire})
        for (const uint32_t devices : {1u, 3u}) {
          FakeAccelerator::state().device_count = devices;
          FakeAccelerator::state().rates.grouped_rows = as_lists ? 1e9 : kSlow;
          MemoryMeter meter;
          ListedSetsQuery query = on_devices(mode);
          query.supports = true;
          const FoundAnswers found = find(sets, list, query, {devices == 1 ? 1 : 3, &meter, {}});
          expect_right(found, sets, list, query);
          const bool is_compact = widths == std::vector<int>{kCompactForm};  // else either may be faster
          if (is_compact || !as_lists) {
            EXPECT_EQ(found.record.method, as_lists ? "lists" : "comparing") << found.record.reason;
          }
          EXPECT_EQ(found.record.device, devices == 1 ? "cuda:0 fake" : "cuda:0 fake, cuda:1 fake, cuda:2 fake")
              << found.record.reason;
        }
  }
  EXPECT_GT(FakeAccelerator::state().calls[FakeAccelerator::kCountList], 0);

  // Elements that are no tids, and no batmap: there is nothing for a device; without a pair there is nothing to count.
  const std::vector<IdSet> small = sets_with_ids(random, 5, 1000, 5, {40});
  const std::vector<TidItem> list = list_of_ids(random, small, 50);
  MemoryMeter meter;
  EXPECT_EQ(find(small, list, on_devices(DeviceMode::kCuda), {1, &meter, {}}).record.device, "cpu");
  EXPECT_THROW(find(small, list, on_devices(DeviceMode::kRequire), {1, &meter, {}}), Error);
  EXPECT_EQ(find(small, {}, on_devices(DeviceMode::kRequire), {1, &meter, {}}).rows.size(), 0u);
}

std::vector<IdSet> large_sets(Random& random, size_t count = 30) {
  std::vector<IdSet> sets = sets_with_ids(random, count, uint64_t{1} << 24, 0, {kCompactForm});
  for (IdSet& set : sets)
    while (set.elements.size() < 400) set.elements.insert(random.below(uint64_t{1} << 24));
  return sets;
}

TEST_F(ListedSetsTest, AutoTakesDevicesWhereTheyAreFaster) {
  Random random(kListedSeed + 3);
  const std::vector<IdSet> sets = large_sets(random, 300);
  const std::vector<TidItem> list = list_of_ids(random, sets, 100'000);
  MemoryMeter meter;
  offload_.api();  // loads the module, so that no context is in the estimate
  const FoundAnswers fast = find(sets, list, on_devices(DeviceMode::kAuto), {1, &meter, {}});
  EXPECT_EQ(fast.record.device, "cuda:0 fake") << fast.record.reason;
  FakeAccelerator::state().rates.launch_ms = 1000;
  const FoundAnswers slow = find(sets, list, on_devices(DeviceMode::kAuto), {1, &meter, {}});
  FakeAccelerator::state().rates.launch_ms = 0;
  EXPECT_EQ(slow.record.device, "cpu") << slow.record.reason;
  for (size_t k = 0; k < list.size(); ++k) ASSERT_EQ(fast.rows[k].support, slow.rows[k].support);
  EXPECT_EQ(find(sets, list, on_devices(DeviceMode::kCpu), {1, &meter, {}}).record.device, "cpu");
}

// More different pairs than a task for devices has; a tenth of the sets are no batmaps.
TEST_F(ListedSetsTest, LongListsOnDevices) {
  Random random(kListedSeed + 8);
  std::vector<IdSet> sets = large_sets(random, 600);
  for (size_t i = 0; i < sets.size(); i += 10) sets[i].elements = {1, 2, 3};
  const std::vector<TidItem> list = list_of_ids(random, sets, 400'000);
  MemoryMeter meter;
  const FoundAnswers on_cpu = find(sets, list, on_devices(DeviceMode::kCpu), {2, &meter, {}});
  for (const int threads : {1, 3}) {
    const FoundAnswers found = find(sets, list, on_devices(DeviceMode::kRequire), {threads, &meter, {}});
    EXPECT_EQ(found.record.device, "cuda:0 fake");
    for (size_t k = 0; k < list.size(); ++k) ASSERT_EQ(found.rows[k].support, on_cpu.rows[k].support);
  }
  EXPECT_EQ(meter.current(), 0u);
}

// The elements of all sets are sent where all pairs cost less than to compare those of the list.
TEST_F(ListedSetsTest, ListsOfManyOfAllPairsOnDevices) {
  Random random(kListedSeed + 9);
  std::vector<IdSet> sets = sets_with_ids(random, 1500, 1 << 14, 20, {kCompactForm, 14});
  for (size_t i = 0; i < sets.size(); i += 150)
    for (uint64_t x = 0; x < 4000; x += 1 + random.below(9)) sets[i].elements.insert(x);
  const std::vector<TidItem> list = list_of_ids(random, sets, 1'000'000);
  MemoryMeter meter;
  const FoundAnswers on_cpu = find(sets, list, on_devices(DeviceMode::kCpu), {2, &meter, {}});
  using Fake = FakeAccelerator;
  for (const int threads : {1, 3}) {
    const FoundAnswers found = find(sets, list, on_devices(DeviceMode::kRequire), {threads, &meter, {}});
    EXPECT_EQ(found.record.device, "cuda:0 fake");
    EXPECT_EQ(found.record.method, "horizontal") << found.record.reason;
    for (size_t k = 0; k < list.size(); ++k) ASSERT_EQ(found.rows[k].support, on_cpu.rows[k].support);
  }
  for (const Fake::Call call : {Fake::kAddRows, Fake::kBuild, Fake::kCountList}) {
    Fake::state().reset();
    Fake::state().answer[call] = AcceleratorStatus::kOutOfMemory;
    Offload offload([](std::string&) { return Fake::api(); });
    const FoundAnswers found = find(sets, list, on_devices(DeviceMode::kCuda, offload), {2, &meter, {}});
    EXPECT_EQ(found.record.device, "cpu");
    EXPECT_EQ(found.record.method, "comparing");
    for (size_t k = 0; k < list.size(); ++k) ASSERT_EQ(found.rows[k].support, on_cpu.rows[k].support);
  }
  // An element in all sets costs a count for each pair.
  for (IdSet& set : sets)
    for (uint64_t x = 0; x < 3; ++x) set.elements.insert(x);
  Fake::state().reset();
  Fake::state().rates.increments = 1e-3;
  Offload offload([](std::string&) { return Fake::api(); });
  offload.api();
  EXPECT_EQ(find(sets, list, on_devices(DeviceMode::kAuto, offload), {2, &meter, {}}).record.method, "lists");
  EXPECT_EQ(meter.current(), 0u);
}

TEST_F(ListedSetsTest, EveryCallMayFail) {
  Random random(kListedSeed + 4);
  const std::vector<IdSet> sets = large_sets(random);
  const std::vector<TidItem> list = list_of_ids(random, sets, 2000);
  using Fake = FakeAccelerator;
  for (const AcceleratorStatus status : {AcceleratorStatus::kDeclined, AcceleratorStatus::kNoDevice,
                                         AcceleratorStatus::kOutOfMemory, AcceleratorStatus::kFailed})
    for (const Fake::Call call : {Fake::kDevices, Fake::kPrepare, Fake::kOpen, Fake::kAddRows, Fake::kAddSets,
                                  Fake::kAddPlanes, Fake::kBuild, Fake::kCountList}) {
      Fake::state().reset();
      if (call == Fake::kAddSets || call == Fake::kAddPlanes) Fake::state().rates.grouped_rows = kSlow;
      Fake::state().answer[call] = status;
      Offload offload([](std::string&) { return Fake::api(); });
      MemoryMeter meter;
      const ListedSetsQuery query = on_devices(DeviceMode::kCuda, offload);
      const FoundAnswers found = find(sets, list, query, {2, &meter, {}});
      expect_right(found, sets, list, query);
      EXPECT_EQ(found.record.device, "cpu");
      const bool is_error = status == AcceleratorStatus::kFailed && call != Fake::kDevices;
      EXPECT_EQ(found.record.notice.empty(), !is_error) << found.record.notice;
      EXPECT_EQ(Fake::state().open, 0);
      Offload another([](std::string&) { return Fake::api(); });
      EXPECT_THROW(find(sets, list, on_devices(DeviceMode::kRequire, another), {2, &meter, {}}), Error);
    }
}

TEST_F(ListedSetsTest, IsCancelledOnADevice) {
  Random random(kListedSeed + 5);
  const std::vector<IdSet> sets = large_sets(random);
  const std::vector<TidItem> list = list_of_ids(random, sets, 2000);
  expect_cancelled([&](const CancelToken& cancel) {
    MemoryMeter meter;
    find(sets, list, on_devices(DeviceMode::kCuda), {2, &meter, cancel});
  });
}

TEST_F(ListedSetsTest, CanFailAnywhere) {
  Random random(kListedSeed + 6);
  const std::vector<IdSet> sets = sets_with_ids(random, 60, 20'000, 3000, {kCompactForm, 24});
  const std::vector<TidItem> list = list_of_ids(random, sets, 5000);
  ListedSetsQuery query;
  query.supports = query.total = true;
  const FailingRun run = [&](const ExecutionOptions& options) {
    EXPECT_EQ(find(sets, list, query, options).rows.size(), list.size());
  };
  run_out_of_memory_everywhere(2, 131072, 6, run);
  cancel_everywhere(2, 11, run);
}

}  // namespace
}  // namespace batmap::test
