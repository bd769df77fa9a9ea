// Counts of lists against a map: ids that make a table, an array or first the one and then the other; lack of room and memory;
// a cancel.
#include "set/set_tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/error.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

struct Expected {
  uint32_t lists = 0;
  bool is_taken = false;
};

uint64_t id_of(uint64_t page, uint64_t place) { return page << SetTally::kPlaceBits | place; }

TEST(SetTally, AgreesWithAMap) {
  struct Shape {
    uint64_t pages, places;
    size_t ids;
  };
  // The last page and the last place come late in some rounds, when there is an array.
  constexpr Shape kShapes[] = {{1, 1, 1},
                               {1, 60, 40},
                               {40, 8, 5000},
                               {3000, 50, 20000},
                               {20, 60000, 3000},
                               {1 << 30, 40, 9000},
                               {(1 << 30) - 1, 1 << 16, 5000}};
  Random random(11);
  for (const Shape& shape : kShapes) {
    SetTally tally(test_meter(), SIZE_MAX);
    std::map<uint64_t, Expected> expected;
    constexpr uint32_t kLists = 12;
    for (uint32_t lists = 1; lists <= kLists; ++lists) {
      for (size_t k = 0; k < shape.ids; ++k) {
        const uint64_t pages = std::max<uint64_t>(shape.pages * lists / kLists, 1);
        const uint64_t id = id_of(random.below(pages), random.below(std::max<uint64_t>(shape.places * lists / kLists, 1)));
        Expected& own = expected[id];
        const bool counts = !own.is_taken && own.lists < lists;
        own.lists += counts;
        ASSERT_EQ(tally.add(id, lists), counts ? own.lists : 0);
      }
      const auto wanted = static_cast<uint32_t>(1 + random.below(lists));
      std::vector<uint64_t> ids;
      for (auto& [id, own] : expected) {
        if (own.is_taken || own.lists != wanted) continue;
        own.is_taken = true;
        ids.push_back(id);
      }
      std::vector<uint64_t> taken(ids.size() + 1);
      ASSERT_EQ(tally.take(wanted, taken.data(), {}), ids.size()) << shape.pages << " pages, " << lists << " lists";
      taken.pop_back();
      ASSERT_EQ(taken, ids);
    }
  }
}

/// Places of few pages take less room as an array; sets of many pages take less as a table.
TEST(SetTally, IsFullWhereNeitherFormFits) {
  const auto added = [](uint64_t stride, size_t max_bytes) {
    SetTally tally(test_meter(), max_bytes);
    uint64_t k = 0;
    while (k < 20000 && tally.add(id_of(k * stride, 1), 1)) ++k;
    return k;
  };
  EXPECT_EQ(added(1, 1 << 20), 20000U);
  EXPECT_LT(added(1, 1 << 14), 8192U);
  EXPECT_EQ(added(1 << 20, 1 << 20), 20000U);
  EXPECT_LT(added(1 << 20, 1 << 14), 2048U);
  SetTally tally(test_meter(), 1 << 14);
  for (uint64_t k = 0; k < 2000; ++k) ASSERT_TRUE(tally.add(id_of(k, 1), 1));
  EXPECT_FALSE(tally.add(id_of(1, 60), 1));       // wider rows of the array
  EXPECT_FALSE(tally.add(id_of(1 << 20, 1), 1));  // more of them
  EXPECT_EQ(tally.add(id_of(1999, 1), 2), 2U);    // nothing was lost
}

TEST(SetTally, LosesNothingWithoutMemory) {
  MemoryMeter meter(size_t{20} << 10);
  SetTally tally(meter, SIZE_MAX);
  uint64_t k = 0;
  EXPECT_THROW(for (; k < 20000; ++k) tally.add(id_of(k << 20, 1), 1), Error);
  EXPECT_EQ(tally.add(id_of(0, 1), 2), 2U);
  std::vector<uint64_t> ids(k);
  EXPECT_EQ(tally.take(1, ids.data(), {}), k - 1);
}

TEST(SetTally, StopsWhenCancelled) {
  for (const uint64_t stride : {uint64_t{1}, uint64_t{1} << 20}) {
    Polls polls{.stop_at = 1};
    SetTally tally(test_meter(), SIZE_MAX);
    for (uint64_t k = 0; k < 5000; ++k) tally.add(id_of(k * stride, 1), 1);
    std::vector<uint64_t> ids(5000);
    EXPECT_THROW(tally.take(1, ids.data(), polls.token()), Error);
  }
}

}  // namespace
}  // namespace batmap::test
