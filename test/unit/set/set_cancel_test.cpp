// All functions that walk over a large set poll the cancel token often enough, and stop at any poll that tells them to.
#include <gtest/gtest.h>

#include <functional>

#include "compact/roaring_format.h"
#include "set/set_builder.h"
#include "set/set_intersect.h"
#include "set/set_operations.h"
#include "set/set_state.h"
#include "set/set_text.h"
#include "test/unit/shared/compact_text.h"
#include "test/unit/shared/grid.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

/// At least one poll for this many bytes of the sets that are walked.
constexpr size_t kBytesPerPoll = 256 * 1024;

struct Walk {
  const char* name;
  size_t bytes;
  std::function<void(const CancelToken&)> run;
};

Elements every(uint64_t step, uint64_t first, uint64_t count) {
  Elements elements(count);
  for (uint64_t i = 0; i < count; ++i) elements[i] = first + i * step;
  return elements;
}

TEST(SetCancel, StopsAtEveryLook) {
  Random random(100);
  const Elements elements = random_elements(random, 50000, 32);
  const Elements many = random_elements(random, 400000, 40);
  const NamedSet a("a", 40, elements);
  const NamedSet same("the same", 40, elements);
  const NamedSet narrow("narrow", 32, elements);
  const NamedSet large("large", 40, many);
  const NamedSet few("few", 40, {many.begin(), many.begin() + 7000});
  const NamedSet even("even", 40, every(2, 0, 50000));
  const NamedSet odd("odd", 40, every(2, 1, 50000));
  const NamedSet stashed("stashed", 40, clashing_elements(random, 16000, 40, 15, 4096, 3));
  const NamedSet bits("bits", 23, every(9, 0, 800000));
  const NamedSet even_bits("even bits", 23, every(10, 0, 800000));
  const NamedSet odd_bits("odd bits", 23, every(10, 1, 800000));
  const NamedSet first_bits("first bits", 23, every(1, 0, 800000));
  const NamedSet last_bits("last bits", 23, every(1, (1 << 23) - 800000, 800000));
  const NamedSet compact_large("compact", kCompactForm, many);
  const NamedSet compact_same("the same", kCompactForm, many);
  ASSERT_GT(stashed.view().stash(), 8192u);
  ASSERT_TRUE(probing_is_cheaper(few.view(), large.view()));
  ASSERT_FALSE(probing_is_cheaper(a.view(), even.view()));
  for (const NamedSet* set : {&bits, &even_bits, &odd_bits, &first_bits, &last_bits})
    ASSERT_EQ(set->view().container(), Container::kBitmap) << set->name;

  const SetKernel& kernel = best_set_kernel();
  const auto options = [](const CancelToken& cancel) { return ExecutionOptions{1, &test_meter(), cancel}; };
  const auto count = [&](const char* name, const NamedSet& x, const NamedSet& y) -> Walk {
    return {name, std::min(x.bytes.size(), y.bytes.size()),
            [&](const CancelToken& cancel) { and_cardinality(x.view(), y.view(), kernel, cancel); }};
  };
  const auto check = [&](const char* name, const NamedSet& x) -> Walk {
    return {name, x.bytes.size(), [&](const CancelToken& cancel) { validate(x.bytes, cancel); }};
  };
  const std::vector<SetView> four = {a.view(), narrow.view(), large.view(), even.view()};
  const std::vector<SetView> four_bits = {bits.view(), even_bits.view(), odd_bits.view(), last_bits.view()};
  const size_t of_a = a.bytes.size();
  const size_t of_bits = bits.bytes.size();
  using Token = const CancelToken&;
  const Elements bit_elements = every(9, 0, 800000);
  const Elements array_elements = every(uint64_t{1} << 40, 0, 400000);
  const auto encode = [&](const char* name, const Elements& of, int width) -> Walk {
    return {name, 8 * of.size(), [&of, width, options](const CancelToken& cancel) {
              const ExecutionOptions own = options(cancel);
              SetEncoder encoder(own);
              std::vector<std::byte> bytes(encoder.prepare(of, width));
              encoder.write(bytes.data());
            }};
  };
  const std::string text_of_bits = compact_text(bits.bytes);
  const std::vector<Walk> walks = {
      count("count by planes", a, even),
      count("count folded", a, large),
      count("count by probing", few, large),
      count("count by members", a, narrow),
      count("count members of a bitmap", bits, large),
      count("count stashes", stashed, stashed),
      count("count bitmaps", bits, even_bits),
      count("count bitmaps of two lengths", first_bits, bits),
      {"count four", of_a, [&](Token cancel) { and_cardinality(four, kernel, cancel); }},
      {"count four bitmaps", of_bits, [&](Token cancel) { and_cardinality(four_bits, kernel, cancel); }},
      {"intersects", of_a, [&](Token cancel) { intersects(even.view(), odd.view(), kernel, cancel); }},
      {"intersects, bitmaps", of_bits, [&](Token cancel) { intersects(even_bits.view(), odd_bits.view(), kernel, cancel); }},
      {"is_subset", of_a, [&](Token cancel) { is_subset(narrow.view(), a.view(), kernel, cancel); }},
      {"equal, the same bytes", of_a, [&](Token cancel) { equal(a.view(), same.view(), kernel, cancel); }},
      {"equal, other bytes", of_a, [&](Token cancel) { equal(a.view(), narrow.view(), kernel, cancel); }},
      {"compare", 2 * of_a, [&](Token cancel) { compare(a.view(), narrow.view(), options(cancel)); }},
      {"hash", of_a, [&](Token cancel) { hash(a.view(), 0, cancel); }},
      {"least", of_a, [&](Token cancel) { set_min(a.view(), cancel); }},
      {"greatest", of_a, [&](Token cancel) { set_max(a.view(), cancel); }},
      {"least of a bitmap", of_bits / 2, [&](Token cancel) { set_min(last_bits.view(), cancel); }},
      {"keep members", 8 * many.size(),
       [&](Token cancel) {
         Elements some = many;
         keep_members(a.view(), some, cancel);
       }},
      {"decode", of_a,
       [&](Token cancel) {
         GrowingBuffer<uint64_t> out(test_meter());
         decode(a.view(), out, options(cancel));
       }},
      {"and", of_a,
       [&](Token cancel) {
         const ExecutionOptions own = options(cancel);
         CompactWriter out(own);
         combine_sets(a.view(), narrow.view(), SetCombination::kAnd, *kernel.compact, out, own);
       }},
      {"sort", 8 * many.size(),
       [&](Token cancel) {
         GrowingBuffer<uint64_t> some(test_meter());
         for (size_t i = many.size(); i > 0; --i) some.push_back(many[i - 1]);
         sort_distinct(some, options(cancel));
       }},
      {"sort what is sorted", 8 * many.size(),
       [&](Token cancel) {
         GrowingBuffer<uint64_t> some(test_meter());
         for (const uint64_t x : many) some.push_back(x);
         sort_distinct(some, options(cancel));
       }},
      encode("encode a bitmap", bit_elements, 23),
      encode("encode an array", array_elements, 62),
      {"finish a state", 8 * many.size(),
       [&](Token cancel) {
         std::vector<uint64_t> words(many.size() + 8);
         auto* const state = reinterpret_cast<std::byte*>(words.data()) + 4;
         state_init(state, StateKind::kSymmetricDifference, kUndeclaredWidth);
         state_append(state, words.size() * 8 - 4, many);
         const ExecutionOptions own = options(cancel);
         CompactWriter out(own);
         state_result(state, *kernel.compact, out, own);
       }},
      {"print", 8 * many.size(),
       [&](Token cancel) {
         GrowingBuffer<char> out(test_meter());
         print_set_text(many, out, cancel);
       }},
      {"parse bytes", of_bits,
       [&](Token cancel) {
         GrowingBuffer<uint64_t> out(test_meter());
         parse_set_text(text_of_bits, out, options(cancel));
       }},
      {"write Roaring bytes", compact_large.bytes.size(),
       [&](Token cancel) {
         GrowingBuffer<std::byte> out(test_meter());
         write_roaring(compact_large.view().compact(), RoaringForm::k64, out, options(cancel));
       }},
      {"read a compact set", compact_large.bytes.size(),
       [&](Token cancel) {
         GrowingBuffer<uint64_t> out(test_meter());
         decode(compact_large.view(), out, options(cancel));
       }},
      {"read a batmap by chunks", of_a,
       [&](Token cancel) {
         AscendingReader reader(a.view(), options(cancel));
         uint64_t chunk[kChunkElements];
         while (reader.next(chunk) > 0) continue;
       }},
      {"read a compact set by chunks", compact_large.bytes.size(),
       [&](Token cancel) {
         AscendingReader reader(compact_large.view(), options(cancel));
         uint64_t chunk[kChunkElements];
         while (reader.next(chunk) > 0) continue;
       }},
      {"compare compact sets", compact_large.bytes.size(),
       [&](Token cancel) { compare(compact_large.view(), compact_same.view(), options(cancel)); }},
      count("count compact sets", compact_large, compact_same),
      count("count a compact set and a batmap", compact_large, large),
      check("validate a compact set", compact_large),
      check("validate a batmap", a),
      check("validate a stash", stashed),
      check("validate a bitmap", bits),
  };
  for (const Walk& walk : walks) {
    Polls polls;
    walk.run(polls.token());
    const uint64_t all = polls.seen;
    EXPECT_GE(all, std::max<uint64_t>(walk.bytes / kBytesPerPoll, 1)) << walk.name << " of " << walk.bytes << " bytes";
    const uint64_t step = full_grid() ? 1 : all / 30 + 1;
    for (uint64_t stop_at = 1; stop_at <= all; stop_at += step) {
      polls = {0, stop_at};
      try {
        walk.run(polls.token());
        ADD_FAILURE() << walk.name << " went on after look " << stop_at;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::kCancelled) << walk.name;
      }
      ASSERT_EQ(polls.seen, stop_at) << walk.name;
    }
  }
}

