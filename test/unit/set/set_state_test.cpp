// Flat set states: every kind against std::set, with room that runs out, and bytes that are not a state.
#include "set/set_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "test/unit/shared/oracle.h"

namespace batmap::test {
namespace {

/// Bytes at 4 modulo 8, as in a varlena.
class State {
 public:
  State(StateKind kind, size_t elements, uint8_t width = kUndeclaredWidth) : words_((state_bytes(elements) + 11) / 8) {
    capacity_ = state_bytes(elements);
    state_init(bytes(), kind, width);
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words_.data()) + 4; }
  size_t capacity() const { return capacity_; }
  std::vector<uint64_t> finish() {
    MemoryMeter meter;
    GrowingBuffer<uint64_t> out(meter);
    out.push_back(77);  // earlier content must stay
    state_finish(bytes(), out, {});
    EXPECT_EQ(out[0], 77u);
    return {out.begin() + 1, out.end()};
  }
  void validate() { state_validate({bytes(), state_used(state_header(bytes()))}); }

 private:
  std::vector<uint64_t> words_;
  size_t capacity_;
};

std::vector<uint64_t> sorted_set(std::mt19937_64& random, size_t size, uint64_t universe) {
  std::set<uint64_t> set;
  while (set.size() < size) set.insert(random() % universe);
  return {set.begin(), set.end()};
}

TEST(SetState, SortsLikeStdSort) {
  std::mt19937_64 random(1);
  for (const size_t count : {0u, 1u, 2u, 255u, 511u, 512u, 513u, 5000u, 200000u}) {
    for (const int width : {1, 7, 8, 9, 16, 24, 33, 62, 64}) {
      std::vector<uint64_t> elements(count);
      for (uint64_t& element : elements) element = random() >> (64 - width);
      std::vector<uint64_t> expected = elements;
      std::sort(expected.begin(), expected.end());
      sort_in_place(elements, {});
      ASSERT_EQ(elements, expected) << count << " elements of " << width << " bits";
    }
  }
}

TEST(SetState, UnionOfElementsInAnyOrder) {
  std::mt19937_64 random(2);
  for (const uint64_t universe : {1u, 2u, 10u, 1000u, 100000u}) {
    State state(StateKind::kUnion, 64);
    std::set<uint64_t> expected;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t element = random() % universe;
      if (!state_append(state.bytes(), state.capacity(), element)) {
        state_compact(state.bytes(), {});
        if (!state_append(state.bytes(), state.capacity(), element)) break;
      }
      expected.insert(element);
    }
    EXPECT_EQ(state.finish(), std::vector<uint64_t>(expected.begin(), expected.end())) << universe;
    state.validate();
  }
}

TEST(SetState, AscendingInputStaysSorted) {
  State state(StateKind::kUnion, 100);
  for (uint64_t x = 0; x < 50; ++x) {
    EXPECT_TRUE(state_append(state.bytes(), state.capacity(), x * x));
    EXPECT_TRUE(state_append(state.bytes(), state.capacity(), x * x));
  }
  EXPECT_EQ(state_header(state.bytes()).count, 50u);
  EXPECT_EQ(state_header(state.bytes()).sorted, 1u);
}

TEST(SetState, FullStateRefusesAndKeeps) {
  State state(StateKind::kUnion, 3);
  const std::vector<uint64_t> three{5, 7, 9};
  EXPECT_TRUE(state_append(state.bytes(), state.capacity(), std::span(three)));
  EXPECT_FALSE(state_append(state.bytes(), state.capacity(), 1));
  EXPECT_FALSE(state_append(state.bytes(), state.capacity(), std::span(three)));
  EXPECT_EQ(state.finish(), three);
}

TEST(SetState, UnionAndSymmetricDifferenceOfSets) {
  std::mt19937_64 random(3);
  for (const StateKind kind : {StateKind::kUnion, StateKind::kSymmetricDifference}) {
    for (const size_t sets : {0u, 1u, 2u, 3u, 10u}) {
      State state(kind, 6000);
      std::set<uint64_t> expected;
      for (size_t s = 0; s < sets; ++s) {
        const std::vector<uint64_t> elements = sorted_set(random, random() % 600, 1000);
        for (const uint64_t x : elements) {
          if (!expected.insert(x).second && kind == StateKind::kSymmetricDifference) expected.erase(x);
        }
        ASSERT_TRUE(state_append(state.bytes(), state.capacity(), std::span(elements)));
        if (s == 4) state_compact(state.bytes(), {});
      }
      const std::vector<uint64_t> wanted(expected.begin(), expected.end());
      EXPECT_EQ(state.finish(), wanted);
      EXPECT_EQ(state.finish(), wanted) << "finishing changes nothing";
      state.validate();
      state_compact(state.bytes(), {});
      EXPECT_EQ(state_header(state.bytes()).count, wanted.size());
      EXPECT_EQ(state.finish(), wanted);
      state.validate();
    }
  }
}

