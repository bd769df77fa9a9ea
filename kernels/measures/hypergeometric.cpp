// Sums terms from the mode outwards, or integrates. See hypergeometric.h.
#include "measures/hypergeometric.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace batmap {

namespace {

constexpr double kMaxSummed = 256;  // larger standard deviations are integrated
constexpr double kNegligible = 1e-17;
constexpr double kVanished = 1e-305;  // larger than denormals, whose products might never become 0
constexpr double kFarthest = 60;      // deviations from the mean at which exp(-60^2 / 2) is 0
constexpr double kTwoPi = 6.283185307179586;

/// Gauss-Legendre quadrature with eight points on [-1, 1]: these four and their negatives.
struct Node {
  double at;
  double weight;
};
constexpr std::array<Node, 4> kNodes{{{0.1834346424956498, 0.3626837833783620},
                                      {0.5255324099163290, 0.3137066458778873},
                                      {0.7966664774136267, 0.2223810344533745},
                                      {0.9602898564975363, 0.1012285362903763}}};

/// (1 + t) log(1 + t) - t for |t| <= 0.3, without subtracting nearly equal numbers.
double deviance(double t) {
  const double v = t / (2 + t);
  const double square = v * v;
  double sum = 0;
  for (int odd = 19; odd >= 3; odd -= 2) sum = (sum + 1.0 / odd) * square;
  return t * v + 2 * (1 + t) * v * sum;
}

/// log n! - log(sqrt(2 pi n) (n / e)^n), for n of thousands or more.
double stirling_error(double n) { return 1 / (12 * n); }

}  // namespace

Hypergeometric::Hypergeometric(double a, double b, double total) : a_(a), b_(b), total_(total) {
  if (2 * a_ > total) {  // count the transactions with b only
    a_ = total - a_;
    origin_ = b_;
    direction_ = -1;
  }
  if (2 * b_ > total) {
    // Count (a, not b): then cell + the new cell = the a from before. Or count neither: both =
    // neither + (a + b - total).
    origin_ = direction_ > 0 ? a_ : b_ - a_;
    direction_ = -direction_;
    b_ = total - b_;
  }
  neither_ = total - a_ - b_;
  mode_ = std::min(std::floor((a_ + 1) * (b_ + 1) / (total + 2)), std::min(a_, b_));
  mean_ = total == 0 ? 0 : a_ * b_ / total;
  deviation_ = total < 2 ? 0 : std::sqrt(mean_ * ((total - a_) / total) * ((total - b_) / (total - 1)));
}

Hypergeometric::Split Hypergeometric::split_at(double count) const {
  if (direction_ > 0) return split_cell_at(count - origin_);
  const Split turned = split_cell_at(origin_ - count + 1);
  return {turned.above, turned.below};
}

Hypergeometric::Split Hypergeometric::split_cell_at(double x) const {
  if (x <= 0) return {0, 1};
  if (x > std::min(a_, b_)) return {1, 0};
  if (deviation_ > kMaxSummed) return integrated_split(x);
  const Split sum = sums_around(x);
  const double all = sum.below + sum.above;
  return {sum.below / all, sum.above / all};
}

// The sums are relative to the term of the mode.
Hypergeometric::Split Hypergeometric::sums_around(double x) const {
  Split sum{0, 0};
  const auto add = [&](double at, double term) -> double& { return (at < x ? sum.below : sum.above) += term; };
  add(mode_, 1);
  // A side ends when its terms are negligible; the side of x not before x is reached.
  double term = 1;
  for (double at = mode_; (term *= ratio(at)) > kVanished; ++at)
    if (term < kNegligible * add(at + 1, term) && at + 1 >= x) break;
  term = 1;
  for (double at = mode_ - 1; at >= 0 && (term /= ratio(at)) > kVanished; --at)
    if (term < kNegligible * add(at, term) && at < x) break;
  return sum;
}

// Stirling's formula for the nine factorials. The powers become the deviances of the four cells from their
// expected values, which add up to half of the G statistic.
double Hypergeometric::density(double x) const {
  const double not_a = total_ - a_;
  const double not_b = total_ - b_;
  const double d = x - mean_;
  const std::array<double, 4> expected{mean_, a_ / total_ * not_b, b_ / total_ * not_a, not_a / total_ * not_b};
  const std::array<double, 4> off{d, -d, -d, d};
  double exponent =
      stirling_error(a_) + stirling_error(b_) + stirling_error(not_a) + stirling_error(not_b) - stirling_error(total_);
  double cells = 1;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double cell = expected[i] + off[i];
    exponent -= expected[i] * deviance(off[i] / expected[i]) + stirling_error(cell);
    cells *= cell;
  }
  return std::exp(exponent) * std::sqrt(a_ * not_a * b_ * not_b / (kTwoPi * total_ * cells));
}

Hypergeometric::Split Hypergeometric::integrated_split(double x) const {
  const double from = x - 0.5;
  const double outwards = from >= mean_ ? 1 : -1;
  const double z = std::abs(from - mean_) / deviation_;
  double tail = 0;
  if (z < kFarthest) {
    // Panels on which the density falls by a constant factor, until they are negligible. The distance from
    // the mean bounds their number: 38 where the density falls exponentially, 9 where it is normal.
    const double half = deviation_ / (1 + z) / 2;
    double middle = from + outwards * half;
    for (int panel = 0; panel < 64; ++panel, middle += outwards * 2 * half) {
      double sum = 0;
      for (const Node& node : kNodes)
        sum += node.weight * (density(middle - half * node.at) + density(middle + half * node.at));
      tail += half * sum;
      if (half * sum <= kNegligible * tail) break;
    }
    // Correction from the integral to the sum over integers (Euler, Maclaurin).
    tail += outwards * (density(x) - density(x - 1)) / 24;
    tail = std::clamp(tail, 0.0, 1.0);
  }
  return outwards > 0 ? Split{1 - tail, tail} : Split{tail, 1 - tail};
}

double Hypergeometric::quantile(double p) const {
  double x = mode_;
  double reached = 0;  // P[both <= the count of x]
  double mass = 0;     // P[cell = x]
  if (deviation_ <= kMaxSummed) {
    const Split sum = sums_around(mode_);
    const double all = sum.below + sum.above;
    reached = (direction_ > 0 ? sum.below + 1 : sum.above) / all;
    mass = 1 / all;
  } else {
    // From the mode on, P is concave: Newton's method doubles the correct digits each step and
    // never passes the quantile.
    for (int step = 0; step < 64; ++step) {
      reached = direction_ > 0 ? split_cell_at(x + 1).below : split_cell_at(x).above;
      mass = density(x);
      const double whole = std::floor((p - reached) / mass);
      if (!(whole >= 1)) break;
      x += direction_ * whole;
    }
  }
  while (reached < p && mass > kVanished) {
    mass = direction_ > 0 ? mass * ratio(x) : mass / ratio(x - 1);
    x += direction_;
    reached += mass;
  }
  return origin_ + direction_ * x;
}

}  // namespace batmap
