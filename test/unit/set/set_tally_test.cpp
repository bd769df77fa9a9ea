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

struct Taken {
  std::vector<uint64_t> ids;
  std::vector<uint64_t> counts;  // by the number of lists
};

/// A whole pass.
Taken take_all(SetTally& tally, uint32_t least, uint32_t lists, const CancelToken& cancel = {}) {
  Taken taken;
  taken.counts.resize(lists + 1);
  GrowingBuffer<uint64_t> ids(test_meter());
  size_t at = 0;
  do {
    ids.shrink(0);
    at = tally.take(least, at, ids, taken.counts.data(), cancel);
    taken.ids.insert(taken.ids.end(), ids.begin(), ids.end());
  } while (at != 0);
  return taken;
}

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
      const auto least = static_cast<uint32_t>(1 + random.below(lists + 2));
      std::vector<uint64_t> ids;
      std::vector<uint64_t> counts(kLists + 1);
      for (auto& [id, own] : expected) {
        if (own.is_taken || own.lists < least) continue;
        own.is_taken = true;
        ids.push_back(id);
        ++counts[own.lists];
      }
      const Taken taken = take_all(tally, least, kLists);
      ASSERT_EQ(taken.ids, ids) << shape.pages << " pages, " << lists << " lists";
      ASSERT_EQ(taken.counts, counts);
    }
  }
}

/// Places of few pages take less room as an array; sets of many pages take less as a table.
TEST(SetTally, IsFullWhereNeitherFormFits) {
  const auto added = [](uint64_t stride, size_t max_bytes) {
    SetTally tally(test_meter(), max_bytes);
    uint64_t k = 0;
    while (k < 20000 && tally.add(id_of(k * stride, 1), 1) != SetTally::kNoRoom) ++k;
    return k;
  };
  EXPECT_EQ(added(1, 1 << 20), 20000U);
  EXPECT_LT(added(1, 1 << 14), 8192U);
  EXPECT_EQ(added(1 << 20, 1 << 20), 20000U);
  EXPECT_LT(added(1 << 20, 1 << 14), 2048U);
  SetTally tally(test_meter(), 1 << 14);
  for (uint64_t k = 0; k < 2000; ++k) ASSERT_EQ(tally.add(id_of(k, 1), 1), 1U);
  EXPECT_EQ(tally.add(id_of(1, 60), 1), SetTally::kNoRoom);       // wider rows of the array
  EXPECT_EQ(tally.add(id_of(1 << 20, 1), 1), SetTally::kNoRoom);  // more of them
  EXPECT_EQ(tally.add(id_of(1999, 1), 2), 2U);                    // nothing was lost
}

TEST(SetTally, LosesNothingWithoutMemory) {
  MemoryMeter meter(size_t{20} << 10);
  SetTally tally(meter, SIZE_MAX);
  uint64_t k = 0;
  EXPECT_THROW(for (; k < 20000; ++k) tally.add(id_of(k << 20, 1), 1), Error);
  EXPECT_EQ(tally.add(id_of(0, 1), 2), 2U);
  EXPECT_EQ(take_all(tally, 1, 2).counts, (std::vector<uint64_t>{0, k - 1, 1}));
}

TEST(SetTally, StopsWhenCancelled) {
  for (const uint64_t stride : {uint64_t{1}, uint64_t{1} << 20}) {
    Polls polls{.stop_at = 1};
    SetTally tally(test_meter(), SIZE_MAX);
    for (uint64_t k = 0; k < 5000; ++k) tally.add(id_of(k * stride, 1), 1);
    EXPECT_THROW(take_all(tally, 1, 1, polls.token()), Error);
  }
}

}  // namespace
}  // namespace batmap::test
