// Random walks; the itemset of each step is compared with a sorted copy.
#include "itemsets/answers/ascending_itemset.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

TEST(AscendingItemset, IsTheWalkSorted) {
  constexpr size_t kLongest = 40;
  Random random(kSeed);
  MemoryMeter meter;
  AscendingItemset itemset(meter, kLongest);
  std::vector<int64_t> walked;
  for (int step = 0; step < 20000; ++step) {
    // A step is mostly one item longer or as long, and sometimes much shorter.
    const size_t length =
        random.chance(5) ? 1 + random.below(walked.size() + 1) : std::max<size_t>(1, walked.size() + random.below(3) - 1);
    if (length > kLongest || length > walked.size() + 1) continue;
    walked.resize(length - 1);
    int64_t item = scattered_key(random.signed_below(200));
    while (std::count(walked.begin(), walked.end(), item) > 0) item = scattered_key(random.signed_below(200));
    walked.push_back(item);
    itemset.step(static_cast<uint32_t>(length), item);
    std::vector<int64_t> sorted = walked;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_TRUE(std::ranges::equal(itemset.items(), sorted)) << "step " << step << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace batmap::test
