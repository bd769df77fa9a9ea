// Every kernel of this machine against counting bit by bit: all small tile sizes, lengths, strides and alignments.
#include "bits/and_popcount.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "core/cpu.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

std::vector<const AndPopcountKernel*> kernels_here() {
  std::vector<const AndPopcountKernel*> all;
  for (const AndPopcountKernel& kernel : and_popcount_kernels())
    if ((kernel.needs & cpu_features()) == kernel.needs) all.push_back(&kernel);
  return all;
}

uint32_t common_bits(const uint64_t* x, const uint64_t* y, size_t words) {
  uint32_t count = 0;
  for (size_t bit = 0; bit < words * 64; ++bit) count += (x[bit / 64] >> (bit % 64) & 1) & (y[bit / 64] >> (bit % 64) & 1);
  return count;
}

struct TileSizes {
  size_t rows, columns, words, row_padding, column_padding, row_offset, column_offset;
};

/// Runs a tile over random bits. Counts outside the tile must not change; those inside are added to.
void check_tile(const AndPopcountKernel& kernel, const TileSizes& sizes, int filling) {
  Random random(kSeed);
  const size_t row_stride = sizes.words + sizes.row_padding;
  const size_t column_stride = sizes.words + sizes.column_padding;
  const auto fill = [&](size_t count) {
    std::vector<uint64_t> bits(count);
    for (uint64_t& word : bits)
      word = filling == 0 ? random.bits() : filling == 1 ? ~uint64_t{0} : random.bits() & random.bits() & random.bits();
    return bits;
  };
  const std::vector<uint64_t> rows = fill(sizes.row_offset + sizes.rows * row_stride);
  const std::vector<uint64_t> columns = fill(sizes.column_offset + sizes.columns * column_stride);
  const size_t count_stride = sizes.columns + 3;
  std::vector<uint32_t> counts((sizes.rows + 1) * count_stride);
  for (uint32_t& count : counts) count = static_cast<uint32_t>(random.below(1000));
  std::vector<uint32_t> expected = counts;
  for (size_t r = 0; r < sizes.rows; ++r)
    for (size_t c = 0; c < sizes.columns; ++c)
      expected[r * count_stride + c] += common_bits(rows.data() + sizes.row_offset + r * row_stride,
                                                    columns.data() + sizes.column_offset + c * column_stride, sizes.words);
  kernel.count({.rows = rows.data() + sizes.row_offset,
                .row_stride = row_stride,
                .row_count = sizes.rows,
                .columns = columns.data() + sizes.column_offset,
                .column_stride = column_stride,
                .column_count = sizes.columns,
                .words = sizes.words,
                .counts = counts.data(),
                .count_stride = count_stride});
  ASSERT_EQ(counts, expected) << kernel.name << ": " << sizes.rows << " x " << sizes.columns << " of " << sizes.words
                              << " words, offsets " << sizes.row_offset << " " << sizes.column_offset << ", seed " << kSeed;
}

TEST(AndPopcount, EveryTileSize) {
  for (const AndPopcountKernel* kernel : kernels_here())
    for (size_t rows = 0; rows <= 9; ++rows)
      for (size_t columns = 0; columns <= 9; ++columns) check_tile(*kernel, {rows, columns, 16, 0, 8, 0, 0}, 0);
}

TEST(AndPopcount, EveryLength) {
  for (const AndPopcountKernel* kernel : kernels_here())
    for (size_t words = 0; words <= 1024; words += words < 264 ? 8 : 152)
      for (const int filling : {0, 1, 2}) check_tile(*kernel, {3, 5, words, 8, 0, 0, 0}, filling);
}

TEST(AndPopcount, AnyAlignmentAndStride) {
  for (const AndPopcountKernel* kernel : kernels_here())
    for (size_t row_offset = 0; row_offset < 8; ++row_offset)
      for (size_t column_offset = 0; column_offset < 8; ++column_offset)
        check_tile(*kernel, {5, 6, 24, row_offset, 1 + column_offset, row_offset, column_offset}, 0);
}

