// Probabilities and quantiles against sums of quotients of binomials and, for large counts, against plain
// sums of all terms in long double. Any counts must end at once.
#include "measures/hypergeometric.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <vector>

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
  // All 30 of 30 in one half of 60: one of (60 over 30) ways.
  EXPECT_NEAR(Hypergeometric(30, 30, 60).split_at(30).above * static_cast<double>(binomial(60, 30)), 1, 1e-12);
  EXPECT_EQ(Hypergeometric(5000, 5000, 10000).split_at(5000).below, 1);
}

// All transactions have the first item. So both together occur where the second does, whatever
// rounding does to the mean.
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
  // Counts so large that adding one changes nothing, with a deviation far below a million.
  const Hypergeometric nearly_all(0x1p62, 0x1p62, 0x1p62 + 0x1p20);
  EXPECT_NEAR(nearly_all.quantile(0.99) / 0x1p62, 1, 1e-9);
  EXPECT_EQ(nearly_all.split_at(0x1p61).below, 0);
  EXPECT_EQ(Hypergeometric(0x1p62, 0x1p62, 0x1p62).split_at(0x1p62).above, 1);
  EXPECT_NEAR(Hypergeometric(4e15, 2e15, 8e15).split_at(1e15).below, 0.5, 1e-6);
}

/// Every term of the distribution relative to the sum of all, by quotients of neighbours, for counts from `first` on.
std::vector<long double> all_terms(double a, double b, double total, double first) {
  const double behind = std::min(a, b) + 1;
  const double mode = std::floor((a + 1) * (b + 1) / (total + 2));
  std::vector<long double> terms(static_cast<size_t>(behind - first));
  const auto at = [&](double count) -> long double& { return terms[static_cast<size_t>(count - first)]; };
  const auto ratio = [&](long double count) {
    return (a - count) * (b - count) / ((count + 1) * (total - a - b + count + 1));
  };
  at(mode) = 1;
  for (double count = mode + 1; count < behind; ++count) at(count) = at(count - 1) * ratio(count - 1);
  for (double count = mode; count > first; --count) at(count - 1) = at(count) / ratio(count - 1);
  long double sum = 0;
  for (const long double term : terms) sum += term;
  for (long double& term : terms) term /= sum;
  return terms;
}

double relative_error(double value, long double truth) { return static_cast<double>(std::abs(value - truth) / truth); }

// Below and above the deviation from which on the density is integrated; each of the four cells is the small one once.
TEST(Hypergeometric, IsTheSumOfManyTerms) {
  struct Shape {
    double a, b, total;
  };
  for (const Shape& s : {Shape{500000, 500000, 1000000},
                         {530000, 510000, 1050000},
                         {530000, 510000, 1060000},
                         {60000, 700000, 800000},
                         {700000, 60000, 800000},
                         {90000, 4000000, 5000000},
                         {900000, 900000, 1000000},
                         {100000, 800000, 900000},
                         {3000000, 2000000, 9000000},
                         {66000, 66000000, 100000000},
                         {400, 3000000, 9000000},
                         {8999000, 8998000, 9000000}}) {
    const Hypergeometric chance(s.a, s.b, s.total);
    const double first = std::max(0.0, s.a + s.b - s.total);
    const std::vector<long double> terms = all_terms(s.a, s.b, s.total, first);
    std::vector<long double> below(terms.size() + 1);
    std::vector<long double> above(terms.size() + 1);
    for (size_t i = 0; i < terms.size(); ++i) below[i + 1] = below[i] + terms[i];
    for (size_t i = terms.size(); i > 0; --i) above[i - 1] = above[i] + terms[i - 1];
    int compared = 0;
    for (size_t i = 0; i <= terms.size(); i += 1 + terms.size() / 5000) {
      const Hypergeometric::Split split = chance.split_at(first + static_cast<double>(i));
      for (const auto& [value, truth] : {std::pair(split.below, below[i]), std::pair(split.above, above[i])}) {
        if (truth < 1e-300L) {
          EXPECT_LE(value, 1e-290) << i;
          continue;
        }
        const double error = relative_error(value, truth);
        EXPECT_LE(error, truth > 1e-20L ? 1e-8 : 1e-5) << s.a << " " << s.b << " " << s.total << " " << i << ": " << value;
        ++compared;
      }
    }
    EXPECT_GT(compared, 100);
    for (const double p : {0.51, 0.7, 0.99, 0.999999}) {
      const auto i = static_cast<size_t>(chance.quantile(p) - first);
      ASSERT_LT(i, terms.size());
      // The least count that reaches p, within the rounding of the sums.
      EXPECT_GE(static_cast<double>(below[i + 1]), p - 1e-11) << s.a << " " << s.b << " " << s.total << " " << p;
      EXPECT_LT(static_cast<double>(below[i]), p + 1e-11) << s.a << " " << s.b << " " << s.total << " " << p;
    }
  }
}

// Counts above 2^53 are rounded to doubles, but the cells that decide are small numbers.
TEST(Hypergeometric, IsPoissonWhereFewMeetInMany) {
  const Hypergeometric rare(0x1p32, 0x1p30, 0x1p62);  // the expected count is 1
  EXPECT_NEAR(rare.split_at(0).above, 1, 1e-15);
  EXPECT_NEAR(rare.split_at(1).below * std::exp(1.0), 1, 1e-9);
  EXPECT_NEAR(rare.split_at(2).above, 1 - 2 * std::exp(-1.0), 1e-9);
  const Hypergeometric rarely_apart(0x1p62 - 0x1p32, 0x1p30, 0x1p62);
  EXPECT_NEAR(rarely_apart.split_at(0x1p30).above * std::exp(1.0), 1, 1e-9);
  EXPECT_NEAR(rarely_apart.split_at(0x1p30 - 1).below, 1 - 2 * std::exp(-1.0), 1e-9);
}

// Every 2 x 2 table of hostile numbers. If terms became denormals, which never become 0, a sum would take
// seconds for one of these tables and would not end for another.
TEST(Hypergeometric, TakesLittleTimeForAnyCounts) {
  std::vector<double> numbers{0, 1, 2, 73, 1000, 1e6, 94900000000000, 189800000000000};
  for (const int power : {31, 52, 53, 62}) {
    const double near = std::ldexp(1, power);
    for (const double number : {std::floor(near * 0.999), near, near + std::max(1.0, near * 0x1p-52)})
      numbers.push_back(number);
  }
  double slowest = 0;
  for (const double total : numbers)
    for (const double a : numbers)
      for (const double b : numbers) {
        if (a > total || b > total) continue;
        const Hypergeometric chance(a, b, total);
        for (const double count : numbers) {
          if (count > std::min(a, b) || a - count > total - b) continue;
          const auto start = std::chrono::steady_clock::now();
          const Hypergeometric::Split split = chance.split_at(count);
          const double quantile = chance.quantile(0.99);
          slowest = std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
          ASSERT_TRUE(split.below >= 0 && split.above >= 0) << count << " " << a << " " << b << " " << total;
          ASSERT_NEAR(split.below + split.above, 1, 1e-9) << count << " " << a << " " << b << " " << total;
          ASSERT_TRUE(quantile >= 0 && quantile <= std::min(a, b)) << quantile << " " << a << " " << b << " " << total;
        }
      }
  EXPECT_LT(slowest, 0.5) << "seconds";
  const Hypergeometric far(94900000000000, 94900000000000, 189800000000000);
  EXPECT_EQ(far.split_at(0).above, 1);
  EXPECT_EQ(far.split_at(94900000000000).above, 0);
}

}  // namespace
}  // namespace batmap::test
