// Counting sort against std::stable_sort: few and many entries and buckets, one thread and several.
#include "core/counting_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/unit/shared/failing_run.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

struct Keyed {
  uint32_t key;
  uint32_t number;

  friend bool operator==(const Keyed&, const Keyed&) = default;
};

std::vector<Keyed> random_entries(Random& random, size_t size, uint32_t bound) {
  std::vector<Keyed> entries(size);
  for (size_t k = 0; k < size; ++k) entries[k] = {static_cast<uint32_t>(random.below(bound)), static_cast<uint32_t>(k)};
  return entries;
}

std::vector<Keyed> sorted(const std::vector<Keyed>& entries, uint32_t bound, const ExecutionOptions& options) {
  Buffer<Keyed> from(*options.memory, entries.size());
  Buffer<Keyed> to(*options.memory, entries.size());
  std::ranges::copy(entries, from.data());
  sort_by(&Keyed::key, bound, entries.size(), from, to, options);
  return {to.span().begin(), to.span().end()};
}

TEST(CountingSortTest, KeepsTheOrderOfEquals) {
  Random random(20261129);
  for (const size_t size : {0, 1, 1000, 65'536 * 3 + 17, 500'000})
    for (const uint32_t bound : {1u, 2u, 1000u, 100'000u, 1'000'000u}) {
      const std::vector<Keyed> entries = random_entries(random, size, bound);
      std::vector<Keyed> expected = entries;
      std::ranges::stable_sort(expected, {}, &Keyed::key);
      for (const int threads : {1, 2, 5}) {
        MemoryMeter meter;
        EXPECT_EQ(sorted(entries, bound, {threads, &meter, {}}), expected) << size << ", " << bound << ", " << threads;
        EXPECT_EQ(meter.current(), 0u);
      }
    }
}

TEST(CountingSortTest, PositionsTakeNoMoreThanTheEntriesOrOneSetOfBuckets) {
  Random random(20261130);
  for (const uint32_t bound : {10u, 200'000u, 1'000'000u}) {
    const std::vector<Keyed> entries = random_entries(random, 600'000, bound);
    MemoryMeter meter;
    sorted(entries, bound, {16, &meter, {}});
    EXPECT_LE(meter.peak(), 2 * entries.size() * sizeof(Keyed) + 4 * std::max<size_t>(entries.size(), bound));
  }
}

TEST(CountingSortTest, CanFailAnywhere) {
  Random random(20261131);
  const std::vector<Keyed> entries = random_entries(random, 300'000, 500);
  const FailingRun run = [&](const ExecutionOptions& options) { sorted(entries, 500, options); };
  run_out_of_memory_everywhere(2, 131072, 3, run);
  cancel_everywhere(2, 5, run);
}

}  // namespace
}  // namespace batmap::test
