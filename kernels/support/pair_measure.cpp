// The table of measures. See pair_measure.h.
#include "support/pair_measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace batmap {

namespace {

struct Entry {
  PairMeasure measure;
  const char* name;
  bool symmetric;
  double (*value)(const PairCounts&);
};

double support(const PairCounts& n) { return n.both / n.total; }
double jaccard(const PairCounts& n) { return n.both / (n.a + n.b - n.both); }
double dice(const PairCounts& n) { return 2 * n.both / (n.a + n.b); }
double cosine(const PairCounts& n) { return n.both / std::sqrt(n.a * n.b); }
double lift(const PairCounts& n) { return n.both * n.total / (n.a * n.b); }
double leverage(const PairCounts& n) { return n.both / n.total - (n.a / n.total) * (n.b / n.total); }
double phi(const PairCounts& n) {
  return (n.both * n.total - n.a * n.b) / std::sqrt(n.a * n.b * (n.total - n.a) * (n.total - n.b));
}
double kulczynski(const PairCounts& n) { return (n.both / n.a + n.both / n.b) / 2; }
double all_confidence(const PairCounts& n) { return n.both / std::max(n.a, n.b); }
double max_confidence(const PairCounts& n) { return n.both / std::min(n.a, n.b); }
double odds_ratio(const PairCounts& n) {
  return n.both * (n.total - n.a - n.b + n.both) / ((n.a - n.both) * (n.b - n.both));
}
double confidence(const PairCounts& n) { return n.both / n.a; }
double conviction(const PairCounts& n) {
  if (n.both == n.a && n.a > 0) return std::numeric_limits<double>::infinity();
  return (n.a / n.total) * (n.total - n.b) / (n.a - n.both);
}

constexpr std::array<Entry, 13> kMeasures{{
    {PairMeasure::kSupport, "support", true, support},
    {PairMeasure::kJaccard, "jaccard", true, jaccard},
    {PairMeasure::kDice, "dice", true, dice},
    {PairMeasure::kCosine, "cosine", true, cosine},
    {PairMeasure::kLift, "lift", true, lift},
    {PairMeasure::kLeverage, "leverage", true, leverage},
    {PairMeasure::kPhi, "phi", true, phi},
    {PairMeasure::kKulczynski, "kulczynski", true, kulczynski},
    {PairMeasure::kAllConfidence, "all_confidence", true, all_confidence},
    {PairMeasure::kMaxConfidence, "max_confidence", true, max_confidence},
    {PairMeasure::kOddsRatio, "odds_ratio", true, odds_ratio},
    {PairMeasure::kConfidence, "confidence", false, confidence},
    {PairMeasure::kConviction, "conviction", false, conviction},
}};

}  // namespace

double pair_measure(PairMeasure measure, const PairCounts& counts) {
  return kMeasures[static_cast<size_t>(measure)].value(counts);
}

PairMeasure parse_pair_measure(std::string_view name, bool symmetric) {
  std::string names;
  for (const Entry& entry : kMeasures) {
    if (symmetric && !entry.symmetric) continue;
    if (name == entry.name) return entry.measure;
    names.append(names.empty() ? "" : ", ").append(entry.name);
  }
  throw Error(ErrorCode::kInvalidParameter, "unknown measure \"" + std::string(name) + "\"",
              "Available measures: " + names + ".");
}

}  // namespace batmap
