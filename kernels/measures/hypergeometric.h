// How likely two items meet by chance as often as they do: the number of transactions that hold both, were the transactions
// of each drawn without regard to the other's, is hypergeometric.
//
// The table of two by two is turned until the cell that is counted is the one expected to be smallest; so no difference of
// large numbers decides, and any counts up to 2^63 will do. Then, by the standard deviation:
//   up to 256   sums of terms relative to the largest one, from there outwards, so that nothing cancels and no factorial is
//               needed. The terms fall below the least double within 500 + 39 deviations (Bernstein's inequality), so a side
//               has at most 10,500 terms, whatever the counts are;
//   beyond      the integral over the density, by Stirling's formula around the expected cells, from the count outwards: at
//               most 1,024 evaluations.
// split_at() takes some tens of microseconds, quantile(), which asks it again and again, up to some milliseconds for counts
// near 2^62. Relative error: below 1e-8 for probabilities down to 1e-20, 1e-5 for all;
// what is below 1e-300 is 0. Sources: the model is that of Hahsler, Hornik, "New probabilistic interest measures for
// association rules", Intelligent Data Analysis 11(5), 2007; deviances instead of logarithms of factorials as in Loader,
// "Fast and accurate computation of binomial probabilities", 2000; the rest is ours.
#pragma once

namespace batmap {

/// Numbers of transactions: whole, 0 <= a, b <= total < 2^63.
class Hypergeometric {
 public:
  Hypergeometric(double a, double b, double total);

  /// P[both < count] and P[both >= count].
  struct Split {
    double below;
    double above;
  };
  Split split_at(double count) const;
  /// The least count with P[both <= count] >= p. @param p  above a half, below one
  double quantile(double p) const;

 private:
  // Everything below is of the turned table, whose smallest cell `cell` is: both = origin_ + direction_ * cell.

  /// P[cell = x + 1] / P[cell = x].
  double ratio(double x) const { return (a_ - x) * (b_ - x) / ((x + 1) * (neither_ + x + 1)); }
  /// P[cell = x] and its smooth continuation to all x; only for the integral.
  double density(double x) const;
  /// P[cell < x] and P[cell >= x].
  Split split_cell_at(double x) const;
  Split sums_around(double x) const;
  Split integrated_split(double x) const;

  double a_;  // up to half of total_
  double b_;  // up to half of total_
  double total_;
  double neither_;  // total_ - a_ - b_
  double origin_ = 0;
  int direction_ = 1;
  double mode_;
  double mean_;
  double deviation_;
};

}  // namespace batmap
