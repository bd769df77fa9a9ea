// Measures of how strongly two items (or two sides of a rule) go together, from four counts. Names and definitions are those
// of arules (Hahsler, "A Probabilistic Comparison of Commonly Used Interest Measures for Association Rules", 2015).
#pragma once

#include <string>
#include <string_view>

namespace batmap {

enum class PairMeasure {
  kSupport,
  kJaccard,
  kDice,
  kCosine,
  kLift,
  kLeverage,
  kPhi,
  kKulczynski,
  kAllConfidence,
  kMaxConfidence,
  kOddsRatio,
  kConfidence,
  kConviction,
};

/// Numbers of transactions; 0 <= both <= a, b <= total.
struct PairCounts {
  double both;
  double a;
  double b;
  double total;
};

/// The value of a measure.
/// @return Infinity where only the denominator is 0, and of conviction where confidence is 1; NaN for 0 / 0
double pair_measure(PairMeasure measure, const PairCounts& counts);

/// The measure of this name, among those that do not depend on the order of the two where `symmetric`.
/// @throws Error{kInvalidParameter} for any other name
PairMeasure parse_pair_measure(std::string_view name, bool symmetric);

}  // namespace batmap
