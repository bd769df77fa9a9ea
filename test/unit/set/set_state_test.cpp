// Flat set states: every kind against std::set, with room that runs out, and bytes that are not a state.
#include "set/set_state.h"

#include <gtest/gtest.h>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

const CompactKernel& kernel() { return *best_set_kernel().compact; }

/// Bytes at 4 modulo 8, as in a varlena.
class State {
 public:
  State(StateKind kind, size_t capacity, uint8_t width = kUndeclaredWidth) : words_(capacity / 8 + 2), capacity_(capacity) {
    state_init(bytes(), kind, width);
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words_.data()) + 4; }
  size_t capacity() const { return capacity_; }
  StateHeader header() { return state_header(bytes()); }
  bool append(uint64_t element) { return state_append(bytes(), capacity_, element); }
  bool append(const Elements& elements) { return state_append(bytes(), capacity_, elements); }

  /// Merges the pending elements.
  void settle() {
    CompactWriter out(test_options());
    state_result(bytes(), kernel(), out, test_options());
    ASSERT_LE(state_bytes(out.bytes(), 0), capacity_);
    state_assign(bytes(), out);
  }
  void combine(const Elements& elements) {
    const Bytes set = encode_compact(elements);
    CompactWriter out(test_options());
    state_combine(bytes(), CompactView::open(set), kernel(), out, test_options());
    ASSERT_LE(state_bytes(out.bytes(), 0), capacity_);
    state_assign(bytes(), out);
  }
  Elements finish() {
    CompactWriter out(test_options());
    state_result(bytes(), kernel(), out, test_options());
    return decoded(SetView::open(written(out)));
  }
  void validate() { state_validate({bytes(), state_used(header())}); }

 private:
  std::vector<uint64_t> words_;
  size_t capacity_;
};

TEST(SetState, UnionOfElementsInAnyOrder) {
  Random random(2);
  for (const uint64_t universe : {1u, 2u, 10u, 1000u, 100000u}) {
    State state(StateKind::kUnion, 20000);
    std::set<uint64_t> expected;
    size_t settled = 0;
    for (int i = 0; i < 6000; ++i) {
      const uint64_t element = random.below(universe);
      if (!state.append(element)) {
        state.settle();
        ++settled;
        ASSERT_TRUE(state.append(element));
      }
      expected.insert(element);
    }
    EXPECT_GT(settled, 0u);
    EXPECT_EQ(state.finish(), Elements(expected.begin(), expected.end())) << universe;
    state.validate();
  }
}

TEST(SetState, FullStateRefusesAndKeeps) {
  State state(StateKind::kUnion, state_bytes(0, 3));
  const Elements three{5, 7, 9};
  EXPECT_TRUE(state.append(three));
  EXPECT_FALSE(state.append(1));
  EXPECT_FALSE(state.append(three));
  EXPECT_TRUE(state.append(Elements{}));
  EXPECT_EQ(state.finish(), three);
}

TEST(SetState, UnionAndSymmetricDifferenceOfSets) {
  Random random(3);
  for (const StateKind kind : {StateKind::kUnion, StateKind::kSymmetricDifference}) {
    for (const size_t sets : {0u, 1u, 2u, 3u, 12u}) {
      State state(kind, 60000);
      std::set<uint64_t> expected;
      for (size_t s = 0; s < sets; ++s) {
        const Elements elements = random_elements(random, random.below(600), 10);
        for (const uint64_t x : elements)
          if (!expected.insert(x).second && kind == StateKind::kSymmetricDifference) expected.erase(x);
        // Appended as elements, merged as a set, or both in turn.
        if (s % 3 == 1)
          state.combine(elements);
        else
          ASSERT_TRUE(state.append(elements));
        if (s % 5 == 4) state.settle();
        state.validate();
      }
      const Elements wanted(expected.begin(), expected.end());
      EXPECT_EQ(state.finish(), wanted);
      EXPECT_EQ(state.finish(), wanted) << "finishing changes nothing";
      state.settle();
      EXPECT_EQ(state.header().pending, 0u);
      EXPECT_EQ(state.finish(), wanted);
      state.validate();
    }
  }
}

TEST(SetState, Intersection) {
  Random random(4);
  for (const size_t size : {0u, 1u, 64u, 900u}) {
    State state(StateKind::kIntersection, 20000);
    Elements expected = random_elements(random, size, 10);
    CompactWriter first(test_options());
    first.add_elements(std::span<const uint64_t>(expected));
    state_assign(state.bytes(), first);
    state.validate();
    for (int i = 0; i < 3; ++i) {
      const Elements other = random_elements(random, 700, 10);
      Elements next;
      std::set_intersection(expected.begin(), expected.end(), other.begin(), other.end(), std::back_inserter(next));
      expected = next;
      state.combine(other);
      EXPECT_EQ(state.finish(), expected);
      state.validate();
    }
  }
}

TEST(SetState, RefusesWhatIsNotAState) {
  State good(StateKind::kUnion, 1000, 8);
  ASSERT_TRUE(good.append(Elements{3, 1, 2}));
  good.settle();
  for (const uint64_t x : {9u, 7u}) ASSERT_TRUE(good.append(x));
  good.validate();
  const size_t set_bytes = good.header().compact;
  ASSERT_NE(set_bytes % 8, 0u);
  const Bytes bytes(good.bytes(), good.bytes() + state_used(good.header()));
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(state_validate(std::span(bytes).first(length)), Error) << length;
  const auto refused = [&](size_t at, int value) {
    // A validator must accept any alignment.
    Bytes changed = bytes;
    changed[at] = std::byte(value);
    EXPECT_THROW(state_validate(changed), Error) << at << " " << value;
  };
  refused(0, 1);                 // version
  refused(1, 0);                 // kind
  refused(1, 4);                 //
  refused(1, 2);                 // an intersection with pending elements
  refused(2, 63);                // width
  refused(2, 1);                 // elements out of range
  refused(3, 1);                 // zero
  refused(4, 1);                 // size of the set
  refused(8, 3);                 // pending
  refused(12, 0x34);             // version of the set
  refused(12 + set_bytes, 1);    // padding
  refused(bytes.size() - 7, 1);  // an element of more than 8 bits
  State none(StateKind::kIntersection, 100);
  EXPECT_THROW(none.validate(), Error);  // an intersection of no set
}

// The check that every function makes before it reads; room may lie behind the elements.
TEST(SetState, SoundHeadersAreToldFromOthers) {
  State state(StateKind::kUnion, 200, 8);
  ASSERT_TRUE(state.append(Elements{3, 1, 2}));
  const std::span<const std::byte> bytes(state.bytes(), state.capacity());
  for (size_t size = 0; size <= bytes.size(); ++size)
    EXPECT_EQ(is_set_state(bytes.first(size)), size >= state_bytes(0, 3)) << size;
  for (const auto& [at, value] : {std::pair{0, 1}, {1, 0}, {1, 4}, {1, 2}, {2, 63}, {3, 1}, {7, 1}, {11, 1}}) {
    Bytes changed(bytes.begin(), bytes.end());
    changed[static_cast<size_t>(at)] = std::byte(value);
    EXPECT_FALSE(is_set_state(changed)) << at << " " << value;
  }
}

}  // namespace
}  // namespace batmap::test