// Sets that are counted by the thousand are too small to be polled for.
TEST(SetCancel, SmallSetsDoNotLook) {
  Random random(101);
  const NamedSet a("a", 32, random_elements(random, 1000, 32));
  const NamedSet b("b", 32, random_elements(random, 1000, 32));
  Polls polls;
  and_cardinality(a.view(), b.view(), best_set_kernel(), polls.token());
  intersects(a.view(), b.view(), best_set_kernel(), polls.token());
  equal(a.view(), b.view(), best_set_kernel(), polls.token());
  hash(a.view(), 0, polls.token());
  EXPECT_EQ(polls.seen, 0u);
}

TEST(SetCancel, KeepMembersInParts) {
  Random random(102);
  const NamedSet set("set", 32, random_elements(random, 20000, 16));
  const Elements others = random_elements(random, 30000, 16);
  Elements expected;
  std::set_intersection(others.begin(), others.end(), set.elements.begin(), set.elements.end(),
                        std::back_inserter(expected));
  for (const size_t count : {0u, 1u, 4095u, 4096u, 4097u, 30000u}) {
    Elements some(others.begin(), others.begin() + static_cast<ptrdiff_t>(count));
    Elements kept;
    std::set_intersection(some.begin(), some.end(), expected.begin(), expected.end(), std::back_inserter(kept));
    some.resize(keep_members(set.view(), some, CancelToken()));
    EXPECT_EQ(some, kept) << count;
  }
}

}  // namespace
}  // namespace batmap::test
