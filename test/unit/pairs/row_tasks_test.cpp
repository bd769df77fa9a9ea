// Rows cut into tasks: all rows, in order, and no task too large.
#include "pairs/counters/row_tasks.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr uint64_t kMaxWork = 1 << 16;
constexpr uint64_t kMaxResults = 1 << 16;

TEST(RowTasks, HoldEveryRowOnceAndEndWhereTheyHaveEnough) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<RowCost> costs(random.below(2000));
    const uint64_t work = random.below(1000) + 1;
    const uint64_t results = random.below(10'000) + 1;
    for (RowCost& cost : costs) cost = {random.below(work), random.below(results)};
    const int threads = static_cast<int>(random.below(32)) + 1;
    const RowTasks tasks(static_cast<uint32_t>(costs.size()), kMaxWork, threads, [&](uint32_t row) { return costs[row]; });
    uint32_t row = 0;
    for (size_t task = 0; task < tasks.size(); ++task) {
      ASSERT_EQ(tasks.begin(task), row);
      ASSERT_GT(tasks.end(task), row);
      RowCost sum{};
      for (; row < tasks.end(task); ++row) {
        // The last row of a task may exceed the bound.
        ASSERT_LT(sum.work, kMaxWork);
        ASSERT_LT(sum.results, kMaxResults);
        sum.work += costs[row].work;
        sum.results += costs[row].results;
      }
    }
    ASSERT_EQ(row, costs.size());
  }
}

TEST(RowTasks, AreEnoughForAllThreadsAndNotTooSmall) {
  const auto even = [](uint32_t) { return RowCost{.work = 100, .results = 1}; };
  EXPECT_GE(RowTasks(10'000, kMaxWork, 8, even).size(), 8 * 4);  // 15 times the work of the largest task
  EXPECT_LE(RowTasks(10'000, kMaxWork, 8, even).size(), 8 * 16);
  EXPECT_EQ(RowTasks(50, kMaxWork, 64, even).size(), 1);  // too little work to be shared out
  EXPECT_EQ(RowTasks(0, kMaxWork, 8, even).size(), 0);
}

}  // namespace
}  // namespace batmap::test
