// Runs of pair counts, against a map.
#include "pairs/count_runs.h"

#include <gtest/gtest.h>

#include <map>

#include "test/unit/shared/countdown.h"
#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

using Counts = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

void append(CountRuns& runs, const Counts& counts, MemoryMeter& meter) {
  runs.begin_run();
  std::vector<PairCount> pairs;
  for (const auto& [pair, count] : counts) pairs.push_back({pair.first, pair.second, count});
  GrowingBuffer<std::byte> rows(meter);
  CountRuns::encode(pairs, rows);
  runs.append(rows.span());
}

template <typename Count>
Counts add_up(CountRuns& runs, uint32_t items, uint64_t min_count, uint64_t max_bytes, MemoryMeter& meter, size_t& blocks) {
  const std::vector<Count> supports(items);
  Counts sums;
  blocks = 0;
  while (const std::unique_ptr<PairCounter> block = runs.next_block<Count>(supports, min_count, max_bytes)) {
    ++blocks;
    GrowingBuffer<PairCount> found(meter);
    for (size_t task = 0; task < block->tasks(); ++task) {
      const size_t before = found.size();
      block->count(task, 0, 1, found);
      EXPECT_LE(found.size() - before, block->max_results());
    }
    for (const PairCount& pair : found) {
      EXPECT_TRUE(sums.empty() || sums.rbegin()->first < std::pair(pair.a, pair.b)) << "in order";
      sums[{pair.a, pair.b}] = pair.count;
    }
  }
  return sums;
}

/// @param base  of the counts
Counts random_counts(Random& random, uint32_t items, const WantedPairs& wanted, size_t pairs, uint64_t base) {
  Counts counts;
  while (counts.size() < pairs) {
    const auto a = static_cast<uint32_t>(random.below(wanted.leading));
    const uint32_t first = wanted.first_after(a);
    if (first < items) counts[{a, first + static_cast<uint32_t>(random.below(items - first))}] = base + random.below(3) + 1;
  }
  return counts;
}

template <typename Count>
void compare(uint32_t items, const WantedPairs& wanted, const std::vector<size_t>& sizes, uint64_t base,
             uint64_t max_bytes) {
  MemoryMeter meter;
  {
    FakeFiles files;
    const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 1 << 20};
    CountRuns runs(items, wanted, options);
    Random random(items + sizes.size());
    Counts expected;
    uint64_t pairs = 0;
    for (const size_t size : sizes) {
      const Counts run = random_counts(random, items, wanted, size, base);
      append(runs, run, meter);
      pairs += run.size();
      for (const auto& [pair, count] : run) expected[pair] += count;
    }
    EXPECT_EQ(runs.pairs(), pairs);
    const uint64_t min_count = base + 2;
    std::erase_if(expected, [&](const auto& entry) { return entry.second < min_count; });
    size_t blocks;
    EXPECT_EQ(add_up<Count>(runs, items, min_count, max_bytes, meter, blocks), expected);
    if (max_bytes == 0) {
      EXPECT_GE(blocks, std::min<size_t>(expected.size(), 1));
    } else if (max_bytes > runs.bytes()) {
      EXPECT_EQ(blocks, 1u);
    }
  }
  EXPECT_EQ(meter.current(), 0u);
}

TEST(CountRuns, AddUp) {
  const WantedPairs triangle{.leading = 300};
  const WantedPairs included{.leading = 7};
  const WantedPairs rectangle{.leading = 40, .first_column = 40};
  for (const WantedPairs& wanted : {triangle, included, rectangle})
    for (const std::vector<size_t>& sizes :
         {std::vector<size_t>{}, {1}, {500}, {500, 1, 0, 900, 40}, std::vector<size_t>(100, 90)})
      for (const uint64_t max_bytes : {0, 500, 1 << 20}) {
        compare<uint32_t>(300, wanted, sizes, 0, max_bytes);
        compare<uint64_t>(300, wanted, sizes, uint64_t{1} << 40, max_bytes);
      }
}

TEST(CountRuns, RowsLargerThanTheBuffers) { compare<uint32_t>(40000, {.leading = 2}, {30000, 100, 35000}, 1000, 100); }

TEST(CountRuns, ClearedRunsLeaveNothing) {
  MemoryMeter meter;
  FakeFiles files;
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 1 << 20};
  CountRuns runs(10, {.leading = 10}, options);
  append(runs, {{{1, 2}, 3}, {{1, 9}, 1}}, meter);
  runs.clear();
  EXPECT_EQ(runs.pairs(), 0u);
  EXPECT_EQ(runs.bytes(), 0u);
  append(runs, {{{1, 2}, 5}, {{4, 5}, 1}}, meter);
  size_t blocks;
  EXPECT_EQ(add_up<uint32_t>(runs, 10, 1, 1 << 20, meter, blocks), (Counts{{{1, 2}, 5}, {{4, 5}, 1}}));
}

TEST(CountRuns, CanBeCancelled) {
  MemoryMeter meter;
  FakeFiles files;
  Countdown countdown{0};
  ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}, .files = &files, .work_bytes = 1 << 20};
  CountRuns runs(10, {.leading = 10}, options);
  append(runs, {{{1, 2}, 3}}, meter);
  options.cancel = countdown.token();
  const std::vector<uint32_t> supports(10);
  EXPECT_THROW(runs.next_block<uint32_t>(supports, 1, 100), Error);
}

}  // namespace
}  // namespace batmap::test
