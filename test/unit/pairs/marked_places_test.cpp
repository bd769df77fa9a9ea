// MarkedPlaces against std::set.
#include "pairs/counters/marked_places.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace batmap {
namespace {

TEST(MarkedPlaces, AreVisitedInOrderAndForgotten) {
  std::mt19937 random(1);
  for (const size_t places : {size_t{1}, size_t{64}, size_t{65}, size_t{4096}, size_t{4097}, size_t{262'144},
                              size_t{262'145}, size_t{1'000'000}}) {
    MemoryMeter meter;
    MarkedPlaces marks(meter, places);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{200}, size_t{20'000}}) {
      std::set<size_t> expected;
      for (size_t k = 0; k < count; ++k) expected.insert(random() % places);
      if (count > 0) expected.insert({0, places - 1});
      for (const size_t place : expected) {
        marks.mark(place);
        marks.mark(place);
      }
      std::vector<size_t> found;
      marks.visit([&](size_t place) { found.push_back(place); });
      EXPECT_EQ(found, std::vector<size_t>(expected.begin(), expected.end()));
      marks.visit([](size_t place) { FAIL() << place << " is still marked"; });
    }
  }
}

}  // namespace
}  // namespace batmap
