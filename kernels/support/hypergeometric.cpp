// Sums from the mode outwards. See hypergeometric.h.
#include "support/hypergeometric.h"

#include <algorithm>
#include <cmath>

namespace batmap {

namespace {

constexpr double kLargestSummed = 1e6;  // standard deviations beyond are not summed
constexpr double kMostCounts = 0x1p53;  // doubles tell counts below apart
constexpr double kNegligible = 1e-17;

double normal_below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

}  // namespace

Hypergeometric::Hypergeometric(double a, double b, double total)
    : a_(a),
      b_(b),
      neither_(total - a - b),
      mode_(std::clamp(std::floor((a + 1) * (b + 1) / (total + 2)), std::max(0.0, -neither_), std::min(a, b))),
      mean_(total == 0 ? 0 : a * b / total),
      deviation_(total < 2 ? 0 : std::sqrt(mean_ * ((total - a) / total) * ((total - b) / (total - 1)))),
      is_summed_(deviation_ <= kLargestSummed && total <= kMostCounts) {}

Hypergeometric::Split Hypergeometric::split_at(double count) const {
  if (!is_summed_) {
    if (deviation_ == 0) return count > mode_ ? Split{1, 0} : Split{0, 1};
    const double z = (count - mean_ - 0.5) / deviation_;
    return {normal_below(z), normal_below(-z)};
  }
  Split sum{0, 0};
  const auto add = [&](double x, double term) -> double& { return (x < count ? sum.below : sum.above) += term; };
  add(mode_, 1);
  // A side ends when its terms no longer count; the one that `count` lies on, not before it has been there.
  double term = 1;
  for (double x = mode_; (term *= ratio(x)) > 0; ++x)
    if (term < kNegligible * add(x + 1, term) && x + 1 >= count) break;
  term = 1;
  for (double x = mode_ - 1; x >= 0 && ratio(x) > 0 && (term /= ratio(x)) > 0; --x)
    if (term < kNegligible * add(x, term) && x < count) break;
  const double all = sum.below + sum.above;
  return {sum.below / all, sum.above / all};
}

double Hypergeometric::quantile(double p) const {
  if (!is_summed_) {
    if (deviation_ == 0) return mode_;
    // Halving is enough: the quantile is looked for in whole transactions of millions.
    double low = mean_;
    double high = mean_ + 40 * deviation_;
    while (high - low > 0.5) {
      const double middle = (low + high) / 2;
      if (middle == low || middle == high) break;  // neighbours
      (normal_below((middle + 0.5 - mean_) / deviation_) < p ? low : high) = middle;
    }
    return std::ceil(low);
  }
  const Split at_mode = split_at(mode_);
  // Of all, the term of the mode: what is above it, without it, is a sum of its multiples.
  double multiple = 0;
  double term = 1;
  for (double x = mode_; term > kNegligible * multiple; ++x) {
    multiple += term;
    term *= ratio(x);
  }
  const double unit = at_mode.above / multiple;
  double reached = at_mode.below + unit;
  double x = mode_;
  for (term = 1; reached < p && (term *= ratio(x)) > 0; ++x) reached += unit * term;
  return x;
}

}  // namespace batmap