TEST(AndPopcount, LargeTiles) {
  for (const AndPopcountKernel* kernel : kernels_here()) check_tile(*kernel, {33, 65, 40, 0, 0, 0, 0}, 0);
}

// One bit in one place: no lane is lost, none is counted twice.
TEST(AndPopcount, EverySingleBit) {
  for (const AndPopcountKernel* kernel : kernels_here()) {
    constexpr size_t kWords = 72;  // more than one block of any kernel, and a rest
    for (size_t bit = 0; bit < kWords * 64; ++bit) {
      std::vector<uint64_t> row(kWords, 0);
      row[bit / 64] = uint64_t{1} << (bit % 64);
      const std::vector<uint64_t> column(kWords, ~uint64_t{0});
      uint32_t count = 0;
      kernel->count({row.data(), kWords, 1, column.data(), kWords, 1, kWords, &count, 1});
      ASSERT_EQ(count, 1u) << kernel->name << ", bit " << bit;
    }
  }
}

TEST(AndPopcount, TheTableEndsWithOneThatRunsEverywhere) {
  const auto table = and_popcount_kernels();
  ASSERT_FALSE(table.empty());
  EXPECT_STREQ(table.back().name, "scalar");
  EXPECT_EQ(table.back().needs, 0u);
  std::set<std::string> names;
  for (const AndPopcountKernel& kernel : table) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name << " twice";
    EXPECT_NE(kernel.name, std::string("auto"));
    EXPECT_GT(kernel.words_per_ns, 0);
    EXPECT_GT(kernel.row_words_per_ns, 0);
  }
  for (size_t i = 1; i < table.size(); ++i) EXPECT_GE(table[i - 1].words_per_ns, table[i].words_per_ns) << "fastest first";
}

TEST(AndPopcount, FindsTheOneThatWasAskedFor) {
  std::string names = "auto";
  for (const AndPopcountKernel& kernel : and_popcount_kernels()) {
    const bool runs = (kernel.needs & cpu_features()) == kernel.needs;
    EXPECT_EQ(find_and_popcount(kernel.name), runs ? &kernel : nullptr) << kernel.name;
    if (runs) names += std::string(", ") + kernel.name;
  }
  EXPECT_EQ(and_popcount_names(), names);
  std::printf("kernels: bits %s\n", names.c_str());
  EXPECT_EQ(find_and_popcount("auto"), &best_and_popcount());
  EXPECT_EQ(&best_and_popcount(), kernels_here().front());
  for (const char* none : {"", "AVX2", "avx2 ", "sse", "scalar,"}) EXPECT_EQ(find_and_popcount(none), nullptr) << none;
}

// Entries are different functions. If the table named one function twice, one kernel would be
// tested in place of another.
TEST(AndPopcount, KernelsAreDifferentFunctions) {
  std::set<AndPopcount> counts;
  std::set<AddBitRows> adds;
  for (const AndPopcountKernel& kernel : and_popcount_kernels()) {
    EXPECT_TRUE(counts.insert(kernel.count).second) << kernel.name;
    EXPECT_TRUE(adds.insert(kernel.add_rows).second) << kernel.name;
  }
  EXPECT_EQ(find_and_popcount("scalar")->count, &and_popcount_scalar);
  EXPECT_EQ(find_and_popcount("scalar")->add_rows, &add_bit_rows_scalar);
#if defined(__x86_64__)
  if (const AndPopcountKernel* avx2 = find_and_popcount("avx2")) {
    EXPECT_EQ(avx2->count, &and_popcount_avx2);
    EXPECT_EQ(avx2->add_rows, &add_bit_rows_avx2);
  }
  if (const AndPopcountKernel* avx512 = find_and_popcount("avx512")) {
    EXPECT_EQ(avx512->count, &and_popcount_avx512);
    EXPECT_EQ(avx512->add_rows, &add_bit_rows_avx512);
  }
#elif defined(__aarch64__)
  EXPECT_EQ(find_and_popcount("neon")->count, &and_popcount_neon);
  EXPECT_EQ(find_and_popcount("neon")->add_rows, &add_bit_rows_neon);
#endif
}

}  // namespace
}  // namespace batmap::test
