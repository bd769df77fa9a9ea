// Compact sets are the same bytes whichever way they are made, never longer than Roaring's, and within their budget.
#include "compact/compact_writer.h"

#include <gtest/gtest.h>

#include "compact/compact_blocks.h"
#include "compact/roaring_format.h"
#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

TEST(CompactWriter, EveryWayGivesTheSameBytes) {
  for (const NamedSet& set : compact_sets()) {
    SCOPED_TRACE(set.name);
    const CompactView view = CompactView::open(set.bytes);
    CompactWriter copied(test_options());
    for (BlockCursor block(view); !block.at_end(); block.next()) copied.add_block(block.block());
    EXPECT_EQ(written(copied), set.bytes);
    if (!set.elements.empty() && set.elements.back() <= UINT32_MAX) {
      const std::vector<uint32_t> narrow(set.elements.begin(), set.elements.end());
      CompactWriter writer(test_options());
      writer.add_elements(std::span<const uint32_t>(narrow));
      EXPECT_EQ(written(writer), set.bytes);
    }
    for (const SetKernel* kernel : set_kernels_here()) {
      CompactWriter by_words(test_options());
      CompactWriter by_runs(test_options());
      uint64_t words[kBitmapBlockWords];
      for (BlockCursor block(view); !block.at_end(); block.next()) {
        expand_block(block.block(), kCompactKernelScalar, words);
        by_words.add_words(block.key(), words, *kernel->compact);
        std::vector<BlockRun> runs;
        for (uint32_t x = 0; x < kBlockSpan; ++x) {
          if ((words[x / 64] >> (x % 64) & 1) == 0) continue;
          if (!runs.empty() && runs.back().last + 1 == x)
            runs.back().last = x;
          else
            runs.push_back({x, x});
        }
        by_runs.add_runs(block.key(), runs);
      }
      EXPECT_EQ(written(by_words), set.bytes) << kernel->name;
      EXPECT_EQ(written(by_runs), set.bytes);
    }
  }
}

TEST(CompactWriter, Ranges) {
  for (const auto& [first, last] : {std::pair<uint64_t, uint64_t>{0, 0},
                                    {5, 5},
                                    {5, 6},
                                    {0, 65535},
                                    {65535, 65536},
                                    {1, 300000},
                                    {(uint64_t{1} << 32) - 3, (uint64_t{1} << 32) + 2},
                                    {65536, 131071}}) {
    Elements elements;
    for (uint64_t x = first; x <= last; ++x) elements.push_back(x);
    CompactWriter writer(test_options());
    writer.add_range(first, last);
    EXPECT_EQ(written(writer), encode_compact(elements)) << first << " .. " << last;
  }
  // All numbers of 32 bits.
  CompactWriter all(test_options());
  all.add_range(0, UINT32_MAX);
  const Bytes bytes = written(all);
  validate_compact(bytes);
  EXPECT_EQ(CompactView::open(bytes).cardinality(), uint64_t{1} << 32);
  EXPECT_LT(bytes.size(), 8u * 65536 + 4200);
}

// Not one set takes more bytes than in the portable Roaring form with runs, up to elements of 2^40.
TEST(CompactWriter, NoLongerThanRoaring) {
  Random random(36);
  std::vector<NamedSet> sets = compact_sets();
  for (int trial = 0; trial < 600; ++trial) {
    const int width = 4 + static_cast<int>(random.below(36));
    const Elements some = random_elements(random, 1 + random.below(std::min<uint64_t>(universe_of(width), 2000)), width);
    std::set<uint64_t> spread;
    const uint64_t run = 1 + random.below(6);
    for (const uint64_t x : some)
      for (uint64_t k = 0; k < run; ++k) spread.insert(x + k);
    sets.emplace_back("random", kCompactForm, Elements(spread.begin(), spread.end()));
  }
  size_t compared = 0;
  for (const NamedSet& set : sets) {
    const uint64_t last = set.elements.empty() ? 0 : set.elements.back();
    if (last >> 40 > 0) continue;
    GrowingBuffer<std::byte> roaring(test_meter());
    write_roaring(CompactView::open(set.bytes), last > UINT32_MAX ? RoaringForm::k64 : RoaringForm::k32, roaring,
                  test_options());
    ASSERT_LE(set.bytes.size(), roaring.size()) << set.name << " of " << set.elements.size();
    ++compared;
  }
  EXPECT_GT(compared, 620u);
}

TEST(CompactWriter, StopsWhenAskedAndWithinItsBudget) {
  Random random(37);
  const Elements elements = random_elements(random, 60000, 28);
  Polls polls;
  const auto run = [&](size_t limit) {
    MemoryMeter meter(limit);
    std::optional<ErrorCode> code;
    try {
      const ExecutionOptions options{1, &meter, polls.token()};
      CompactWriter writer(options);
      writer.add_elements(std::span<const uint64_t>(elements));
      Bytes bytes(writer.bytes());
      writer.write(bytes.data());
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(meter.current(), 0u);
    return code;
  };
  ASSERT_EQ(run(MemoryMeter::kUnlimited), std::nullopt);
  const uint64_t all = polls.seen;
  EXPECT_GT(all, 50u);
  for (uint64_t stop_at = 1; stop_at <= all; stop_at += 7) {
    polls = {0, stop_at};
    EXPECT_EQ(run(MemoryMeter::kUnlimited), ErrorCode::kCancelled);
  }
  polls = {};
  size_t limit = 1024;
  for (; run(limit) == ErrorCode::kMemoryLimit; limit += limit / 4) ASSERT_LT(limit, size_t{1} << 30);
  EXPECT_GT(limit, 2 * elements.size());
}

}  // namespace
}  // namespace batmap::test
