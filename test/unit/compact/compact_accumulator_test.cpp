// Sums of many compact sets against sorted vectors: every kind of block meets every other, by every CPU kernel; memory that runs
// out, and a cancel.
#include "compact/compact_accumulator.h"

#include <gtest/gtest.h>

#include <memory>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

/// Memory that is given back all at once; it may run out.
class TestSource final : public MemorySource {
 public:
  explicit TestSource(size_t limit = SIZE_MAX) : limit_(limit) {}
  std::byte* take(size_t bytes) override {
    if (bytes > limit_ - held_) throw std::bad_alloc();
    held_ += bytes;
    most_ = std::max(most_, held_);
    blocks_.push_back(std::make_unique<uint64_t[]>((bytes + 7) / 8));
    return reinterpret_cast<std::byte*>(blocks_.back().get());
  }
  void give(std::byte* memory, size_t bytes) noexcept override {
    held_ -= bytes;
    std::erase_if(blocks_, [&](const auto& block) { return reinterpret_cast<std::byte*>(block.get()) == memory; });
  }
  size_t most() const { return most_; }

 private:
  size_t limit_;
  size_t held_ = 0;
  size_t most_ = 0;
  std::vector<std::unique_ptr<uint64_t[]>> blocks_;
};

constexpr SetCombination kSums[] = {SetCombination::kAnd, SetCombination::kOr, SetCombination::kXor};

Elements joined(const Elements& sum, const Elements& more, SetCombination operation) {
  Elements out;
  const auto to = std::back_inserter(out);
  if (operation == SetCombination::kAnd) std::set_intersection(sum.begin(), sum.end(), more.begin(), more.end(), to);
  if (operation == SetCombination::kOr) std::set_union(sum.begin(), sum.end(), more.begin(), more.end(), to);
  if (operation == SetCombination::kXor) std::set_symmetric_difference(sum.begin(), sum.end(), more.begin(), more.end(), to);
  return out;
}

/// Adds the sets one after the other and compares each result. @param step  of the results that are looked at
void check_sum(const std::vector<const NamedSet*>& sets, size_t step) {
  for (const SetCombination operation : kSums) {
    std::vector<Elements> expected{sets[0]->elements};
    for (size_t i = 1; i < sets.size(); ++i) expected.push_back(joined(expected.back(), sets[i]->elements, operation));
    for (const SetKernel* kernel : set_kernels_here()) {
      SCOPED_TRACE(std::string(kernel->name) + " operation " + std::to_string(static_cast<int>(operation)));
      TestSource source;
      CompactAccumulator sum(operation, *kernel->compact, source, {});
      CompactWriter out(test_options());
      for (size_t i = 0; i < sets.size(); ++i) {
        ASSERT_EQ(sum.is_settled(), operation == SetCombination::kAnd && i > 0 && expected[i - 1].empty());
        sum.add(CompactView::open(sets[i]->bytes));
        if (i % step != step - 1 && i + 1 < sets.size()) continue;
        ASSERT_EQ(sum.cardinality(), expected[i].size()) << i << " " << sets[i]->name;
        sum.write(out);
        ASSERT_EQ(written(out), encode_compact(expected[i])) << i << " " << sets[i]->name;
      }
    }
  }
}

std::vector<NamedSet> single_blocks() {
  std::vector<NamedSet> sets;
  for (const auto& [name, elements] : block_shapes()) sets.emplace_back(name, kCompactForm, elements);
  return sets;
}

TEST(CompactAccumulator, NothingAndOneSet) {
  TestSource source;
  for (const SetCombination operation : kSums) {
    CompactAccumulator sum(operation, *best_set_kernel().compact, source, {});
    CompactWriter out(test_options());
    sum.write(out);
    EXPECT_EQ(written(out), encode_compact({}));
    EXPECT_FALSE(sum.is_settled());
    EXPECT_EQ(sum.cardinality(), 0u);
  }
  for (const NamedSet& set : compact_sets()) check_sum({&set}, 1);
}

TEST(CompactAccumulator, EveryPairOfBlocks) {
  const std::vector<NamedSet> sets = single_blocks();
  for (const NamedSet& a : sets)
    for (const NamedSet& b : sets) {
      SCOPED_TRACE(a.name + " of " + std::to_string(a.elements.size()) + "; " + b.name + " of " +
                   std::to_string(b.elements.size()));
      check_sum({&a, &b}, 2);
      if (HasFatalFailure()) return;
    }
}

// Blocks go from kind to kind: small arrays first, then larger ones, runs and bitmaps, in random orders.
TEST(CompactAccumulator, BlocksOfManySets) {
  const std::vector<NamedSet> sets = single_blocks();
  Random random(31);
  for (int round = 0; round < 12; ++round) {
    std::vector<const NamedSet*> order;
    for (int i = 0; i < 10; ++i) order.push_back(&sets[random.below(sets.size())]);
    if (round % 2 == 0)
      std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->elements.size() < b->elements.size(); });
    check_sum(order, 3);
    if (HasFatalFailure()) return;
  }
}

