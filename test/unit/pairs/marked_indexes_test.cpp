// MarkedIndexes against std::set.
#include "pairs/counters/marked_indexes.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace batmap {
namespace {

TEST(MarkedIndexes, AreVisitedInOrderAndForgotten) {
  std::mt19937 random(1);
  for (const size_t indexes : {size_t{1}, size_t{64}, size_t{65}, size_t{4096}, size_t{4097}, size_t{262'144},
                               size_t{262'145}, size_t{1'000'000}}) {
    MemoryMeter meter;
    MarkedIndexes marks(meter, indexes);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{200}, size_t{20'000}}) {
      std::set<size_t> expected;
      for (size_t k = 0; k < count; ++k) expected.insert(random() % indexes);
      if (count > 0) expected.insert({0, indexes - 1});
      for (const size_t index : expected) {
        marks.mark(index);
        marks.mark(index);
      }
      std::vector<size_t> found;
      marks.visit([&](size_t index) { found.push_back(index); });
      EXPECT_EQ(found, std::vector<size_t>(expected.begin(), expected.end()));
      marks.visit([](size_t index) { FAIL() << index << " is still marked"; });
    }
  }
}

}  // namespace
}  // namespace batmap
