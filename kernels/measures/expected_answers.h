// Expected numbers of answers, for planning: how many pairs and itemsets reach a threshold if items were independent
// of each other. Real items are correlated, so for high thresholds there are more answers. Nothing here allocates
// memory or throws. Cost: the square of the number of classes for pairs, some hundred operations for each class
// and length for itemsets. Source: ours.
#pragma once

#include <span>

namespace batmap {

/// Items of about the same support.
struct SupportClass {
  double items = 0;
  double support = 0;  // transactions that contain one of them: the mean of the items
};

/// The probability that two items, which occur together `mean` times on average, do so at least `min_count` times. The
/// count is hypergeometric; it is approximated by a normal distribution if the mean is large, else by Poisson's.
double probability_of_count(double mean, double variance, double min_count);

/// Pairs of different items that have at least `min_count` transactions in common.
double expected_pairs(std::span<const SupportClass> items, double transactions, double min_count);

/// Pairs of an item of the left and one of the right relation that have at least `min_count` transactions in common.
double expected_joined_pairs(std::span<const SupportClass> left, std::span<const SupportClass> right, double transactions,
                             double min_count);

/// Numbers of itemsets by length.
struct LengthCounts {
  static constexpr int kMaxLength = 24;  // longer ones are not looked at

  double of[kMaxLength + 1];  // [length]

  double between(int min_length, int max_length) const {
    double sum = 0;
    for (int length = min_length < 1 ? 1 : min_length; length <= max_length && length <= kMaxLength; ++length)
      sum += of[length];
    return sum;
  }
};

/// Itemsets of at most `max_length` items with at least this support. Without a threshold above 1, those of three and more items
/// are an upper bound: each occurs but once where it is not expected to occur more often.
LengthCounts expected_itemsets(std::span<const SupportClass> items, double transactions, double min_count, int max_length);

}  // namespace batmap
