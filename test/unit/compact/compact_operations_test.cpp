// Algebra and counts of compact sets against sorted vectors: every pair of block shapes, by every CPU kernel.
#include "compact/compact_operations.h"

#include <gtest/gtest.h>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

struct Named {
  SetCombination operation;
  const char* name;
};
constexpr Named kOperations[] = {{SetCombination::kAnd, "and"},
                                 {SetCombination::kOr, "or"},
                                 {SetCombination::kAndNot, "andnot"},
                                 {SetCombination::kXor, "xor"}};

Elements oracle(const Elements& a, const Elements& b, SetCombination operation) {
  Elements out;
  const auto to = std::back_inserter(out);
  switch (operation) {
    case SetCombination::kAnd: std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), to); break;
    case SetCombination::kOr: std::set_union(a.begin(), a.end(), b.begin(), b.end(), to); break;
    case SetCombination::kAndNot: std::set_difference(a.begin(), a.end(), b.begin(), b.end(), to); break;
    case SetCombination::kXor: std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), to); break;
  }
  return out;
}

void check_pair(const NamedSet& a, const NamedSet& b) {
  SCOPED_TRACE(a.name + " of " + std::to_string(a.elements.size()) + "; " + b.name + " of " +
               std::to_string(b.elements.size()));
  const CompactView x = CompactView::open(a.bytes);
  const CompactView y = CompactView::open(b.bytes);
  CompactWriter out(test_options());
  for (const SetKernel* kernel : set_kernels_here()) {
    SCOPED_TRACE(kernel->name);
    for (const auto& [operation, name] : kOperations) {
      const Elements expected = oracle(a.elements, b.elements, operation);
      out.clear();
      combine_compact(x, y, operation, *kernel->compact, out, {});
      // The bytes are those of the set, however it was made.
      ASSERT_EQ(written(out), encode_compact(expected)) << name;
      if (operation != SetCombination::kAnd) continue;
      uint64_t count = 0;
      count_common_blocks(x, y, *kernel->compact, {}, [&](uint32_t common) {
        count += common;
        return true;
      });
      ASSERT_EQ(count, expected.size());
      ASSERT_EQ(is_subset(x, y, *kernel->compact, {}), expected.size() == a.elements.size());
    }
  }
  Elements kept = a.elements;
  kept.resize(keep_members(y, kept));
  ASSERT_EQ(kept, oracle(a.elements, b.elements, SetCombination::kAnd));
  const int order = compare_compact(x, y, {});
  ASSERT_EQ((order > 0) - (order < 0), a.elements < b.elements ? -1 : a.elements > b.elements);
}

