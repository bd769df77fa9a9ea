// Sets of ten million elements against plain sorted vectors: scanned, folded, probed and decoded, by every
// kernel. Only BATMAP_TEST_GRID=full has so many; otherwise there are two million, and one under a sanitizer.
#include <gtest/gtest.h>

#include "set/set_intersect.h"
#include "test/unit/shared/grid.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kLarge = 1000000;
#else
const size_t kLarge = full_grid() ? 10000000 : 2000000;
#endif

/// `count` elements, `step` apart on average. @param step  at least 2
Elements spread(Random& random, size_t count, uint64_t step) {
  Elements elements(count);
  uint64_t x = 0;
  for (uint64_t& element : elements) {
    x += 1 + random.below(2 * step - 1);
    element = x - 1;
  }
  return elements;
}

Elements one_in(Random& random, const Elements& from, uint64_t n) {
  Elements some;
  for (const uint64_t x : from)
    if (random.below(n) == 0) some.push_back(x);
  return some;
}

TEST(SetLarge, LikeSortedVectors) {
  Random random(21);
  const Elements elements = spread(random, kLarge, 300);
  Elements others = spread(random, kLarge * 7 / 10, 430);
  const Elements shared = one_in(random, elements, 3);
  Elements mixed;
  std::set_union(others.begin(), others.end(), shared.begin(), shared.end(), std::back_inserter(mixed));
  std::vector<NamedSet> sets;
  sets.emplace_back("batmap", 32, elements);
  sets.emplace_back("batmap of as many slots", 32, std::move(mixed));
  sets.emplace_back("batmap of fewer slots", 32, one_in(random, elements, 40));
  sets.emplace_back("batmap that probes", 32, one_in(random, elements, 5000));
  sets.emplace_back("array", 32, one_in(random, elements, 100000));
  sets.emplace_back("batmap of another universe", 34, one_in(random, elements, 20));
  sets.emplace_back("bitmap", 25, spread(random, kLarge, 3));
  const SetView large = sets[0].view();
  EXPECT_EQ(large.slots(), batmap_shape(kLarge, 32).slots());
  EXPECT_EQ(sets[1].view().slots(), large.slots());
  EXPECT_LT(sets[2].view().slots(), large.slots());
  EXPECT_FALSE(probing_is_cheaper(sets[2].view(), large));
  EXPECT_TRUE(probing_is_cheaper(sets[3].view(), large));
  EXPECT_EQ(sets.back().view().container(), Container::kBitmap);
  for (const NamedSet& set : sets) {
    ASSERT_NO_THROW(validate(set.bytes)) << set.name;
    ASSERT_EQ(decoded(set.view()), set.elements) << set.name;
    const auto both = [&] {
      Elements out;
      std::set_intersection(elements.begin(), elements.end(), set.elements.begin(), set.elements.end(),
                            std::back_inserter(out));
      return out.size();
    }();
    for (const SetKernel* kernel : set_kernels_here())
      ASSERT_EQ(and_cardinality(large, set.view(), *kernel), both) << set.name << ", " << kernel->name;
    const int order = compare(large, set.view(), test_options());
    ASSERT_EQ((order > 0) - (order < 0), elements < set.elements ? -1 : elements > set.elements) << set.name;
  }
}

TEST(SetLarge, TheSameInAnotherUniverse) {
  Random random(22);
  const Elements elements = spread(random, kLarge, 300);
  const NamedSet narrow("narrow", 32, elements);
  const NamedSet wide("wide", 40, elements);
  EXPECT_EQ(hash(narrow.view(), 1), hash(wide.view(), 1));
  EXPECT_TRUE(equal(narrow.view(), wide.view(), best_set_kernel()));
}

}  // namespace
}  // namespace batmap::test
