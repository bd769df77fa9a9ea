// Searches with a falling threshold find the k answers of largest support, whatever the supports are.
#include "core/falling_threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace batmap::test {
namespace {

uint64_t reaching(const std::vector<uint64_t>& supports, uint64_t min_count) {
  return static_cast<uint64_t>(std::count_if(supports.begin(), supports.end(), [&](uint64_t s) { return s >= min_count; }));
}

TEST(FallingThreshold, EndsWhenKAnswersReachItOrAtTheLeast) {
  const std::vector<std::vector<uint64_t>> inputs = {
      {}, {1}, {7}, {100, 1, 1}, {100, 99, 98, 3, 2, 1}, {5, 5, 5, 5}, std::vector<uint64_t>(1000, 2)};
  for (const std::vector<uint64_t>& supports : inputs) {
    for (const uint64_t k : {uint64_t{1}, uint64_t{3}, uint64_t{1000}, UINT64_MAX}) {
      for (const uint64_t lowest : {1, 2, 99, 200}) {
        FallingThreshold threshold(k, 100, lowest);
        std::vector<uint64_t> tried;
        do tried.push_back(threshold.min_count());
        while (threshold.falls_after(reaching(supports, threshold.min_count())));
        EXPECT_EQ(tried.front(), std::max<uint64_t>(100, lowest));
        EXPECT_EQ(tried.back(), threshold.min_count());
        EXPECT_TRUE(tried.back() == lowest || reaching(supports, tried.back()) >= k);
        for (size_t at = 0; at + 1 < tried.size(); ++at) {
          EXPECT_LT(reaching(supports, tried[at]), k) << "it falls no further than needed";
          EXPECT_LT(tried[at + 1], tried[at]);
          EXPECT_GE(tried[at + 1], lowest);
        }
      }
    }
  }
}

TEST(FallingThreshold, FallsInLogarithmicallyManySteps) {
  FallingThreshold threshold(1, uint64_t{1} << 62, 1);
  int steps = 0;
  while (threshold.falls_after(0)) ++steps;
  EXPECT_EQ(threshold.min_count(), 1u);
  EXPECT_LT(steps, 160);
}

}  // namespace
}  // namespace batmap::test
