// Fractions to counts: exact for decimal fractions, which are integers divided by a power of ten.
#include "measures/threshold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

TEST(Threshold, KnownCases) {
  EXPECT_EQ(count_of_fraction(0.07, 100), 7u);
  EXPECT_EQ(count_of_fraction(0.29, 100), 29u);  // in doubles, 0.29 * 100 is below 29
  EXPECT_EQ(count_of_fraction(0.57, 100), 57u);
  EXPECT_EQ(count_of_fraction(0.1, 10), 1u);
  EXPECT_EQ(count_of_fraction(0.1, 11), 2u);
  EXPECT_EQ(count_of_fraction(1.0, 12345), 12345u);
  EXPECT_EQ(count_of_fraction(0.5, 1), 1u);
  EXPECT_EQ(count_of_fraction(0.5, 0), 1u);
  EXPECT_EQ(count_of_fraction(1.0, 0), 1u);
  EXPECT_EQ(count_of_fraction(1e-300, UINT64_MAX), 1u);
  EXPECT_EQ(count_of_fraction(5e-324, 1000000), 1u);
  EXPECT_EQ(count_of_fraction(std::nextafter(1.0, 0.0), 1000), 1000u);
  EXPECT_EQ(count_of_fraction(1.0, UINT64_MAX), UINT64_MAX);
}

TEST(Threshold, OfAQuery) {
  EXPECT_EQ(min_count_among(100, {}, {}), 1u);
  EXPECT_EQ(min_count_among(100, 7, {}), 7u);
  EXPECT_EQ(min_count_among(0, 7, {}), 7u);
  EXPECT_EQ(min_count_among(100, {}, 0.07), 7u);
  EXPECT_EQ(min_count_among(0, {}, 0.07), 1u);
}

// A call does not depend on earlier calls.
TEST(Threshold, CallsDoNotInfluenceEachOther) {
  for (const double before : {0.12345678901234567, 1.0, 9.999999999999999e-100}) {
    count_of_fraction(before, 1000);
    EXPECT_EQ(count_of_fraction(0.2, 100), 20u) << "after " << before;
    count_of_fraction(before, 1000);
    EXPECT_EQ(count_of_fraction(1.0, 100), 100u) << "after " << before;
  }
}

// k / 10^d of n is (k n) / 10^d, rounded up in integers.
TEST(Threshold, DecimalFractionsAreExact) {
  uint64_t power = 1;
  for (int digits = 1; digits <= 4; ++digits) {
    power *= 10;
    for (uint64_t k = 1; k <= power; ++k) {
      const double fraction = std::strtod((std::to_string(k) + "e-" + std::to_string(digits)).c_str(), nullptr);
      for (const uint64_t total : {1u, 7u, 10u, 99u, 100u, 101u, 1000u, 12345u, 1000000u, 4294967295u}) {
        const uint64_t expected = (k * total + power - 1) / power;
        ASSERT_EQ(count_of_fraction(fraction, total), expected) << fraction << " of " << total;
      }
    }
  }
}

TEST(Threshold, QuotientsStandForTheirCounts) {
  for (const uint64_t total : {3u, 7u, 11u, 997u, 12345u})
    for (uint64_t count = 1; count <= total; ++count) {
      const double fraction = static_cast<double>(count) / static_cast<double>(total);
      ASSERT_EQ(count_of_fraction(fraction, total), count) << count << " of " << total;
      ASSERT_EQ(max_count_of_fraction(fraction, total), count) << count << " of " << total;
    }
}

TEST(Threshold, AnyFractionLikeTheOracle) {
  Random random(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const double fraction =
        std::ldexp(static_cast<double>(random.below(uint64_t{1} << 53) + 1), -53 - static_cast<int>(random.below(40)));
    const uint64_t total = random.bits() >> random.below(64);
    ASSERT_EQ(count_of_fraction(fraction, total), oracle_count_of_fraction(fraction, total))
        << std::hexfloat << fraction << " of " << total << ", seed " << kSeed;
  }
}

// The floor equals the ceiling, or is one less if the ceiling is too large; a thousand times the total shows which.
TEST(Threshold, MostIsAtMostOneBelow) {
  EXPECT_EQ(max_count_of_fraction(0.07, 100), 7u);
  EXPECT_EQ(max_count_of_fraction(0.07, 101), 7u);
  EXPECT_EQ(max_count_of_fraction(0.07, 99), 6u);
  EXPECT_EQ(max_count_of_fraction(1.0, 99), 99u);
  EXPECT_EQ(max_count_of_fraction(0.001, 999), 0u);
  Random random(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const double fraction = static_cast<double>(1 + random.below(1000)) / 1000;
    const uint64_t total = random.below(100000);
    ASSERT_EQ(max_count_of_fraction(fraction, total), (oracle_count_of_fraction(fraction, 1000) * total) / 1000)
        << fraction << " of " << total << ", seed " << kSeed;
  }
}

TEST(Threshold, GrowsWithBoth) {
  Random random(12);
  for (int i = 0; i < 2000; ++i) {
    const double fraction = static_cast<double>(random.below(1000000) + 1) / 1000001.0;
    const uint64_t total = random.below(100000);
    EXPECT_LE(count_of_fraction(fraction, total), count_of_fraction(fraction, total + 1));
    EXPECT_LE(count_of_fraction(fraction, total), count_of_fraction(std::nextafter(fraction, 1.0), total));
  }
}

}  // namespace
}  // namespace batmap::test
