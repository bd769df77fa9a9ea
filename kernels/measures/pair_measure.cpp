// The table of measures. See pair_measure.h.
#include "measures/pair_measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/error.h"
#include "measures/hypergeometric.h"

namespace batmap {

namespace {

struct Entry {
  PairMeasure measure;
  const char* name;
  MeasureUse use;  // this use and the ones before it in MeasureUse
  double (*value)(const ContingencyTable&);
  void (*values)(const ContingencyColumns&, size_t, double*);
};

/// One loop for each measure, so that its definition is part of the loop.
template <double (*kValue)(const ContingencyTable&)>
void each_value(const ContingencyColumns& counts, size_t pairs, double* values) {
  for (size_t k = 0; k < pairs; ++k)
    values[k] = kValue({.both = static_cast<double>(counts.both.first[k * counts.both.stride]),
                        .a = static_cast<double>(counts.a.first[k * counts.a.stride]),
                        .b = static_cast<double>(counts.b.first[k * counts.b.stride]),
                        .total = counts.total});
}

template <double (*kValue)(const ContingencyTable&)>
constexpr Entry entry(PairMeasure measure, const char* name, MeasureUse use) {
  return {measure, name, use, kValue, each_value<kValue>};
}

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
/// The information that the two items share, times total. Zero cells add nothing.
double shared_information(const ContingencyTable& n) {
  const auto part = [&](double cell, double row, double column) { return times_log(cell, n.total * cell / (row * column)); };
  return part(n.both, n.a, n.b) + part(only_a(n), n.a, not_b(n)) + part(only_b(n), not_a(n), n.b) +
         part(neither(n), not_a(n), not_b(n));
}
double mutual_information(const ContingencyTable& n) {
  const auto entropy = [&](double x, double rest) {
    return -(times_log(x, x / n.total) + times_log(rest, rest / n.total)) / n.total;
  };
  return shared_information(n) / n.total / std::min(entropy(n.a, not_a(n)), entropy(n.b, not_b(n)));
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
double llr(const ContingencyTable& n) { return 2 * shared_information(n); }
double max_lift(const ContingencyTable& n) { return n.total / std::max(n.a, n.b); }
double zhangs_metric(const ContingencyTable& n) {
  // Leverage over its largest value, with the same sign. All terms times total^2.
  return (n.both * n.total - n.a * n.b) / std::max(n.both * not_a(n), n.a * only_b(n));
}

constexpr std::array<Entry, 53> kMeasures{{
    entry<support>(PairMeasure::kSupport, "support", MeasureUse::kRankPairs),
    entry<count>(PairMeasure::kCount, "count", MeasureUse::kRankPairs),
    entry<confidence>(PairMeasure::kConfidence, "confidence", MeasureUse::kRankRules),
    entry<coverage>(PairMeasure::kCoverage, "coverage", MeasureUse::kRankRules),
    entry<rhs_support>(PairMeasure::kRhsSupport, "rhs_support", MeasureUse::kRankRules),
    entry<lift>(PairMeasure::kLift, "lift", MeasureUse::kRankPairs),
    entry<leverage>(PairMeasure::kLeverage, "leverage", MeasureUse::kRankPairs),
    entry<conviction>(PairMeasure::kConviction, "conviction", MeasureUse::kRankRules),
    entry<jaccard>(PairMeasure::kJaccard, "jaccard", MeasureUse::kRankPairs),
    entry<dice>(PairMeasure::kDice, "dice", MeasureUse::kRankPairs),
    entry<cosine>(PairMeasure::kCosine, "cosine", MeasureUse::kRankPairs),
    entry<phi>(PairMeasure::kPhi, "phi", MeasureUse::kRankPairs),
    entry<kulczynski>(PairMeasure::kKulczynski, "kulczynski", MeasureUse::kRankPairs),
    entry<all_confidence>(PairMeasure::kAllConfidence, "all_confidence", MeasureUse::kRankPairs),
    entry<max_confidence>(PairMeasure::kMaxConfidence, "max_confidence", MeasureUse::kRankPairs),
    entry<cross_support_ratio>(PairMeasure::kCrossSupportRatio, "cross_support_ratio", MeasureUse::kRankPairs),
    entry<odds_ratio>(PairMeasure::kOddsRatio, "odds_ratio", MeasureUse::kRankPairs),
    entry<added_value>(PairMeasure::kAddedValue, "added_value", MeasureUse::kRankRules),
    entry<casual_confidence>(PairMeasure::kCasualConfidence, "casual_confidence", MeasureUse::kRankRules),
    entry<casual_support>(PairMeasure::kCasualSupport, "casual_support", MeasureUse::kRankRules),
    entry<centered_confidence>(PairMeasure::kCenteredConfidence, "centered_confidence", MeasureUse::kRankRules),
    entry<certainty>(PairMeasure::kCertainty, "certainty", MeasureUse::kRankRules),
    entry<chi_squared>(PairMeasure::kChiSquared, "chi_squared", MeasureUse::kRankPairs),
    entry<collective_strength>(PairMeasure::kCollectiveStrength, "collective_strength", MeasureUse::kRankPairs),
    entry<confirmed_confidence>(PairMeasure::kConfirmedConfidence, "confirmed_confidence", MeasureUse::kRankRules),
    entry<counterexample>(PairMeasure::kCounterexample, "counterexample", MeasureUse::kRankRules),
    entry<doc>(PairMeasure::kDoc, "doc", MeasureUse::kRankRules),
    entry<fishers_exact_test>(PairMeasure::kFishersExactTest, "fishers_exact_test", MeasureUse::kValue),
    entry<gini>(PairMeasure::kGini, "gini", MeasureUse::kRankRules),
    entry<hyper_confidence>(PairMeasure::kHyperConfidence, "hyper_confidence", MeasureUse::kRankPairs),
    entry<hyper_lift>(PairMeasure::kHyperLift, "hyper_lift", MeasureUse::kRankPairs),
    entry<imbalance>(PairMeasure::kImbalance, "imbalance", MeasureUse::kValue),
    entry<implication_index>(PairMeasure::kImplicationIndex, "implication_index", MeasureUse::kValue),
    entry<importance>(PairMeasure::kImportance, "importance", MeasureUse::kRankRules),
    entry<j_measure>(PairMeasure::kJMeasure, "j_measure", MeasureUse::kRankRules),
    entry<kappa>(PairMeasure::kKappa, "kappa", MeasureUse::kRankPairs),
    entry<lambda>(PairMeasure::kLambda, "lambda", MeasureUse::kRankRules),
    entry<laplace>(PairMeasure::kLaplace, "laplace", MeasureUse::kRankRules),
    entry<least_contradiction>(PairMeasure::kLeastContradiction, "least_contradiction", MeasureUse::kRankRules),
    entry<lerman>(PairMeasure::kLerman, "lerman", MeasureUse::kRankPairs),
    entry<mutual_information>(PairMeasure::kMutualInformation, "mutual_information", MeasureUse::kRankPairs),
    entry<ralambondrainy>(PairMeasure::kRalambondrainy, "ralambondrainy", MeasureUse::kValue),
    entry<relative_risk>(PairMeasure::kRelativeRisk, "relative_risk", MeasureUse::kRankRules),
    entry<rld>(PairMeasure::kRld, "rld", MeasureUse::kRankPairs),
    entry<rule_power_factor>(PairMeasure::kRulePowerFactor, "rule_power_factor", MeasureUse::kRankRules),
    entry<sebag>(PairMeasure::kSebag, "sebag", MeasureUse::kRankRules),
    entry<std_lift>(PairMeasure::kStdLift, "std_lift", MeasureUse::kRankPairs),
    entry<varying_liaison>(PairMeasure::kVaryingLiaison, "varying_liaison", MeasureUse::kRankPairs),
    entry<yule_q>(PairMeasure::kYuleQ, "yule_q", MeasureUse::kRankPairs),
    entry<yule_y>(PairMeasure::kYuleY, "yule_y", MeasureUse::kRankPairs),
    entry<llr>(PairMeasure::kLlr, "llr", MeasureUse::kRankPairs),
    entry<max_lift>(PairMeasure::kMaxLift, "max_lift", MeasureUse::kRankPairs),
    entry<zhangs_metric>(PairMeasure::kZhangsMetric, "zhangs_metric", MeasureUse::kRankRules),
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
                "It has a direction: a to b may differ from b to a. batmap_partners ranks by it; batmap_rules, too, with "
                "max_lhs => 1, "
                "max_rhs => 1.");
  throw Error(ErrorCode::kInvalidParameter, text + "answers", "batmap_measure computes its values.");
}

}  // namespace

double pair_measure(PairMeasure measure, const ContingencyTable& counts) {
  return kMeasures[static_cast<size_t>(measure)].value(counts);
}

void pair_measures(PairMeasure measure, const ContingencyColumns& counts, size_t pairs, double* values) {
  kMeasures[static_cast<size_t>(measure)].values(counts, pairs, values);
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
              "Available values: " + names + ".");
}

}  // namespace batmap
