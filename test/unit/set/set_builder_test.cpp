// Built sets return their elements: every size, width and container, hostile sets too; refusals; determinism; sorting.
#include "set/set_builder.h"

#include <gtest/gtest.h>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

void check_round_trip(const Elements& elements, int width) {
  SCOPED_TRACE("width " + std::to_string(width) + ", " + std::to_string(elements.size()) + " elements");
  const Bytes bytes = encode(elements, width);
  ASSERT_NO_THROW(validate(bytes));
  const SetView view = SetView::open(bytes);
  ASSERT_EQ(view.container(), container_for(elements.size(), width));
  ASSERT_EQ(view.width(), width);
  ASSERT_EQ(view.cardinality(), elements.size());
  const uint64_t last = elements.empty() ? 0 : elements.back();
  ASSERT_EQ(bytes.size(), encoded_size(elements.size(), width, last) + 8 * view.stash());
  ASSERT_EQ(decoded(view), elements);
}

TEST(SetBuilder, EverySizeToAThousand) {
  Random random(1);
  for (const int width : {11, 14, 17, 32, 33, 62}) {
    const Elements all = random_elements(random, 1100, width);
    for (size_t count = 0; count <= all.size(); ++count)
      check_round_trip({all.begin(), all.begin() + static_cast<ptrdiff_t>(count)}, width);
  }
}

TEST(SetBuilder, EveryWidth) {
  Random random(2);
  for (int width = 0; width <= kMaxWidth; ++width)
    for (const uint64_t count : {0u, 1u, 2u, 63u, 64u, 65u, 255u, 256u, 257u, 511u, 512u, 513u, 1024u, 3000u})
      if (count <= universe_of(width)) check_round_trip(random_elements(random, count, width), width);
}

TEST(SetBuilder, FirstAndLastElement) {
  for (int width = 0; width <= kMaxWidth; ++width) {
    check_round_trip({0}, width);
    check_round_trip({universe_of(width) - 1}, width);
    if (width > 0) check_round_trip({0, universe_of(width) - 1}, width);
  }
}

TEST(SetBuilder, AwkwardSets) {
  for (const NamedSet& set : awkward_sets()) {
    SCOPED_TRACE(set.name);
    check_round_trip(set.elements, set.width);
  }
}

// The length of a bitmap depends on its elements, not on the universe: every end in the last words of one.
TEST(SetBuilder, BitmapsEndWithTheWordOfTheirLastElement) {
  for (const int width : {9, 13}) {
    const uint64_t universe = universe_of(width);
    for (uint64_t last = 300; last < universe; last += last < universe - 200 && last > 600 ? 61 : 1) {
      Elements elements(299);
      for (size_t i = 0; i < elements.size(); ++i) elements[i] = i;
      elements.push_back(last);
      ASSERT_EQ(container_for(elements.size(), width), Container::kBitmap);
      check_round_trip(elements, width);
      ASSERT_EQ(encode(elements, width).size(), kSetHeaderBytes + (last + 64) / 64 * 8) << last;
      if (HasFatalFailure()) return;
    }
  }
}

// Users store regular sets: the permutations must scatter them as random ones.
TEST(SetBuilder, RegularSetsHaveShortStashes) {
  uint64_t stash = 0;
  uint64_t longest = 0;
  size_t sets = 0;
  for (int width = 16; width <= kMaxWidth; width += 2)
    for (const uint64_t count : {256u, 500u, 1000u, 2048u, 4096u, 8000u}) {
      if (container_for(count, width) != Container::kBatmap) continue;
      for (int shape = 0; shape < 6; ++shape) {
        const uint64_t step = shape == 0   ? 1
                              : shape == 1 ? 2
                              : shape == 2 ? 7
                              : shape == 3 ? 1000
                              : shape == 4 ? 4096
                                           : universe_of(width) / count;
        if (step == 0 || universe_of(width) / step < count) continue;
        Elements elements(count);
        for (uint64_t i = 0; i < count; ++i) elements[i] = i * step;
        const Bytes bytes = encode(elements, width);
        const uint64_t here = SetView::open(bytes).stash();
        EXPECT_LE(here, 8u) << "width " << width << ", " << count << " multiples of " << step;
        stash += here;
        longest = std::max(longest, here);
        ++sets;
      }
    }
  EXPECT_LT(static_cast<double>(stash) / static_cast<double>(sets), 0.5) << sets << " sets, longest " << longest;
}

