// The table of measures. See pair_measure.h.
#include "measures/pair_measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "measures/hypergeometric.h"

namespace batmap {

namespace {

struct Entry {
  PairMeasure measure;
  const char* name;
  MeasureUse use;  // this use and the ones before it in MeasureUse
  double (*value)(const ContingencyTable&);
};

// The other cells of the 2 x 2 table.
double not_a(const ContingencyTable& n) { return n.total - n.a; }
double not_b(const ContingencyTable& n) { return n.total - n.b; }
double only_a(const ContingencyTable& n) { return n.a - n.both; }
double only_b(const ContingencyTable& n) { return n.b - n.both; }
double neither(const ContingencyTable& n) { return n.total - n.a - (n.b - n.both); }
double expected(const ContingencyTable& n) { return n.a * n.b / n.total; }
/// Expected agreement (both or neither), times total^2.
double expected_alike(const ContingencyTable& n) { return n.a * n.b + not_a(n) * not_b(n); }
double square(double x) { return x * x; }
/// x log y; 0 if x is 0, which it is whenever y is.
double times_log(double x, double y) { return x == 0 ? 0 : x * std::log(y); }

double support(const ContingencyTable& n) { return n.both / n.total; }
double jaccard(const ContingencyTable& n) { return n.both / (n.a + n.b - n.both); }
double dice(const ContingencyTable& n) { return 2 * n.both / (n.a + n.b); }
double cosine(const ContingencyTable& n) { return n.both / std::sqrt(n.a * n.b); }
double lift(const ContingencyTable& n) { return n.both * n.total / (n.a * n.b); }
double leverage(const ContingencyTable& n) { return n.both / n.total - (n.a / n.total) * (n.b / n.total); }
double phi(const ContingencyTable& n) {
  return (n.both * n.total - n.a * n.b) / std::sqrt(n.a * n.b * (n.total - n.a) * (n.total - n.b));
}
double kulczynski(const ContingencyTable& n) { return (n.both / n.a + n.both / n.b) / 2; }
double all_confidence(const ContingencyTable& n) { return n.both / std::max(n.a, n.b); }
double max_confidence(const ContingencyTable& n) { return n.both / std::min(n.a, n.b); }
double odds_ratio(const ContingencyTable& n) { return n.both * neither(n) / (only_a(n) * only_b(n)); }
double confidence(const ContingencyTable& n) { return n.both / n.a; }
double conviction(const ContingencyTable& n) {
  if (n.both == n.a && n.a > 0) return std::numeric_limits<double>::infinity();
  return (n.a / n.total) * (n.total - n.b) / (n.a - n.both);
}

double count(const ContingencyTable& n) { return n.both; }
double coverage(const ContingencyTable& n) { return n.a / n.total; }
double rhs_support(const ContingencyTable& n) { return n.b / n.total; }
double cross_support_ratio(const ContingencyTable& n) { return std::min(n.a, n.b) / std::max(n.a, n.b); }
double added_value(const ContingencyTable& n) { return n.both / n.a - n.b / n.total; }
double casual_confidence(const ContingencyTable& n) { return 1 - only_a(n) / n.total * (1 / n.a + 1 / n.b); }
double casual_support(const ContingencyTable& n) { return (n.a + n.b - 2 * only_a(n)) / n.total; }
double centered_confidence(const ContingencyTable& n) { return not_b(n) / n.total - only_a(n) / n.a; }
double certainty(const ContingencyTable& n) { return added_value(n) / (not_b(n) / n.total); }
double chi_squared(const ContingencyTable& n) {
  return n.total * square(n.both * n.total - n.a * n.b) / (n.a * n.b * not_a(n) * not_b(n));
}
double collective_strength(const ContingencyTable& n) {
  const double alike = n.both + neither(n);
  return alike / expected_alike(n) * ((square(n.total) - expected_alike(n)) / (n.total - alike));
}
double confirmed_confidence(const ContingencyTable& n) { return (n.both - only_a(n)) / n.a; }
double counterexample(const ContingencyTable& n) { return (n.both - only_a(n)) / n.both; }
double doc(const ContingencyTable& n) { return n.both / n.a - only_b(n) / not_a(n); }
double fishers_exact_test(const ContingencyTable& n) { return Hypergeometric(n.a, n.b, n.total).split_at(n.both).above; }
double gini(const ContingencyTable& n) {
  return (square(n.both) + square(only_a(n))) / (n.a * n.total) +
         (square(only_b(n)) + square(neither(n))) / (not_a(n) * n.total) - square(n.b / n.total) -
         square(not_b(n) / n.total);
}
double hyper_confidence(const ContingencyTable& n) { return Hypergeometric(n.a, n.b, n.total).split_at(n.both).below; }
double hyper_lift(const ContingencyTable& n) { return n.both / Hypergeometric(n.a, n.b, n.total).quantile(0.99); }
double imbalance(const ContingencyTable& n) { return std::abs(n.a - n.b) / (n.a + n.b - n.both); }
double implication_index(const ContingencyTable& n) {
  const double by_chance = n.a * not_b(n) / n.total;
  return (only_a(n) - by_chance) / std::sqrt(by_chance);
}
double importance(const ContingencyTable& n) {
  return std::log10((n.both + 1) * (not_a(n) + 2) / ((only_b(n) + 1) * (n.a + 2)));
}
double j_measure(const ContingencyTable& n) {
  return (times_log(n.both, n.total * n.both / (n.a * n.b)) + times_log(only_a(n), n.total * only_a(n) / (n.a * not_b(n)))) /
         n.total;
}
double kappa(const ContingencyTable& n) {
  return (n.total * (n.both + neither(n)) - expected_alike(n)) / (square(n.total) - expected_alike(n));
}
double lambda(const ContingencyTable& n) {
  const double likeliest = std::max(n.b, not_b(n));
  return (std::max(n.both, only_a(n)) + std::max(only_b(n), neither(n)) - likeliest) / (n.total - likeliest);
}
double laplace(const ContingencyTable& n) { return (n.both + 1) / (n.a + 2); }
double least_contradiction(const ContingencyTable& n) { return (n.both - only_a(n)) / n.b; }
double lerman(const ContingencyTable& n) { return (n.both - expected(n)) / std::sqrt(expected(n)); }
double mutual_information(const ContingencyTable& n) {
  const auto part = [&](double cell, double row, double column) {
    return times_log(cell, n.total * cell / (row * column)) / n.total;
  };
  const auto entropy = [&](double x, double rest) {
    return -(times_log(x, x / n.total) + times_log(rest, rest / n.total)) / n.total;
  };
  return (part(n.both, n.a, n.b) + part(only_a(n), n.a, not_b(n)) + part(only_b(n), not_a(n), n.b) +
          part(neither(n), not_a(n), not_b(n))) /
         std::min(entropy(n.a, not_a(n)), entropy(n.b, not_b(n)));
}
double ralambondrainy(const ContingencyTable& n) { return only_a(n) / n.total; }
double relative_risk(const ContingencyTable& n) { return n.both / n.a / (only_b(n) / not_a(n)); }
double rld(const ContingencyTable& n) {
  const double excess = (n.both * neither(n) - only_a(n) * only_b(n)) / n.total;
  return excess > 0 ? excess / (excess + std::min(only_a(n), only_b(n))) : excess / (excess - std::min(n.both, neither(n)));
}
double rule_power_factor(const ContingencyTable& n) { return support(n) * confidence(n); }
double sebag(const ContingencyTable& n) { return n.both / only_a(n); }
double std_lift(const ContingencyTable& n) {
  const double least = std::max(n.a + n.b - n.total, 1.0) * n.total / (n.a * n.b);
  const double most = n.total / std::max(n.a, n.b);
  return most == least ? 1 : (lift(n) - least) / (most - least);
}
double varying_liaison(const ContingencyTable& n) { return lift(n) - 1; }
// (odds ratio - 1) / (odds ratio + 1), and the same of its square root. Finite even if the odds ratio is not.
double yule_q(const ContingencyTable& n) {
  const double alike = n.both * neither(n);
  const double apart = only_a(n) * only_b(n);
  return (alike - apart) / (alike + apart);
}
double yule_y(const ContingencyTable& n) {
  const double alike = std::sqrt(n.both * neither(n));
  const double apart = std::sqrt(only_a(n) * only_b(n));
  return (alike - apart) / (alike + apart);
}

constexpr std::array<Entry, 50> kMeasures{{
    {PairMeasure::kSupport, "support", MeasureUse::kRankPairs, support},
    {PairMeasure::kCount, "count", MeasureUse::kRankPairs, count},
    {PairMeasure::kConfidence, "confidence", MeasureUse::kRankRules, confidence},
    {PairMeasure::kCoverage, "coverage", MeasureUse::kRankRules, coverage},
    {PairMeasure::kRhsSupport, "rhs_support", MeasureUse::kRankRules, rhs_support},
    {PairMeasure::kLift, "lift", MeasureUse::kRankPairs, lift},
    {PairMeasure::kLeverage, "leverage", MeasureUse::kRankPairs, leverage},
    {PairMeasure::kConviction, "conviction", MeasureUse::kRankRules, conviction},
    {PairMeasure::kJaccard, "jaccard", MeasureUse::kRankPairs, jaccard},
    {PairMeasure::kDice, "dice", MeasureUse::kRankPairs, dice},
    {PairMeasure::kCosine, "cosine", MeasureUse::kRankPairs, cosine},
    {PairMeasure::kPhi, "phi", MeasureUse::kRankPairs, phi},
    {PairMeasure::kKulczynski, "kulczynski", MeasureUse::kRankPairs, kulczynski},
    {PairMeasure::kAllConfidence, "all_confidence", MeasureUse::kRankPairs, all_confidence},
    {PairMeasure::kMaxConfidence, "max_confidence", MeasureUse::kRankPairs, max_confidence},
    {PairMeasure::kCrossSupportRatio, "cross_support_ratio", MeasureUse::kRankPairs, cross_support_ratio},
    {PairMeasure::kOddsRatio, "odds_ratio", MeasureUse::kRankPairs, odds_ratio},
    {PairMeasure::kAddedValue, "added_value", MeasureUse::kRankRules, added_value},
    {PairMeasure::kCasualConfidence, "casual_confidence", MeasureUse::kRankRules, casual_confidence},
    {PairMeasure::kCasualSupport, "casual_support", MeasureUse::kRankRules, casual_support},
    {PairMeasure::kCenteredConfidence, "centered_confidence", MeasureUse::kRankRules, centered_confidence},
    {PairMeasure::kCertainty, "certainty", MeasureUse::kRankRules, certainty},
    {PairMeasure::kChiSquared, "chi_squared", MeasureUse::kRankPairs, chi_squared},
    {PairMeasure::kCollectiveStrength, "collective_strength", MeasureUse::kRankPairs, collective_strength},
    {PairMeasure::kConfirmedConfidence, "confirmed_confidence", MeasureUse::kRankRules, confirmed_confidence},
    {PairMeasure::kCounterexample, "counterexample", MeasureUse::kRankRules, counterexample},
    {PairMeasure::kDoc, "doc", MeasureUse::kRankRules, doc},
    {PairMeasure::kFishersExactTest, "fishers_exact_test", MeasureUse::kValue, fishers_exact_test},
    {PairMeasure::kGini, "gini", MeasureUse::kRankRules, gini},
    {PairMeasure::kHyperConfidence, "hyper_confidence", MeasureUse::kRankPairs, hyper_confidence},
    {PairMeasure::kHyperLift, "hyper_lift", MeasureUse::kRankPairs, hyper_lift},
    {PairMeasure::kImbalance, "imbalance", MeasureUse::kValue, imbalance},
    {PairMeasure::kImplicationIndex, "implication_index", MeasureUse::kValue, implication_index},
    {PairMeasure::kImportance, "importance", MeasureUse::kRankRules, importance},
    {PairMeasure::kJMeasure, "j_measure", MeasureUse::kRankRules, j_measure},
    {PairMeasure::kKappa, "kappa", MeasureUse::kRankPairs, kappa},
    {PairMeasure::kLambda, "lambda", MeasureUse::kRankRules, lambda},
    {PairMeasure::kLaplace, "laplace", MeasureUse::kRankRules, laplace},
    {PairMeasure::kLeastContradiction, "least_contradiction", MeasureUse::kRankRules, least_contradiction},
    {PairMeasure::kLerman, "lerman", MeasureUse::kRankPairs, lerman},
    {PairMeasure::kMutualInformation, "mutual_information", MeasureUse::kRankPairs, mutual_information},
    {PairMeasure::kRalambondrainy, "ralambondrainy", MeasureUse::kValue, ralambondrainy},
    {PairMeasure::kRelativeRisk, "relative_risk", MeasureUse::kRankRules, relative_risk},
    {PairMeasure::kRld, "rld", MeasureUse::kRankPairs, rld},
    {PairMeasure::kRulePowerFactor, "rule_power_factor", MeasureUse::kRankRules, rule_power_factor},
    {PairMeasure::kSebag, "sebag", MeasureUse::kRankRules, sebag},
    {PairMeasure::kStdLift, "std_lift", MeasureUse::kRankPairs, std_lift},
    {PairMeasure::kVaryingLiaison, "varying_liaison", MeasureUse::kRankPairs, varying_liaison},
    {PairMeasure::kYuleQ, "yule_q", MeasureUse::kRankPairs, yule_q},
    {PairMeasure::kYuleY, "yule_y", MeasureUse::kRankPairs, yule_y},
}};

/// The name in lower case, without underscores.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return plain;
}

/// Of a measure that is known, but not for this use.
[[noreturn]] void refuse_use(const Entry& entry) {
  const std::string text = "measure \"" + std::string(entry.name) + "\" does not rank ";
  if (entry.use == MeasureUse::kRankRules)
    throw Error(ErrorCode::kInvalidParameter, text + "pairs",
                "It may differ between a to b and b to a. batmap_rules has both: max_lhs => 1, max_rhs => 1.");
  throw Error(ErrorCode::kInvalidParameter, text + "answers", "batmap_measure computes its values.");
}

}  // namespace

double pair_measure(PairMeasure measure, const ContingencyTable& counts) {
  return kMeasures[static_cast<size_t>(measure)].value(counts);
}

PairMeasure parse_pair_measure(std::string_view name, MeasureUse use) {
  const std::string wanted = plain_name(name);
  std::string names;
  for (const Entry& entry : kMeasures) {
    const bool is_wanted = wanted == plain_name(entry.name);
    if (entry.use < use) {
      if (is_wanted) refuse_use(entry);
      continue;
    }
    if (is_wanted) return entry.measure;
    names.append(names.empty() ? "" : ", ").append(entry.name);
  }
  throw Error(ErrorCode::kInvalidParameter, "unknown measure \"" + std::string(name) + "\"",
              "Available measures: " + names + ".");
}

}  // namespace batmap
