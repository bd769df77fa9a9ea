// The format fixes the permutations: known answers, bijection, inverse, and the same values from 32-bit arithmetic.
#include "set/permutation.h"

#include <gtest/gtest.h>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

static_assert(Permutation<>(0, 20).inverse(Permutation<>(0, 20).forward(12345)) == 12345);

// Computed once by a separate program from the formula in FORMAT.md.
TEST(Permutation, KnownAnswers) {
  const struct {
    int width;
    uint64_t x;
    uint64_t images[3];
  } answers[] = {
      {0, 0x0, {0x0, 0x0, 0x0}},
      {1, 0x1, {0x1, 0x1, 0x1}},
      {8, 0xef, {0x9f, 0x6a, 0x28}},
      {20, 0xbcdef, {0x17265, 0x90e9c, 0x41aeb}},
      {32, 0x89abcdef, {0x1cd6b768, 0x103539e0, 0x10f9ca26}},
      {33, 0x189abcdef, {0x176c97c6c, 0xc810ee2a, 0x17986cc81}},
      {62, 0x123456789abcdef, {0xfec19360979c886, 0xe43e566b5b9607a, 0x33e18342a1a866c6}},
  };
  for (const auto& answer : answers)
    for (int table = 0; table < 3; ++table)
      EXPECT_EQ(Permutation<>(table, answer.width).forward(answer.x), answer.images[table]) << answer.width << " " << table;
}

TEST(Permutation, IsABijectionOnSmallUniverses) {
  for (int table = 0; table < 3; ++table)
    for (int width = 0; width <= 16; ++width) {
      const Permutation<> pi(table, width);
      std::vector<bool> seen(size_t{1} << width);
      for (uint64_t x = 0; x < seen.size(); ++x) {
        const uint64_t y = pi.forward(x);
        ASSERT_LT(y, seen.size());
        ASSERT_FALSE(seen[y]);
        seen[y] = true;
        ASSERT_EQ(pi.inverse(y), x);
      }
    }
}

TEST(Permutation, InverseUndoesItAtEveryWidth) {
  Random random(1);
  for (int table = 0; table < 3; ++table)
    for (int width = 0; width <= 62; ++width) {
      const Permutation<> pi(table, width);
      for (int i = 0; i < 200; ++i) {
        const uint64_t x = i == 0 ? 0 : i == 1 ? pi.mask : random.bits() & pi.mask;
        ASSERT_LE(pi.forward(x), pi.mask);
        ASSERT_EQ(pi.inverse(pi.forward(x)), x) << "table " << table << ", width " << width;
        const uint64_t image = table == 0   ? image_of<0>(x, width)
                               : table == 1 ? image_of<1>(x, width)
                                            : image_of<2>(x, width);
        ASSERT_EQ(image, pi.forward(x)) << "table " << table << ", width " << width;
        if (width <= 32) {
          const Permutation<uint32_t> narrow(table, width);
          ASSERT_EQ(narrow.forward(static_cast<uint32_t>(x)), pi.forward(x));
          ASSERT_EQ(narrow.inverse(static_cast<uint32_t>(x)), pi.inverse(x));
        }
      }
    }
}

// Every input bit affects every result bit: flipping it in random inputs changes each low bit about half the time.
TEST(Permutation, LowBitsDependOnAllInputBits) {
  Random random(2);
  constexpr int kTrials = 400;
  for (const int width : {16, 24, 31, 32, 33, 48, 62})
    for (int table = 0; table < 3; ++table) {
      const Permutation<> pi(table, width);
      for (int in = 0; in < width; ++in)
        for (int out = 0; out < 9; ++out) {
          int flips = 0;
          for (int i = 0; i < kTrials; ++i) {
            const uint64_t x = random.bits() & pi.mask;
            flips += static_cast<int>((pi.forward(x) ^ pi.forward(x ^ uint64_t{1} << in)) >> out & 1);
          }
          ASSERT_GT(flips, kTrials / 20) << "width " << width << " table " << table << " bit " << in << " -> " << out;
          ASSERT_LE(flips, kTrials);
        }
    }
}

}  // namespace
}  // namespace batmap::test