TEST(SetBuilder, MoreThanTheTablesCanHoldGoesToTheStash) {
  Random random(3);
  const Elements elements = clashing_elements(random, 400, 24, 10, 64, 3);
  const Bytes bytes = encode(elements, 24);
  // 3 x 64 slots, two for each element
  EXPECT_GE(SetView::open(bytes).stash(), 400u - 96u);
  EXPECT_EQ(decoded(SetView::open(bytes)), elements);
}

TEST(SetBuilder, SameElementsSameBytes) {
  Random random(4);
  SetEncoder used(test_options());
  for (const uint64_t count : {5000u, 300u, 100000u, 700u}) {
    const Elements elements = random_elements(random, count, 30);
    Bytes bytes(used.prepare(elements, 30));  // scratch memory of the set before
    used.write(bytes.data());
    EXPECT_EQ(bytes, encode(elements, 30));
    Bytes again(bytes.size());
    used.write(again.data());
    EXPECT_EQ(bytes, again);
  }
}

TEST(SetBuilder, WritesAtAnyAlignmentAndNoFurther) {
  Random random(5);
  for (const uint64_t count : {10u, 300u, 3000u}) {
    const Elements elements = random_elements(random, count, 16);
    SetEncoder encoder(test_options());
    const size_t size = encoder.prepare(elements, 16);
    for (size_t offset = 0; offset < 9; ++offset) {
      Bytes room(size + 16, std::byte{0xa5});
      encoder.write(room.data() + offset);
      EXPECT_EQ(room[offset + size], std::byte{0xa5});
      EXPECT_EQ(decoded(SetView::open({room.data() + offset, size})), elements);
    }
  }
}

TEST(SetBuilder, RefusesWhatIsNoSet) {
  SetEncoder encoder(test_options());
  const auto code_of = [&](const Elements& elements, int width) {
    try {
      encoder.prepare(elements, width);
    } catch (const Error& error) {
      return std::optional(error.code());
    }
    return std::optional<ErrorCode>();
  };
  EXPECT_EQ(code_of({1, 1}, 8), ErrorCode::kInvalidParameter);
  EXPECT_EQ(code_of({2, 1}, 8), ErrorCode::kInvalidParameter);
  EXPECT_EQ(code_of({256}, 8), ErrorCode::kInvalidParameter);
  EXPECT_EQ(code_of({1}, 63), ErrorCode::kInvalidParameter);
  EXPECT_EQ(code_of({1}, -1), ErrorCode::kInvalidParameter);
  EXPECT_EQ(code_of({255}, 8), std::nullopt);
}

TEST(SetBuilder, RefusesWhatNoValueHolds) {
  EXPECT_GT(encoded_size(uint64_t{1} << 30, 40, universe_of(40) - 1), kMaxSetBytes);
  Elements dense(uint64_t{1} << 22);  // b = 62 - 23 = 39 planes of 3 x 2^23 slots: 129 MB; fits
  for (size_t i = 0; i < dense.size(); ++i) dense[i] = i;
  EXPECT_LT(encoded_size(dense.size(), 62, dense.back()), kMaxSetBytes);
  EXPECT_GT(encoded_size(dense.size() << 4, 62, dense.back()), kMaxSetBytes);
  // A bitmap of 2^33 bits is 1 GB. In the same universe, a set that ends earlier fits.
  EXPECT_GT(encoded_size(uint64_t{1} << 30, 33, universe_of(33) - 1), kMaxSetBytes);
  EXPECT_LT(encoded_size(uint64_t{1} << 30, 33, universe_of(33) / 2), kMaxSetBytes);
}

TEST(SetBuilder, StopsWhenAskedAndWithinItsBudget) {
  Random random(6);
  const Elements elements = random_elements(random, 200000, 40);
  int polls = 0;
  const auto poll = [](void* arg) { return ++*static_cast<int*>(arg) == 2; };
  SetEncoder cancelled({1, &test_meter(), {poll, &polls}});
  EXPECT_THROW(cancelled.prepare(elements, 40), Error);
  MemoryMeter small(1 << 20);
  SetEncoder poor({1, &small, {}});
  EXPECT_THROW(poor.prepare(elements, 40), Error);
  Bytes bytes(cancelled.prepare(elements, 40));  // both encoders still work
  cancelled.write(bytes.data());
  EXPECT_EQ(bytes, encode(elements, 40));
}

}  // namespace
}  // namespace batmap::test