// Logs of every length, of short and of long pieces, with elements that come again.
TEST(CompactAccumulator, LogsOfManyPieces) {
  Random random(32);
  for (const uint64_t piece : {1u, 2u, 5u, 30u, 200u, 900u})
    for (const int width : {8, 12, 16}) {
      SCOPED_TRACE(std::to_string(piece) + " of 2^" + std::to_string(width));
      std::vector<NamedSet> sets;
      const size_t count = std::min<uint64_t>(400, 9000 / piece);
      for (size_t i = 0; i < count; ++i)
        sets.emplace_back("piece", kCompactForm, random_elements(random, 1 + random.below(piece), width));
      std::vector<const NamedSet*> order;
      for (const NamedSet& set : sets) order.push_back(&set);
      check_sum(order, 1 + count / 9);
      if (HasFatalFailure()) return;
    }
}

TEST(CompactAccumulator, SetsOfManyBlocks) {
  const std::vector<NamedSet> all = compact_sets();
  std::vector<const NamedSet*> sets;
  for (const NamedSet& set : all)
    if (set.elements.size() < 20000) sets.push_back(&set);
  Random random(33);
  for (int round = 0; round < 8; ++round) {
    std::vector<const NamedSet*> order;
    for (int i = 0; i < 8; ++i) order.push_back(sets[random.below(sets.size())]);
    check_sum(order, 4);
    if (HasFatalFailure()) return;
  }
}

// The data do not lead out of a room: AddressSanitizer looks. The result is a set whose header is in order.
TEST(CompactAccumulator, DamagedBlocks) {
  Random random(42);
  const std::vector<NamedSet> sets = single_blocks();
  for (int round = 0; round < 1500; ++round)
    for (const SetCombination operation : kSums)
      for (const SetKernel* kernel : set_kernels_here()) {
        TestSource source;
        CompactAccumulator sum(operation, *kernel->compact, source, {});
        for (int i = 0; i < 6; ++i) {
          const Bytes bytes = random.chance(70) ? damaged_set(random) : sets[random.below(sets.size())].bytes;
          sum.add(CompactView::open(bytes));
        }
        CompactWriter out(test_options());
        sum.write(out);
        ASSERT_LE(CompactView::open(written(out)).cardinality(), uint64_t{kBlockSpan}) << "round " << round;
      }
}

// Blocks of a long header whose table of offsets hides that they are longer than the value.
TEST(CompactAccumulator, DamagedOffsets) {
  Elements elements;
  for (uint64_t key = 0; key < 256; ++key)
    for (uint64_t x = 0; x < 8; ++x) elements.push_back(key << 16 | 2 * x);
  Bytes bytes = encode_compact(elements);
  const size_t shapes = kLongHeaderBytes + 4 * (256 / kBlocksPerOffset) + 4 * 256;
  store_le<uint16_t>(&bytes[shapes], 4095);  // the first block; the last group of blocks is as it was
  TestSource source;
  CompactAccumulator sum(SetCombination::kOr, *best_set_kernel().compact, source, {});
  EXPECT_THROW(sum.add(CompactView::open(bytes)), Error);
}

// The same few elements, again and again: neither a log nor a copy of the first set may grow.
TEST(CompactAccumulator, MemoryOfEqualSets) {
  const NamedSet set("few", kCompactForm, {1, 5, 70000, 200000, uint64_t{1} << 40});
  for (const SetCombination operation : kSums) {
    TestSource source;
    CompactAccumulator sum(operation, *best_set_kernel().compact, source, {});
    for (int i = 0; i < 10001; ++i) sum.add(CompactView::open(set.bytes));
    EXPECT_EQ(sum.cardinality(), set.elements.size());
    EXPECT_LE(source.most(), size_t{16} << 10);
  }
}

TEST(CompactAccumulator, LackOfMemory) {
  const std::vector<NamedSet> sets = single_blocks();
  Random random(34);
  TestSource all;
  CompactAccumulator whole(SetCombination::kOr, *best_set_kernel().compact, all, {});
  for (const NamedSet& set : sets) whole.add(CompactView::open(set.bytes));
  for (size_t limit = 0; limit < all.most(); limit += 1 + random.below(all.most() / 20)) {
    TestSource source(limit);
    CompactAccumulator sum(SetCombination::kOr, *best_set_kernel().compact, source, {});
    EXPECT_THROW(for (const NamedSet& set : sets) sum.add(CompactView::open(set.bytes)), std::bad_alloc) << limit;
  }
}

TEST(CompactAccumulator, Cancelled) {
  Elements elements;
  for (uint64_t key = 0; key < 1000; ++key) elements.push_back(key << 16 | key);
  const NamedSet set("many blocks", kCompactForm, elements);
  for (const SetCombination operation : kSums) {
    Polls polls;
    const auto run = [&] {
      TestSource source;
      CompactAccumulator sum(operation, *best_set_kernel().compact, source, polls.token());
      for (int i = 0; i < 3; ++i) sum.add(CompactView::open(set.bytes));
      CompactWriter out(test_options());
      sum.write(out);
      return sum.cardinality();
    };
    run();
    const uint64_t seen = polls.seen;
    EXPECT_GE(seen, 5 * (elements.size() / kStepsPerPoll));
    for (uint64_t stop_at = 1; stop_at <= seen; stop_at += 7) {
      polls = {0, stop_at};
      EXPECT_THROW(run(), Error) << stop_at;
    }
  }
}

}  // namespace
}  // namespace batmap::test
