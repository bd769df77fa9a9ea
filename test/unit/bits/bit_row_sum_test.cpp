// Column sums of bit rows against adding bit by bit, for every kernel of this machine.
#include "bits/bit_row_sum.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "bits/and_popcount.h"
#include "core/memory.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

std::vector<const AndPopcountKernel*> kernels_here() {
  std::vector<const AndPopcountKernel*> all;
  for (const AndPopcountKernel& kernel : and_popcount_kernels())
    if (find_and_popcount(kernel.name) != nullptr) all.push_back(&kernel);
  return all;
}

/// Sums `rows` of random bit rows in calls of the given sizes, and checks every column and some thresholds.
void check_sum(const AndPopcountKernel& kernel, size_t words, size_t stride, size_t offset, const std::vector<size_t>& calls,
               uint64_t percent) {
  Random random(kSeed);
  constexpr size_t kMatrixRows = 50;
  MemoryMeter meter;
  Buffer<uint64_t> bits(meter, kMatrixRows * stride, Fill::kZero);
  for (size_t bit = 0; bit < kMatrixRows * stride * 64; ++bit)
    if (random.chance(percent)) bits[bit / 64] |= uint64_t{1} << (bit % 64);

  // The counters start with arbitrary bytes: start() must clear those in use.
  const auto sum = std::make_unique<BitRowSum>();
  std::memset(static_cast<void*>(sum.get()), 0xa5, sizeof *sum);
  sum->start(words);
  std::vector<uint32_t> expected(words * 64, 0);
  size_t total = 0;
  for (const size_t count : calls) {
    std::vector<uint32_t> rows;
    for (size_t k = 0; k < count; ++k) rows.push_back(static_cast<uint32_t>(random.below(kMatrixRows)));
    kernel.add_rows(*sum, bits.data() + offset, stride, rows.data(), rows.size());
    for (const uint32_t row : rows)
      for (size_t column = 0; column < words * 64; ++column)
        expected[column] += static_cast<uint32_t>(bits[row * stride + offset + column / 64] >> (column % 64) & 1);
    total += count;
  }
  finish(*sum);

  const auto where = [&] {
    return std::string(kernel.name) + ", " + std::to_string(words) + " words, " + std::to_string(total) + " rows, seed " +
           std::to_string(kSeed);
  };
  for (size_t column = 0; column < words * 64; ++column)
    ASSERT_EQ(sum->count(column / 64, static_cast<int>(column % 64)), expected[column]) << where() << ", column " << column;
  std::vector<uint32_t> thresholds{1, 2, 3, 15, 16, 17, 31, 32, 255, 256, UINT32_MAX, 0x80000000u};
  for (const size_t column : {size_t{0}, words * 32, words * 64 - 1})
    for (const uint32_t at : {expected[column], expected[column] + 1})
      if (at > 0) thresholds.push_back(at);
  for (const uint32_t threshold : thresholds)
    for (size_t word = 0; word < words; ++word) {
      uint64_t reached = 0;
      for (size_t bit = 0; bit < 64; ++bit) reached |= uint64_t{expected[word * 64 + bit] >= threshold} << bit;
      ASSERT_EQ(sum->columns_reaching(word, threshold), reached)
          << where() << ", threshold " << threshold << ", word " << word;
    }
}

TEST(BitRowSum, EveryNumberOfRows) {
  for (const AndPopcountKernel* kernel : kernels_here())
    for (size_t rows = 0; rows <= 100; ++rows)
      for (const uint64_t percent : {40, 100}) check_sum(*kernel, 8, 8, 0, {rows}, percent);
}

TEST(BitRowSum, RowsAroundPowersOfTwo) {
  for (const AndPopcountKernel* kernel : kernels_here())
    for (const size_t rows : {127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097})
      for (const uint64_t percent : {30, 100}) check_sum(*kernel, 8, 16, 8, {rows}, percent);
}

TEST(BitRowSum, EveryWidth) {
  for (const AndPopcountKernel* kernel : kernels_here())
    for (size_t words = 8; words <= BitRowSum::kMaxWords; words += 8) check_sum(*kernel, words, words + 8, 8, {39}, 50);
}

TEST(BitRowSum, CallsFollowEachOther) {
  for (const AndPopcountKernel* kernel : kernels_here()) {
    check_sum(*kernel, 16, 16, 0, {16, 16, 16}, 70);
    check_sum(*kernel, 16, 16, 0, {32, 64, 16, 7}, 70);
    check_sum(*kernel, 16, 16, 0, {160, 1}, 100);
    check_sum(*kernel, 16, 16, 0, {0, 48, 0, 15}, 100);
  }
}

TEST(BitRowSum, NoRowsReachNothing) {
  const auto sum = std::make_unique<BitRowSum>();
  sum->start(8);
  finish(*sum);
  for (size_t word = 0; word < 8; ++word) EXPECT_EQ(sum->columns_reaching(word, 1), 0u);
}

}  // namespace
}  // namespace batmap::test
