// See expected_answers.h.
#include "measures/expected_answers.h"

#include <algorithm>
#include <cmath>

namespace batmap {

namespace {

/// How often the items of two classes have enough transactions in common.
double common(const SupportClass& a, const SupportClass& b, double transactions, double min_count) {
  constexpr double kFarBelow = 16;  // Poisson: far below 1e-10 if the threshold is above this and four times the mean
  if (std::min(a.support, b.support) < min_count) return 0;
  const double mean = a.support * b.support / transactions;
  if (min_count > kFarBelow && mean * 4 < min_count) return 0;
  const double variance = mean * (1 - a.support / transactions) * (1 - b.support / transactions);
  return probability_of_count(mean, variance, min_count);
}

double binomial(double n, int k) {
  double ways = 1;
  for (int taken = 0; taken < k; ++taken) ways *= std::max(n - taken, 0.0) / (taken + 1);
  return ways;
}

constexpr int kMaxLength = LengthCounts::kMaxLength;

/// How many itemsets of each length have about which support, on a scale of logarithms that ends below the threshold.
class SupportSpectrum {
 public:
  SupportSpectrum(double transactions, double min_count)
      : transactions_(transactions), step_(std::log(transactions / min_count * kBelow) / kSteps), min_count_(min_count) {
    sets_[0][0] = 1;
  }

  void add(const SupportClass& added, int max_length) {
    const double place = std::log(transactions_ / std::min(added.support, transactions_)) / step_;
    if (place > kSteps) return;
    const int down = static_cast<int>(std::lround(place));
    double ways[kMaxLength + 1];
    for (int k = 0; k <= max_length; ++k) ways[k] = binomial(added.items, k);
    for (int length = max_length; length > 0; --length)
      for (int k = 1; k <= length && ways[k] > 0 && k * down <= kSteps; ++k)
        for (int at = k * down; at <= kSteps; ++at) sets_[length][at] += ways[k] * sets_[length - k][at - k * down];
  }

  double frequent(int length) const {
    double sets = 0;
    for (int at = 0; at <= kSteps; ++at) {
      if (sets_[length][at] == 0) continue;
      const double mean = transactions_ * std::exp(-at * step_);
      sets += sets_[length][at] * probability_of_count(mean, mean * (1 - mean / transactions_), min_count_);
    }
    return sets;
  }

 private:
  static constexpr int kSteps = 128;
  static constexpr double kBelow = 32;

  double transactions_;
  double step_;
  double min_count_;
  double sets_[kMaxLength + 1][kSteps + 1] = {};
};

/// The itemsets of one length that occur at all, if each of them occurs once wherever it is expected to occur at most once.
double occurring_itemsets(std::span<const SupportClass> items, double transactions, int length) {
  double shares[kMaxLength + 1] = {1};  // sums over the itemsets of a length: the share of transactions that contain one
  double number = 0;
  for (const SupportClass& added : items) {
    number += added.items;
    const double share = std::min(added.support / transactions, 1.0);
    for (int k = length; k > 0; --k) {
      double power = 1;
      for (int taken = 1; taken <= k; ++taken) {
        power *= share;
        shares[k] += binomial(added.items, taken) * power * shares[k - taken];
      }
    }
  }
  return std::min(shares[length] * transactions, binomial(number, length));
}

}  // namespace

double probability_of_count(double mean, double variance, double min_count) {
  constexpr double kNormalFrom = 50;
  constexpr double kNegligible = 1e-12;
  if (min_count <= 0) return 1;
  if (mean <= 0) return 0;
  if (mean > kNormalFrom) return std::erfc((min_count - 0.5 - mean) / std::sqrt(2 * std::max(variance, 1e-9))) / 2;
  double sum = 0;
  if (mean < min_count) {
    double term = std::exp(min_count * std::log(mean) - mean - std::lgamma(min_count + 1));
    for (double k = min_count; term > sum * kNegligible; ++k, term *= mean / k) sum += term;
    return sum;
  }
  double term = std::exp((min_count - 1) * std::log(mean) - mean - std::lgamma(min_count));
  for (double k = min_count - 1; k >= 0 && term > sum * kNegligible; term *= k / mean, --k) sum += term;
  return 1 - sum;
}

double expected_pairs(std::span<const SupportClass> items, double transactions, double min_count) {
  double pairs = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    for (size_t j = i; j < items.size(); ++j) {
      const double number = i == j ? binomial(items[i].items, 2) : items[i].items * items[j].items;
      if (number > 0) pairs += number * common(items[i], items[j], transactions, min_count);
    }
  }
  return pairs;
}

double expected_joined_pairs(std::span<const SupportClass> left, std::span<const SupportClass> right, double transactions,
                             double min_count) {
  double pairs = 0;
  for (const SupportClass& a : left)
    for (const SupportClass& b : right) pairs += a.items * b.items * common(a, b, transactions, min_count);
  return pairs;
}

LengthCounts expected_itemsets(std::span<const SupportClass> items, double transactions, double min_count, int max_length) {
  LengthCounts counts{};
  if (transactions < min_count || transactions <= 0) return counts;
  max_length = std::min(max_length, kMaxLength);
  if (max_length >= 1)
    for (const SupportClass& single : items) counts.of[1] += single.support >= min_count ? single.items : 0;
  if (max_length >= 2) counts.of[2] = expected_pairs(items, transactions, min_count);
  if (max_length < 3) return counts;
  if (min_count <= 1) {
    for (int length = 3; length <= max_length; ++length) counts.of[length] = occurring_itemsets(items, transactions, length);
    return counts;
  }
  SupportSpectrum spectrum(transactions, min_count);
  for (const SupportClass& added : items)
    if (added.support >= min_count) spectrum.add(added, max_length);
  for (int length = 3; length <= max_length; ++length) counts.of[length] = spectrum.frequent(length);
  return counts;
}

}  // namespace batmap