TEST(SetState, Intersection) {
  std::mt19937_64 random(4);
  for (const size_t size : {0u, 1u, 64u, 900u}) {
    State state(StateKind::kIntersection, 1000);
    const std::vector<uint64_t> first = sorted_set(random, size, 1000);
    state_assign(state.bytes(), state.capacity(), first);
    std::vector<uint64_t> expected = first;
    for (int i = 0; i < 3; ++i) {
      const std::vector<uint64_t> other = sorted_set(random, 700, 1000);
      std::vector<uint64_t> next;
      std::set_intersection(expected.begin(), expected.end(), other.begin(), other.end(), std::back_inserter(next));
      expected = next;
      if (i == 1) {
        const std::span<uint64_t> mine = state_elements(state.bytes());
        const auto end = std::remove_if(mine.begin(), mine.end(),
                                        [&](uint64_t x) { return !std::binary_search(other.begin(), other.end(), x); });
        state_truncate(state.bytes(), static_cast<size_t>(end - mine.begin()));
      } else
        state_intersect(state.bytes(), other);
      EXPECT_EQ(state.finish(), expected);
      state.validate();
    }
  }
}

TEST(SetState, MergesLikeOneState) {
  std::mt19937_64 random(5);
  for (const StateKind kind : {StateKind::kUnion, StateKind::kSymmetricDifference}) {
    for (const size_t split : {0u, 1u, 500u, 999u, 1000u}) {
      State whole(kind, 1000), left(kind, 1000, 10), right(kind, 1000, 12);
      for (size_t i = 0; i < 1000; ++i) {
        const uint64_t x = random() % 700;
        ASSERT_TRUE(state_append(whole.bytes(), whole.capacity(), x));
        State& part = i < split ? left : right;
        ASSERT_TRUE(state_append(part.bytes(), part.capacity(), x));
      }
      if (split == 500) state_compact(right.bytes(), {});
      ASSERT_TRUE(state_merge(left.bytes(), left.capacity(), right.bytes()));
      EXPECT_EQ(left.finish(), whole.finish()) << split;
      EXPECT_EQ(state_header(left.bytes()).width, 12);
      left.validate();
    }
  }
  State a(StateKind::kIntersection, 4), b(StateKind::kIntersection, 4), small(StateKind::kUnion, 1),
      more(StateKind::kUnion, 2);
  state_assign(a.bytes(), a.capacity(), std::vector<uint64_t>{1, 3, 5, 7});
  state_assign(b.bytes(), b.capacity(), std::vector<uint64_t>{2, 3, 7, 8});
  EXPECT_TRUE(state_merge(a.bytes(), a.capacity(), b.bytes()));
  EXPECT_EQ(a.finish(), (std::vector<uint64_t>{3, 7}));
  state_append(more.bytes(), more.capacity(), 4);
  state_append(more.bytes(), more.capacity(), 2);
  EXPECT_FALSE(state_merge(small.bytes(), small.capacity(), more.bytes()));
  EXPECT_TRUE(small.finish().empty());
}

TEST(SetState, RefusesWhatIsNotAState) {
  State good(StateKind::kUnion, 10, 8);
  for (const uint64_t x : {3u, 1u, 2u}) state_append(good.bytes(), good.capacity(), x);
  good.validate();
  const std::vector<std::byte> bytes(good.bytes(), good.bytes() + state_used(state_header(good.bytes())));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(state_validate(std::span(bytes).first(length)), Error) << length;
  auto refused = [&](size_t at, int value) {
    // A validator must accept any alignment.
    std::vector<std::byte> changed = bytes;
    changed[at] = std::byte(value);
    EXPECT_THROW(state_validate(changed), Error) << at << " " << value;
  };
  refused(0, 2);   // version
  refused(1, 0);   // kind
  refused(1, 4);   //
  refused(1, 2);   // an intersection that is not sorted
  refused(2, 63);  // width
  refused(2, 1);   // elements out of range
  refused(3, 1);   // zero
  refused(4, 4);   // count
  refused(8, 2);   // flag
  refused(8, 1);   // marked as sorted, but not sorted
  refused(13, 1);  // element 259 of width 8
}

// The check that every function makes before it reads; room may lie behind the elements.
TEST(SetState, SoundHeadersAreToldFromOthers) {
  State state(StateKind::kUnion, 10, 8);
  for (const uint64_t x : {3u, 1u, 2u}) state_append(state.bytes(), state.capacity(), x);
  const std::span<const std::byte> bytes(state.bytes(), state.capacity());
  for (size_t size = 0; size <= bytes.size(); ++size)
    EXPECT_EQ(is_set_state(bytes.first(size)), size >= state_bytes(3)) << size;
  for (const auto& [at, value] : {std::pair{0, 2}, {1, 0}, {1, 4}, {1, 2}, {2, 63}, {3, 1}, {7, 1}, {8, 2}}) {
    std::vector<std::byte> changed(bytes.begin(), bytes.end());
    changed[static_cast<size_t>(at)] = std::byte(value);
    EXPECT_FALSE(is_set_state(changed)) << at << " " << value;
  }
}

TEST(SetState, CompactingIsCancelled) {
  State state(StateKind::kUnion, 200000);
  for (uint64_t i = 0; i < 200000; ++i) state_append(state.bytes(), state.capacity(), (i * 7919) % 200003);
  const CancelToken cancelled{[](void*) { return true; }, nullptr};
  EXPECT_THROW(state_compact(state.bytes(), cancelled), Error);
}

}  // namespace
}  // namespace batmap::test
