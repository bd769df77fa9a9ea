// Counts, relations, order and hash of every pair of awkward sets, by every kernel, against plain sorted vectors.
#include "set/set_intersect.h"

#include <gtest/gtest.h>

#include "set/set_operations.h"
#include "sets.h"

namespace batmap::test {
namespace {

Elements common(const Elements& a, const Elements& b) {
  Elements both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

int sign(int x) { return (x > 0) - (x < 0); }

const std::vector<NamedSet>& sets() {
  static const std::vector<NamedSet> all = awkward_sets();
  return all;
}

TEST(SetIntersect, ThePoolHasEveryPairOfContainers) {
  std::set<std::tuple<Container, Container, bool>> pairs;
  for (const NamedSet& a : sets())
    for (const NamedSet& b : sets()) pairs.insert({a.view().container(), b.view().container(), a.width == b.width});
  EXPECT_EQ(pairs.size(), 18u);
}

TEST(SetIntersect, EveryPairByEveryKernel) {
  for (const NamedSet& a : sets())
    for (const NamedSet& b : sets()) {
      const Elements both = common(a.elements, b.elements);
      for (const SetKernel* kernel : set_kernels_here()) {
        ASSERT_EQ(and_cardinality(a.view(), b.view(), *kernel), both.size())
            << a.name << ", " << b.name << ", " << kernel->name;
        ASSERT_EQ(intersects(a.view(), b.view(), *kernel), !both.empty())
            << a.name << ", " << b.name << ", " << kernel->name;
        ASSERT_EQ(is_subset(a.view(), b.view(), *kernel), both == a.elements) << a.name << ", " << b.name;
        ASSERT_EQ(equal(a.view(), b.view(), *kernel), a.elements == b.elements) << a.name << ", " << b.name;
      }
      const int expected = a.elements < b.elements ? -1 : a.elements > b.elements;
      ASSERT_EQ(sign(compare(a.view(), b.view(), test_options())), expected) << a.name << ", " << b.name;
      ASSERT_EQ(hash(a.view(), 7) == hash(b.view(), 7), a.elements == b.elements) << a.name << ", " << b.name;
    }
}

TEST(SetIntersect, BothWaysForBatmapsOfEqualWidth) {
  size_t pairs = 0;
  for (const NamedSet& a : sets())
    for (const NamedSet& b : sets()) {
      if (a.width != b.width || a.view().container() != Container::kBatmap || b.view().container() != Container::kBatmap ||
          a.view().slots() > b.view().slots())
        continue;
      const size_t expected = common(a.elements, b.elements).size();
      for (const SetKernel* kernel : set_kernels_here()) {
        ASSERT_EQ(and_cardinality_by_scan(a.view(), b.view(), *kernel), expected)
            << a.name << ", " << b.name << ", " << kernel->name;
        ASSERT_EQ(and_cardinality_by_probe(a.view(), b.view(), *kernel), expected)
            << a.name << ", " << b.name << ", " << kernel->name;
      }
      ++pairs;
    }
  EXPECT_GT(pairs, 100u);
}

TEST(SetIntersect, LargeAndVeryUnequalSets) {
  Random random(5);
  for (const int width : {21, 27, 36, 55}) {
    const NamedSet large("large", width, random_elements(random, 120000, width));
    for (const uint64_t count : {1u, 100u, 300u, 5000u, 60000u}) {
      Elements elements = random_elements(random, count / 2 + 1, width);
      for (uint64_t i = 0; i < count / 2; ++i) elements.push_back(large.elements[random.below(large.elements.size())]);
      std::sort(elements.begin(), elements.end());
      elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
      const NamedSet small("small", width, elements);
      const size_t expected = common(small.elements, large.elements).size();
      for (const SetKernel* kernel : set_kernels_here()) {
        EXPECT_EQ(and_cardinality(small.view(), large.view(), *kernel), expected);
        EXPECT_EQ(and_cardinality(large.view(), small.view(), *kernel), expected);
        if (small.view().container() == Container::kBatmap && large.view().container() == Container::kBatmap) {
          EXPECT_EQ(and_cardinality_by_scan(small.view(), large.view(), *kernel), expected);
          EXPECT_EQ(and_cardinality_by_probe(small.view(), large.view(), *kernel), expected);
        }
      }
    }
  }
}

TEST(SetIntersect, ManySets) {
  Random random(6);
  for (int trial = 0; trial < 3000; ++trial) {
    const size_t count = random.below(6);
    std::vector<SetView> views;
    Elements expected;
    for (size_t i = 0; i < count; ++i) {
      const NamedSet& set = sets()[random.below(sets().size())];
      expected = i == 0 ? set.elements : common(expected, set.elements);
      views.push_back(set.view());
    }
    const SetKernel& kernel = *set_kernels_here()[random.below(set_kernels_here().size())];
    ASSERT_EQ(and_cardinality(views, kernel), expected.size());
  }
  std::vector<SetView> bitmaps;
  Elements expected;
  for (const NamedSet& set : sets())
    if (set.view().container() == Container::kBitmap && set.elements.size() > 2000) {
      expected = bitmaps.empty() ? set.elements : common(expected, set.elements);
      bitmaps.push_back(set.view());
    }
  ASSERT_GT(bitmaps.size(), 3u);
  for (size_t count = 1; count <= bitmaps.size(); ++count) {
    Elements left = decoded(bitmaps[0]);
    for (size_t i = 1; i < count; ++i) left = common(left, decoded(bitmaps[i]));
    EXPECT_EQ(and_cardinality({bitmaps.data(), count}, best_set_kernel()), left.size());
  }
}

TEST(SetIntersect, OperationsOfEveryPair) {
  for (const NamedSet& a : sets())
    for (const NamedSet& b : sets()) {
      const auto check = [&](auto operation, const Elements& expected, const char* name) {
        GrowingBuffer<uint64_t> out(test_meter());
        out.push_back(77);  // appends
        operation(a.view(), b.view(), out, test_options());
        ASSERT_EQ(out[0], 77u);
        ASSERT_EQ(Elements(out.begin() + 1, out.end()), expected) << name << ": " << a.name << ", " << b.name;
      };
      Elements either, only_a, one;
      std::set_union(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(), std::back_inserter(either));
      std::set_difference(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                          std::back_inserter(only_a));
      std::set_symmetric_difference(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                                    std::back_inserter(one));
      check(set_and, common(a.elements, b.elements), "and");
      check(set_or, either, "or");
      check(set_andnot, only_a, "andnot");
      check(set_xor, one, "xor");
      if (HasFatalFailure()) return;
    }
}

TEST(SetIntersect, EqualSetsOfDifferentWidth) {
  Random random(8);
  for (const uint64_t count : {0u, 1u, 200u, 300u, 2000u, 5000u}) {
    const Elements elements = random_elements(random, count, 13);
    std::vector<NamedSet> same;
    for (const int width : {13, 14, 20, 32, 33, 62}) same.emplace_back("", width, elements);
    for (const NamedSet& a : same)
      for (const NamedSet& b : same) {
        EXPECT_TRUE(equal(a.view(), b.view(), best_set_kernel()));
        EXPECT_EQ(compare(a.view(), b.view(), test_options()), 0);
        EXPECT_EQ(hash(a.view(), 1), hash(b.view(), 1));
        EXPECT_NE(hash(a.view(), 1), hash(b.view(), 2));
      }
  }
}

}  // namespace
}  // namespace batmap::test
