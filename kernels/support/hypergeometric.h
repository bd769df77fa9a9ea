// How likely two items meet by chance as often as they do: the number of transactions that hold both, were the transactions
// of each drawn without regard to the other's, is hypergeometric.
//
// Probabilities are sums of terms relative to the largest one, from there outwards, so nothing cancels and no factorial is
// needed. Cost: some ten standard deviations of terms; where the deviation is beyond a million, or neighbouring counts are
// one double, the normal distribution instead. Source: the model is that of Hahsler, Hornik, "New probabilistic interest
// measures for association rules", Intelligent Data Analysis 11(5), 2007; the summation is ours.
#pragma once

namespace batmap {

/// Numbers of transactions: a, b <= total.
class Hypergeometric {
 public:
  Hypergeometric(double a, double b, double total);

  /// P[both < count] and P[both >= count].
  struct Split {
    double below;
    double above;
  };
  Split split_at(double count) const;
  /// The least count with P[both <= count] >= p. @param p  at least a half
  double quantile(double p) const;

 private:
  /// P[both = count + 1] / P[both = count].
  double ratio(double count) const { return (a_ - count) * (b_ - count) / ((count + 1) * (neither_ + count + 1)); }

  double a_;
  double b_;
  double neither_;  // total - a - b: of no both
  double mode_;
  double mean_;
  double deviation_;
  bool is_summed_;
};

}  // namespace batmap
