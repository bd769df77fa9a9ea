// Probabilities and quantiles against sums of quotients of binomials, the normal distribution against the sums where both
// can be had.
#include "support/hypergeometric.h"

#include <gtest/gtest.h>

#include <cmath>

namespace batmap::test {
namespace {

/// n over k, exact up to n = 60.
long double binomial(int n, int k) {
  if (k < 0 || k > n) return 0;
  long double product = 1;
  for (int i = 1; i <= k; ++i) product = product * (n - k + i) / i;
  return std::round(product);
}

TEST(Hypergeometric, IsTheSumOfItsTerms) {
  for (const int total : {0, 1, 2, 7, 30, 60})
    for (int a = 0; a <= total; a += 1 + total / 12)
      for (int b = 0; b <= total; b += 1 + total / 9) {
        const Hypergeometric chance(a, b, total);
        long double below = 0;
        int quantile = -1;
        for (int count = 0; count <= std::min(a, b); ++count) {
          const Hypergeometric::Split split = chance.split_at(count);
          EXPECT_NEAR(split.below, static_cast<double>(below), 1e-12) << total << " " << a << " " << b << " " << count;
          EXPECT_NEAR(split.above, static_cast<double>(1 - below), 1e-12) << total << " " << a << " " << b << " " << count;
          below += binomial(a, count) * binomial(total - a, b - count) / binomial(total, b);
          if (quantile < 0 && below >= 0.99L) quantile = count;
        }
        EXPECT_EQ(chance.quantile(0.99), quantile) << total << " " << a << " " << b;
      }
}

TEST(Hypergeometric, KeepsSmallProbabilities) {
  // All 30 of 30 in the half of 60: one of 60 over 30 ways.
  EXPECT_NEAR(Hypergeometric(30, 30, 60).split_at(30).above * static_cast<double>(binomial(60, 30)), 1, 1e-12);
  EXPECT_EQ(Hypergeometric(5000, 5000, 10000).split_at(5000).below, 1);
}

// All transactions have one of the two, so that both together are those of the other, whatever the doubles make of the mean.
TEST(Hypergeometric, IsCertainWhereOneIsEverywhere) {
  for (double b = 0x1p55; b < 0x1p61; b = std::floor(b * 1.37)) {
    const double total = 0x1p61 + 512;
    for (const Hypergeometric& certain : {Hypergeometric(total, b, total), Hypergeometric(b, total, total)}) {
      EXPECT_EQ(certain.split_at(b).above, 1) << b;
      EXPECT_EQ(certain.split_at(b * 1.5).below, 1) << b;
      EXPECT_EQ(certain.quantile(0.99), b) << b;
    }
  }
}

TEST(Hypergeometric, EndsForAnyCounts) {
  const Hypergeometric huge(3e18, 2e18, 9e18);
  const Hypergeometric::Split middle = huge.split_at(6e18 / 9);
  EXPECT_NEAR(middle.below + middle.above, 1, 1e-12);
  EXPECT_NEAR(huge.quantile(0.99) / (6e18 / 9), 1, 1e-6);
  // So many that adding one changes nothing, with a deviation far below a million.
  const Hypergeometric nearly_all(0x1p62, 0x1p62, 0x1p62 + 0x1p20);
  EXPECT_NEAR(nearly_all.quantile(0.99) / 0x1p62, 1, 1e-9);
  EXPECT_EQ(nearly_all.split_at(0x1p61).below, 0);
  EXPECT_EQ(Hypergeometric(0x1p62, 0x1p62, 0x1p62).split_at(0x1p62).above, 1);
  EXPECT_NEAR(Hypergeometric(4e15, 2e15, 8e15).split_at(1e15).below, 0.5, 1e-6);
  // A deviation of just above and just below a million: sums and the normal distribution agree.
  const Hypergeometric summed(7.9e12, 7.9e12, 15.8e12);
  const Hypergeometric normal(8.1e12, 8.1e12, 16.2e12);
  EXPECT_NEAR(summed.split_at(3.95e12 + 1e6).above, normal.split_at(4.05e12 + 1e6).above, 0.01);
  EXPECT_NEAR(summed.quantile(0.99) - 3.95e12, 2.326 * 0.99e6, 2e4);
  EXPECT_NEAR(normal.quantile(0.99) - 4.05e12, 2.326 * 1.006e6, 2e4);
}

}  // namespace
}  // namespace batmap::test
