// Estimates how many itemsets a search would find, by random ways down its tree.
//
// A way begins with one item and repeatedly adds a random frequent extension. Each itemset on the way counts as
// much as the inverse of its probability of being reached. So the expected mean over many ways is the number of
// itemsets, whatever the odds. The itemsets that begin with one item are a stratum. Each round walks one way in
// each stratum, so that the supports of single items are exact. Perfect extensions are not walked but counted
// by binomials. Cost of a way: the transactions of each itemset on it.
//
// The mean has no bias, but a heavy tail. Where few itemsets have most of the supersets, most ways miss them.
// Then the estimate and its standard error are too small more often than too large.
// Source: Knuth, "Estimating the efficiency of backtrack programs", Mathematics of Computation 29, 1975, with the odds of
// Chen's heterogeneous sampling (1992) in mind; strata and perfect extensions are ours.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/poll.h"
#include "itemsets/answers/itemset_writer.h"
#include "itemsets/forms/search_root.h"

namespace batmap {

struct ItemsetForecast {
  double itemsets = 0;
  double standard_error = 0;
  uint64_t ways = 0;            // 0: the itemsets were counted
  bool is_of_a_sample = false;  // of the transactions (itemset_parts.h)

  bool is_exact() const { return ways == 0 && !is_of_a_sample; }
};

/// Ways through the search tree of a root. The seed is fixed, so a run can be repeated.
class RandomWays {
 public:
  /// @param root  must outlive the object; its lists are linked for all items
  RandomWays(SearchRoot& root, uint32_t min_count, const ItemsetLengths& lengths, uint32_t max_support,
             const ExecutionOptions& options);

  /// Walks one way from each item that itemsets may begin with. @throws Error{kCancelled}, std::bad_alloc
  void round();
  uint64_t rounds() const { return rounds_; }
  /// Needs two rounds or more.
  ItemsetForecast forecast() const;

 private:
  struct Extension {
    RootItem item;
    uint32_t support;
    double one_in;  // inverse of the probability of being drawn
  };

  Extension draw(uint32_t support);
  double walk(RootItem item);
  /// How many itemsets an itemset of `length` items makes with its perfect extensions.
  double with_perfect(uint32_t length, uint32_t support) const;

  const SearchRoot& root_;
  TransactionLists<RootItem> from_masks_;
  TransactionLists<RootItem>& lists_;
  uint32_t min_count_;
  ItemsetLengths lengths_;
  uint32_t max_support_;
  Poll poll_;
  std::mt19937_64 random_{1};
  uint64_t rounds_ = 0;
  size_t perfect_ = 0;
  Buffer<double> sums_;     // [leading items] sum over the ways from each
  Buffer<double> squares_;  // [leading items] sum of squares
  Buffer<uint32_t> count_;  // [items] zero between two steps
  Buffer<bool> is_perfect_;
  std::vector<RootItem> counted_;    // items with a count
  std::vector<RootItem> flagged_;    // perfect items
  std::vector<WeightedTail> tails_;  // of the current itemset
  std::vector<Extension> extensions_;
  std::vector<double> odds_;
};

}  // namespace batmap
