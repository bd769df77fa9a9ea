// Counts, relations, order and hash of every pair of awkward sets, by every kernel, against plain sorted vectors.
#include "set/set_intersect.h"

#include <gtest/gtest.h>

#include "set/set_operations.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

Elements common(const Elements& a, const Elements& b) {
  Elements both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

int sign(int x) { return (x > 0) - (x < 0); }

/// Prepared sets, and every eighth of them in compact form, too.
const std::vector<NamedSet>& sets() {
  static const std::vector<NamedSet> all = [] {
    std::vector<NamedSet> both = awkward_sets();
    for (size_t i = 1, prepared = both.size(); i < prepared; i += 8)
      both.emplace_back(both[i].name + " compact", kCompactForm, both[i].elements);
    return both;
  }();
  return all;
}

TEST(SetIntersect, ThePoolHasEveryPairOfContainers) {
  std::set<std::tuple<Container, Container, bool>> pairs;
  for (const NamedSet& a : sets())
    for (const NamedSet& b : sets()) pairs.insert({a.view().container(), b.view().container(), a.width == b.width});
  EXPECT_EQ(pairs.size(), 25u);
}

TEST(SetIntersect, PreparingPaysWhereCompactSetsTakeLonger) {
  const auto worth = [](const Elements& elements, double more_ns = 0) {
    const NamedSet set("set", kCompactForm, elements);
    return meetings_worth_preparing(set.view(), more_ns);
  };
  Elements few, scattered, dense, run;
  for (uint64_t x = 0; x < 10; ++x) few.push_back(100 * x);
  for (uint64_t x = 0; x < 100; ++x) scattered.push_back(100'000 * x);
  for (uint64_t x = 0; x < 2'500; ++x) dense.push_back(20 * x + x % 7);
  for (uint64_t x = 0; x < 1'000'000; ++x) run.push_back(x);
  EXPECT_EQ(worth({}), kNeverPrepared);
  EXPECT_EQ(worth(few), kNeverPrepared);
  EXPECT_EQ(worth(run), kNeverPrepared);
  EXPECT_LE(worth(scattered), 10u);
  EXPECT_LE(worth(dense), 10u);
  EXPECT_GT(worth(dense, 500), worth(dense));
  EXPECT_EQ(worth(dense, 1e6), kNeverPrepared);
}

TEST(SetIntersect, ABatmapAndABitmapMayStayCompact) {
  Elements few, dense, sparse;
  for (uint64_t x = 0; x < 300; ++x) few.push_back(400 * x);
  for (uint64_t x = 0; x < 60'000; ++x) dense.push_back(2 * x + x % 2);
  for (uint64_t x = 0; x < 2'000; ++x) sparse.push_back(60 * x);
  const NamedSet a("few", kCompactForm, few), b("dense", kCompactForm, dense), c("sparse", kCompactForm, sparse);
  EXPECT_FALSE(is_faster_prepared(a.view(), Container::kBatmap, b.view(), Container::kBitmap));
  EXPECT_FALSE(is_faster_prepared(b.view(), Container::kBitmap, a.view(), Container::kBatmap));
  EXPECT_TRUE(is_faster_prepared(a.view(), Container::kBatmap, c.view(), Container::kBitmap));
  EXPECT_TRUE(is_faster_prepared(b.view(), Container::kBitmap, b.view(), Container::kBitmap));
  EXPECT_TRUE(is_faster_prepared(a.view(), Container::kBatmap, a.view(), Container::kBatmap));
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

TEST(SetIntersect, LargeBitmapsOfTwoLengths) {
  Random random(8);
  std::vector<NamedSet> large;
  for (const int width : {22, 23})
    for (const uint64_t percent : {40u, 51u, 60u, 99u, 100u}) {
      const uint64_t end = universe_of(width) / 100 * percent;
      Elements elements;
      for (uint64_t x = random.below(9); x < end; x += 1 + random.below(2 * (end / 150000))) elements.push_back(x);
      if (percent == 100) elements.push_back(universe_of(width) - 1);
      large.emplace_back(std::to_string(percent) + " % of width " + std::to_string(width), width, elements);
      ASSERT_EQ(large.back().view().container(), Container::kBitmap);
    }
  for (const NamedSet& a : large)
    for (const NamedSet& b : large) {
      const size_t expected = common(a.elements, b.elements).size();
      for (const SetKernel* kernel : set_kernels_here()) {
        EXPECT_EQ(and_cardinality(a.view(), b.view(), *kernel), expected)
            << a.name << ", " << b.name << ", " << kernel->name;
        EXPECT_EQ(intersects(a.view(), b.view(), *kernel), expected > 0) << a.name << ", " << b.name;
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
      const auto check = [&](SetCombination operation, const Elements& expected, const char* name) {
        CompactWriter out(test_options());
        combine_sets(a.view(), b.view(), operation, *best_set_kernel().compact, out, test_options());
        ASSERT_EQ(written(out), encode_compact(expected)) << name << ": " << a.name << ", " << b.name;
      };
      Elements either, only_a, one;
      std::set_union(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(), std::back_inserter(either));
      std::set_difference(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                          std::back_inserter(only_a));
      std::set_symmetric_difference(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                                    std::back_inserter(one));
      check(SetCombination::kAnd, common(a.elements, b.elements), "and");
      check(SetCombination::kOr, either, "or");
      check(SetCombination::kAndNot, only_a, "andnot");
      check(SetCombination::kXor, one, "xor");
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

/// Every question about two sets, by every kernel, against sorted vectors.
void check_pair(const NamedSet& a, const NamedSet& b) {
  SCOPED_TRACE(a.name + " of " + std::to_string(a.elements.size()) + ", w = " + std::to_string(a.width) + "; " + b.name +
               " of " + std::to_string(b.elements.size()) + ", w = " + std::to_string(b.width));
  const Elements both = common(a.elements, b.elements);
  const std::vector<SetView> thrice = {a.view(), b.view(), a.view()};
  for (const SetKernel* kernel : set_kernels_here()) {
    SCOPED_TRACE(kernel->name);
    ASSERT_EQ(and_cardinality(a.view(), b.view(), *kernel), both.size());
    ASSERT_EQ(and_cardinality(b.view(), a.view(), *kernel), both.size());
    ASSERT_EQ(and_cardinality(thrice, *kernel), both.size());
    ASSERT_EQ(intersects(a.view(), b.view(), *kernel), !both.empty());
    ASSERT_EQ(is_subset(a.view(), b.view(), *kernel), both.size() == a.elements.size());
    ASSERT_EQ(equal(a.view(), b.view(), *kernel), a.elements == b.elements);
  }
  CompactWriter out(test_options());
  combine_sets(a.view(), b.view(), SetCombination::kAnd, *best_set_kernel().compact, out, test_options());
  ASSERT_EQ(written(out), encode_compact(both));
  const int expected = a.elements < b.elements ? -1 : a.elements > b.elements;
  ASSERT_EQ(sign(compare(a.view(), b.view(), test_options())), expected);
  ASSERT_EQ(hash(a.view(), 7) == hash(b.view(), 7), a.elements == b.elements);
}

// Bitmaps end with their largest elements, and arrays reach beyond them; also in different universes.
TEST(SetIntersect, BitmapsOfEveryTwoLengths) {
  Random random(14);
  std::vector<NamedSet> sets;
  for (const int width : {6, 9, 14})
    for (const uint64_t words : {1u, 2u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 63u, 64u, 65u, 128u, 255u, 256u})
      for (const uint64_t last : {64 * words - 64, 64 * words - 1}) {
        if (last >= universe_of(width)) continue;
        Elements elements;
        for (uint64_t x = 0; x < last; ++x)
          if (random.chance(40)) elements.push_back(x);
        elements.push_back(last);
        sets.emplace_back("to " + std::to_string(last), width, elements);
        if (sets.back().view().container() != Container::kBitmap) continue;
        ASSERT_EQ(sets.back().view().words(), words);
      }
  for (const NamedSet& a : sets)
    for (const NamedSet& b : sets) {
      check_pair(a, b);
      if (HasFatalFailure()) return;
    }
}

/// The elements at [first, last) of a shuffled pool, ascending.
Elements part_of(const Elements& pool, size_t first, size_t last) {
  Elements part(pool.begin() + static_cast<ptrdiff_t>(first), pool.begin() + static_cast<ptrdiff_t>(last));
  std::sort(part.begin(), part.end());
  return part;
}

// Each size with the size that completes it to 1,100. Half of the smaller set is shared; at the ends nothing is.
TEST(SetIntersect, EverySizeToAThousand) {
  constexpr size_t kMax = 1100;
  Random random(11);
  const int widths[][2] = {{11, 11}, {11, 32}, {16, 16}, {21, 21}, {24, 41}, {33, 33}, {62, 62}};
  for (const auto& [a_width, b_width] : widths) {
    Elements pool = random_elements(random, kMax, std::min(a_width, b_width));
    random.shuffle(pool);
    for (size_t size = 0; size <= kMax; ++size) {
      const size_t shared = std::min(size, kMax - size) / 2;
      const NamedSet a("a", a_width, part_of(pool, 0, size));
      const NamedSet b("b", b_width, part_of(pool, size - shared, kMax - shared));
      check_pair(a, b);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SetIntersect, EveryWidthWithEveryOther) {
  Random random(12);
  std::vector<NamedSet> of_width;
  for (int width = 1; width <= kMaxWidth; ++width)
    for (const uint64_t count : {20u, 700u}) {
      if (count > universe_of(width)) continue;
      // Half of the elements are small, so that sets of all widths share some.
      std::set<uint64_t> elements;
      while (elements.size() < count)
        elements.insert(
            random.below(random.chance(50) ? std::min<uint64_t>(universe_of(width), 2 * count) : universe_of(width)));
      of_width.emplace_back("random", width, Elements(elements.begin(), elements.end()));
    }
  for (const NamedSet& a : of_width)
    for (const NamedSet& b : of_width) {
      check_pair(a, b);
      if (HasFatalFailure()) return;
    }
}

TEST(SetIntersect, OperationsStopWhenAskedAndWithinTheirBudget) {
  Random random(13);
  const Elements elements = random_elements(random, 60000, 36);
  const NamedSet a("a", 36, {elements.begin(), elements.begin() + 45000});
  const NamedSet b("b", 40, {elements.begin() + 15000, elements.end()});
  for (const std::optional<SetCombination> operation :
       {std::optional(SetCombination::kAnd), std::optional(SetCombination::kOr), std::optional(SetCombination::kAndNot),
        std::optional(SetCombination::kXor), std::optional<SetCombination>()}) {  // nothing: the comparison
    int64_t polls = 0;
    int64_t stop_at = -1;
    struct Polls {
      int64_t* polls;
      int64_t* stop_at;
    } argument{&polls, &stop_at};
    const CancelToken token{[](void* arg) {
                              const auto* p = static_cast<Polls*>(arg);
                              return (*p->polls)++ == *p->stop_at;
                            },
                            &argument};
    const auto code_of = [&](size_t limit) {
      MemoryMeter meter(limit);
      std::optional<ErrorCode> code;
      try {
        const ExecutionOptions options{1, &meter, token};
        CompactWriter out(options);
        if (operation)
          combine_sets(a.view(), b.view(), *operation, *best_set_kernel().compact, out, options);
        else
          compare(a.view(), b.view(), options);
      } catch (const Error& error) {
        code = error.code();
      }
      EXPECT_EQ(meter.current(), 0u);
      return code;
    };
    ASSERT_EQ(code_of(MemoryMeter::kUnlimited), std::nullopt);
    const int64_t needed = polls;
    EXPECT_GE(needed, 2);
    for (stop_at = 0; stop_at < needed; stop_at += 1 + needed / 200) {  // some 200 of the looks
      polls = 0;
      ASSERT_EQ(code_of(MemoryMeter::kUnlimited), ErrorCode::kCancelled) << "poll " << stop_at << " of " << needed;
    }
    if (!operation) continue;  // allocates nothing
    stop_at = -1;
    size_t limit = 1024;
    for (; code_of(limit) == ErrorCode::kMemoryLimit; limit += limit / 4) ASSERT_LT(limit, size_t{1} << 30);
    EXPECT_GT(limit, size_t{1} << 17);
    EXPECT_EQ(code_of(limit), std::nullopt);
  }
}

}  // namespace
}  // namespace batmap::test
