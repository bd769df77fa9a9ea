// How likely it is that two items have as many transactions in common by chance: if the transactions of each
// item are drawn independently, the number of common ones is hypergeometric.
//
// The 2 x 2 table is turned so that the counted cell is the one with the smallest expected value. So no result
// is a difference of large numbers, and counts may be as large as 2^63. The standard deviation then decides:
//   up to 256   sums of terms relative to the largest one, from there outwards: nothing cancels, and no factorial is
//               needed. The terms fall below the least double within 500 + 39 deviations (Bernstein's inequality), so a
//               side has at most 10,500 terms, whatever the counts are;
//   above       the integral of the density, by Stirling's formula around the expected cells, from the count outwards: at
//               most 1,024 evaluations.
// split_at() takes some tens of microseconds. quantile() calls it repeatedly and takes up to some
// milliseconds for counts near 2^62. Relative error: below 1e-8 for probabilities down to 1e-20, below 1e-5
// for all others; values below 1e-300 are returned as 0. Sources: the model is that of Hahsler, Hornik, "New
// probabilistic interest measures for association rules", Intelligent Data Analysis 11(5), 2007; deviances
// instead of logarithms of factorials as in Loader, "Fast and accurate computation of binomial
// probabilities", 2000; the rest is ours.
#pragma once

namespace batmap {

/// a, b and total are numbers of transactions: integers with 0 <= a, b <= total < 2^63.
class Hypergeometric {
 public:
  Hypergeometric(double a, double b, double total);

  /// P[both < count] and P[both >= count].
  struct Split {
    double below;
    double above;
  };
  Split split_at(double count) const;
  /// The least count with P[both <= count] >= p. @param p  above 1/2, below 1
  double quantile(double p) const;

 private:
  // All below refers to the turned table, whose counted cell is `cell`: both = origin_ + direction_ * cell.

  /// P[cell = x + 1] / P[cell = x].
  double ratio(double x) const { return (a_ - x) * (b_ - x) / ((x + 1) * (neither_ + x + 1)); }
  /// P[cell = x], continued smoothly to all x; used for the integral and for the quantile.
  double density(double x) const;
  /// P[cell < x] and P[cell >= x].
  Split split_cell_at(double x) const;
  Split sums_around(double x) const;
  Split integrated_split(double x) const;

  double a_;  // at most half of total_
  double b_;  // at most half of total_
  double total_;
  double neither_;  // total_ - a_ - b_
  double origin_ = 0;
  int direction_ = 1;
  double mode_;
  double mean_;
  double deviation_;
};

}  // namespace batmap
