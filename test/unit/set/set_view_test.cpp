// Membership, extremes, the header alone, and bytes that are not a value.
#include "set/set_view.h"

#include <gtest/gtest.h>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

bool is_valid(const Bytes& bytes) {
  try {
    validate(bytes);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return false;
  }
}

TEST(SetView, Contains) {
  Random random(1);
  for (const NamedSet& set : awkward_sets()) {
    const SetView view = set.view();
    const std::set<uint64_t> oracle(set.elements.begin(), set.elements.end());
    for (const uint64_t x : set.elements) ASSERT_TRUE(view.contains(x)) << set.name << ": " << x;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t x = i < 100 ? static_cast<uint64_t>(i) : random.below(view.universe());
      ASSERT_EQ(view.contains(x), oracle.contains(x)) << set.name << ": " << x;
    }
    for (const uint64_t x : {view.universe(), view.universe() + 1, ~uint64_t{0}, ~uint64_t{0} >> 1})
      ASSERT_FALSE(view.contains(x));
  }
}

TEST(SetView, Extremes) {
  for (const NamedSet& set : awkward_sets()) {
    const auto least = set_min(set.view());
    const auto greatest = set_max(set.view());
    ASSERT_EQ(least.has_value(), !set.elements.empty());
    ASSERT_EQ(greatest.has_value(), !set.elements.empty());
    if (!least) continue;
    ASSERT_EQ(*least, set.elements.front()) << set.name;
    ASSERT_EQ(*greatest, set.elements.back()) << set.name;
  }
}

TEST(SetView, HeaderAlone) {
  for (const NamedSet& set : awkward_sets()) {
    const std::span<const std::byte> all = set.bytes;
    const SetView view = SetView::header(all.first(std::min<size_t>(16, all.size())), all.size());
    EXPECT_EQ(view.cardinality(), set.elements.size());
    EXPECT_EQ(view.width(), set.width);
    EXPECT_EQ(view.stash(), set.view().stash());
    EXPECT_EQ(view.bytes(), all.size());
  }
}

// Flipping any single bit gives an invalid value or another set, never the same set, and nothing crashes.
TEST(SetView, EveryFlippedBit) {
  Random random(2);
  for (const NamedSet& set : awkward_sets()) {
    const size_t bits = set.bytes.size() * 8;
    for (size_t i = 0; i < std::min<size_t>(bits, 700); ++i) {
      Bytes bytes = set.bytes;
      const size_t bit = i < 200 && i < bits ? i : random.below(bits);
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      if (is_valid(bytes)) {
        const SetView view = SetView::open(bytes);
        const Elements elements = decoded(view);
        ASSERT_EQ(elements.size(), view.cardinality()) << set.name << ", bit " << bit;
        ASSERT_TRUE(std::adjacent_find(elements.begin(), elements.end(), std::greater_equal<>()) == elements.end());
        ASSERT_FALSE(elements == set.elements && view.width() == set.width) << set.name << ", bit " << bit;
        for (const uint64_t x : elements) ASSERT_TRUE(view.contains(x)) << set.name << ", bit " << bit;
      }
    }
  }
}

TEST(SetView, FewerElementsThanItSays) {
  Bytes bytes = encode_compact({5});
  bytes[3] = std::byte{9};  // ten elements
  AscendingReader reader(SetView::open(bytes), test_options());
  uint64_t chunk[kChunkElements];
  EXPECT_EQ(reader.next(chunk), 1u);
  try {
    reader.next(chunk);
    ADD_FAILURE() << "read as if complete";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
  }
}

TEST(SetView, EveryLengthButTheRightOne) {
  for (const NamedSet& set : awkward_sets()) {
    for (size_t size = 0; size < set.bytes.size(); size += 1 + size / 16)
      ASSERT_FALSE(is_valid({set.bytes.begin(), set.bytes.begin() + static_cast<ptrdiff_t>(size)}))
          << set.name << " " << size;
    Bytes longer = set.bytes;
    longer.resize(longer.size() + 8);
    ASSERT_FALSE(is_valid(longer));
  }
}

TEST(SetView, BitmapsOfAnotherLength) {
  Elements elements(300);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = 2 * i;
  const NamedSet set("even", 11, elements);
  ASSERT_EQ(set.view().container(), Container::kBitmap);
  ASSERT_EQ(set.view().words(), 10u);
  const auto opens = [&](size_t size) {
    Bytes bytes = set.bytes;
    bytes.resize(size);
    try {
      EXPECT_EQ(SetView::header(std::span(bytes).first(kSetHeaderBytes), size).bytes(), size);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
      return false;
    }
    return true;
  };
  // The header allows all lengths with room for the elements inside the universe; the words allow only one.
  for (size_t words = 0; words < 40; ++words)
    for (const size_t odd : {0u, 1u, 4u, 7u}) {
      const size_t size = kSetHeaderBytes + 8 * words + odd;
      EXPECT_EQ(opens(size), odd == 0 && words >= 5 && words <= 32) << size;
      Bytes bytes = set.bytes;
      bytes.resize(size);
      EXPECT_EQ(is_valid(bytes), words == 10 && odd == 0) << size;
    }
}

// The container is a function of size and width: only batmaps have several values of one set and width, by placement.
TEST(SetView, RefusesTheOtherContainer) {
  for (const NamedSet& set : awkward_sets())
    for (const int container : {0, 1, 2, 3, 4, 15}) {
      Bytes bytes = set.bytes;
      bytes[0] = static_cast<std::byte>(kPreparedVersion << 4 | container);
      ASSERT_EQ(is_valid(bytes), container == static_cast<int>(set.view().container())) << set.name << " " << container;
    }
}

}  // namespace
}  // namespace batmap::test
