// The k best of many entries against sorting all of them, for any order of arrival.
#include "core/best_k.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace batmap::test {
namespace {

constexpr uint64_t kSeed = 11;

struct Entry {
  int score;
  int name;
  auto operator<=>(const Entry&) const = default;
};

bool better(const Entry& x, const Entry& y) { return std::tuple(y.score, x.name) < std::tuple(x.score, y.name); }

/// Entries with different names. Scores have few different values, so that ties decide.
std::vector<Entry> some_entries(std::mt19937_64& random, int count) {
  std::vector<Entry> entries;
  for (int name = 0; name < count; ++name) entries.push_back({static_cast<int>(random() % 5), name});
  std::shuffle(entries.begin(), entries.end(), random);
  return entries;
}

TEST(BestK, LikeSorting) {
  std::mt19937_64 random(kSeed);
  for (const int count : {0, 1, 2, 63, 64, 65, 1000}) {
    const std::vector<Entry> entries = some_entries(random, count);
    std::vector<Entry> expected = entries;
    std::sort(expected.begin(), expected.end(), better);
    for (const uint64_t k : {uint64_t{1}, uint64_t{2}, uint64_t{64}, uint64_t{65}, uint64_t{1000}, UINT64_MAX}) {
      MemoryMeter meter;
      {
        BestK<Entry> best(meter, k);
        std::set<Entry> seen;
        for (const Entry& entry : entries) {
          best.offer(entry, better);
          seen.insert(entry);
          ASSERT_EQ(best.size(), std::min<uint64_t>(k, seen.size()));
          ASSERT_EQ(best.is_full(), seen.size() >= k);
          for (const Entry& kept : best.entries()) ASSERT_FALSE(better(best.worst(), kept) && better(kept, best.worst()));
        }
        best.sort({}, better);
        const std::vector<Entry> first(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(best.size()));
        EXPECT_EQ(std::vector<Entry>(best.entries().begin(), best.entries().end()), first)
            << count << " entries, k " << k << ", seed " << kSeed;
      }
      EXPECT_EQ(meter.current(), 0u);
    }
  }
}

TEST(BestK, TheWorstIsInFront) {
  std::mt19937_64 random(kSeed + 1);
  MemoryMeter meter;
  BestK<Entry> best(meter, 10);
  for (const Entry& entry : some_entries(random, 100)) {
    best.offer(entry, better);
    for (const Entry& kept : best.entries()) ASSERT_FALSE(better(best.worst(), kept)) << "seed " << kSeed + 1;
  }
}

TEST(BestK, OfferIsDropAndAdd) {
  std::mt19937_64 random(kSeed + 2);
  MemoryMeter meter;
  BestK<Entry> offered(meter, 7);
  BestK<Entry> stepwise(meter, 7);
  std::multiset<Entry> held;
  for (const Entry& entry : some_entries(random, 100)) {
    offered.offer(entry, better);
    if (stepwise.is_full()) {
      if (!better(entry, stepwise.worst())) continue;
      const Entry worst = stepwise.worst();
      const Entry dropped = stepwise.drop_worst(better);
      EXPECT_EQ(dropped, worst);
      held.erase(held.find(dropped));
    }
    stepwise.add(entry, better);
    held.insert(entry);
  }
  EXPECT_EQ(std::multiset<Entry>(offered.entries().begin(), offered.entries().end()), held) << "seed " << kSeed + 2;
}

TEST(BestK, SortingCanBeCancelled) {
  MemoryMeter meter;
  BestK<Entry> best(meter, UINT64_MAX);
  for (int name = 0; name < 100'000; ++name) best.offer({name % 97, name}, better);
  try {
    best.sort({[](void*) { return true; }, nullptr}, better);
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace batmap::test
