// Measures of how strongly two items, or the two sides of a rule, are associated, from four counts. Names and
// definitions are those of arules (Hahsler, "A Probabilistic Comparison of Commonly Used Interest Measures
// for Association Rules", 2015), with 0 log 0 = 0. Collective strength is that of Aggarwal and Yu (PODS
// 1998), least contradiction that of Aze and Kodratoff (2002). The standardised lift is not corrected for
// thresholds (McNicholas, Murphy, O'Regan, 2008). The log likelihood ratio is Dunning's G^2 ("Accurate Methods for the
// Statistics of Surprise and Coincidence", 1993); Zhang's metric is that of mlxtend (Yan, Zhang and Zhang, 2009). The
// largest lift is what the two counts of items allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace batmap {

enum class PairMeasure {
  kSupport,
  kCount,
  kConfidence,
  kCoverage,
  kRhsSupport,
  kLift,
  kLeverage,
  kConviction,
  kJaccard,
  kDice,
  kCosine,
  kPhi,
  kKulczynski,
  kAllConfidence,
  kMaxConfidence,
  kCrossSupportRatio,
  kOddsRatio,
  kAddedValue,
  kCasualConfidence,
  kCasualSupport,
  kCenteredConfidence,
  kCertainty,
  kChiSquared,
  kCollectiveStrength,
  kConfirmedConfidence,
  kCounterexample,
  kDoc,
  kFishersExactTest,
  kGini,
  kHyperConfidence,
  kHyperLift,
  kImbalance,
  kImplicationIndex,
  kImportance,
  kJMeasure,
  kKappa,
  kLambda,
  kLaplace,
  kLeastContradiction,
  kLerman,
  kMutualInformation,
  kRalambondrainy,
  kRelativeRisk,
  kRld,
  kRulePowerFactor,
  kSebag,
  kStdLift,
  kVaryingLiaison,
  kYuleQ,
  kYuleY,
  kLlr,
  kMaxLift,
  kZhangsMetric,
};

/// What a measure is used for: its value; to rank rules, so a larger value must be better; to rank pairs, so
/// in addition the value must not depend on the order of the two items.
enum class MeasureUse { kValue, kRankRules, kRankPairs };

/// Numbers of transactions; 0 <= both <= a, b <= total.
struct ContingencyTable {
  double both;
  double a;
  double b;
  double total;
};

/// The value of a measure.
/// @return Infinity if only the denominator is 0, and for conviction if the confidence is 1; NaN for 0 / 0
double pair_measure(PairMeasure measure, const ContingencyTable& counts);

/// The counts of many pairs, in memory.
struct ContingencyColumns {
  struct Column {
    const uint64_t* first;
    size_t stride;  // from one count to the next, in counts
  };
  Column both;
  Column a;
  Column b;
  double total;
};

/// The value of a measure for each pair. @param values  [pairs] set
void pair_measures(PairMeasure measure, const ContingencyColumns& counts, size_t pairs, double* values);

/// The measure of this name, if it can be used so. Case and underscores are ignored: oddsRatio is odds_ratio.
/// @throws Error{kInvalidParameter} for any other name
PairMeasure parse_pair_measure(std::string_view name, MeasureUse use);

}  // namespace batmap