void check_all_pairs(const std::vector<NamedSet>& sets) {
  for (const NamedSet& a : sets)
    for (const NamedSet& b : sets) {
      check_pair(a, b);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(CompactOperations, EveryPairOfBlocks) {
  std::vector<NamedSet> sets;
  for (const auto& [name, elements] : block_shapes()) sets.emplace_back(name, kCompactForm, elements);
  check_all_pairs(sets);
}

// The data do not lead out of a room: AddressSanitizer looks. The result is a set whose header is in order.
TEST(CompactOperations, DamagedBlocks) {
  Random random(41);
  const auto shapes = block_shapes();
  for (int round = 0; round < 3000; ++round) {
    const Bytes damaged = damaged_set(random);
    const Bytes other = random.chance(70) ? damaged_set(random) : encode_compact(shapes[random.below(shapes.size())].second);
    for (const SetKernel* kernel : set_kernels_here())
      for (const auto& [operation, name] : kOperations) {
        CompactWriter out(test_options());
        combine_compact(CompactView::open(damaged), CompactView::open(other), operation, *kernel->compact, out, {});
        ASSERT_LE(CompactView::open(written(out)).cardinality(), uint64_t{kBlockSpan}) << name << " in round " << round;
      }
    const Bytes third = damaged_set(random);
    const CompactView three[] = {CompactView::open(damaged), CompactView::open(other), CompactView::open(third)};
    for (const SetKernel* kernel : set_kernels_here()) count_common_of_all(three, *kernel->compact, {});
  }
}

TEST(CompactOperations, SetsOfManyBlocks) {
  std::vector<NamedSet> sets;
  for (NamedSet& set : compact_sets())
    if (set.elements.size() < 20000) sets.push_back(std::move(set));
  ASSERT_GT(sets.size(), 20u);
  for (size_t i = 0; i < sets.size(); ++i)
    for (size_t j = i % 3; j < sets.size(); j += 3) {
      check_pair(sets[i], sets[j]);
      if (HasFatalFailure()) return;
    }
}

void check_all_of(const std::vector<const NamedSet*>& sets) {
  std::vector<CompactView> views;
  Elements expected = sets[0]->elements;
  std::string names;
  for (const NamedSet* set : sets) {
    views.push_back(CompactView::open(set->bytes));
    expected = oracle(expected, set->elements, SetCombination::kAnd);
    names += set->name + " of " + std::to_string(set->elements.size()) + "; ";
  }
  for (const SetKernel* kernel : set_kernels_here())
    ASSERT_EQ(count_common_of_all(views, *kernel->compact, {}), expected.size()) << names << kernel->name;
}

TEST(CompactOperations, ThreeAndMoreSets) {
  Random random(34);
  std::vector<NamedSet> blocks;
  for (const auto& [name, elements] : block_shapes()) blocks.emplace_back(name, kCompactForm, elements);
  for (const NamedSet& a : blocks)
    for (const NamedSet& b : blocks) {
      check_all_of({&a, &b, &blocks[random.below(blocks.size())]});
      if (HasFatalFailure()) return;
    }
  const std::vector<NamedSet> all = compact_sets();
  for (int round = 0; round < 400; ++round) {
    const std::vector<NamedSet>& from = round % 2 == 0 ? blocks : all;
    std::vector<const NamedSet*> sets;
    for (size_t count = 2 + random.below(kMostTogether - 1); count > 0; --count)
      sets.push_back(&from[random.below(from.size())]);
    if (round % 4 >= 2) sets.resize(2 + random.below(3) % (sets.size() - 1));
    check_all_of(sets);
    if (HasFatalFailure()) return;
  }
}

// Sets with much in common, so that something is left of every block.
TEST(CompactOperations, ThreeAndMoreSetsAlike) {
  Random random(35);
  for (int round = 0; round < 60; ++round) {
    const Elements most = random_elements(random, 20 + random.below(30000), 18);
    std::vector<NamedSet> sets;
    for (size_t count = 3 + random.below(4); count > 0; --count) {
      Elements some;
      for (const uint64_t x : most)
        if (random.chance(90)) some.push_back(x);
      sets.emplace_back("alike", kCompactForm, some);
    }
    std::vector<const NamedSet*> pointers;
    for (const NamedSet& set : sets) pointers.push_back(&set);
    check_all_of(pointers);
    if (HasFatalFailure()) return;
  }
}

// Few elements against many blocks: the cursor skips.
TEST(CompactOperations, SkipsBlocks) {
  Random random(31);
  const NamedSet many("many", kCompactForm, random_elements(random, 20000, 30));
  for (const size_t step : {1u, 7u, 1000u, 19999u}) {
    Elements few;
    for (size_t i = 0; i < many.elements.size(); i += step) few.push_back(many.elements[i] + random.below(2));
    Elements distinct;
    std::unique_copy(few.begin(), few.end(), std::back_inserter(distinct));
    check_pair(NamedSet("few", kCompactForm, distinct), many);
    check_pair(many, NamedSet("few", kCompactForm, distinct));
    if (HasFatalFailure()) return;
  }
}

TEST(CompactOperations, Unaligned) {
  Random random(32);
  const Elements a = random_elements(random, 30000, 18);
  const Elements b = random_elements(random, 3000, 18);
  const Bytes a_bytes = encode_compact(a);
  const Bytes b_bytes = encode_compact(b);
  for (size_t shift = 0; shift < 8; ++shift) {
    Bytes moved(a_bytes.size() + shift);
    std::copy(a_bytes.begin(), a_bytes.end(), moved.begin() + static_cast<ptrdiff_t>(shift));
    CompactWriter out(test_options());
    for (const SetKernel* kernel : set_kernels_here()) {
      out.clear();
      combine_compact(CompactView::open(std::span(moved).subspan(shift)), CompactView::open(b_bytes), SetCombination::kXor,
                      *kernel->compact, out, {});
      EXPECT_EQ(written(out), encode_compact(oracle(a, b, SetCombination::kXor)));
    }
  }
}

TEST(CompactOperations, StopsAtEveryLook) {
  Random random(33);
  const Bytes a = encode_compact(random_elements(random, 20000, 30));
  const Bytes b = encode_compact(random_elements(random, 20000, 30));
  CompactWriter out(test_options());
  for (const auto& [operation, name] : kOperations) {
    Polls polls;
    const auto run = [&, &op = operation] {
      out.clear();
      combine_compact(CompactView::open(a), CompactView::open(b), op, *best_set_kernel().compact, out, polls.token());
    };
    run();
    const uint64_t all = polls.seen;
    EXPECT_GT(all, 50u) << name;
    for (uint64_t stop_at = 1; stop_at <= all; stop_at += 9) {
      polls = {0, stop_at};
      EXPECT_THROW(run(), Error);
    }
  }
  const CompactView sets[] = {CompactView::open(a), CompactView::open(b), CompactView::open(a)};
  Polls polls;
  count_common_of_all(sets, *best_set_kernel().compact, polls.token());
  const uint64_t all = polls.seen;
  EXPECT_GT(all, 50u);
  for (uint64_t stop_at = 1; stop_at <= all; stop_at += 9) {
    polls = {0, stop_at};
    EXPECT_THROW(count_common_of_all(sets, *best_set_kernel().compact, polls.token()), Error);
  }
}

}  // namespace
}  // namespace batmap::test
