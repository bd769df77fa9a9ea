// How many itemsets a search would find, without finding them: random ways down the tree of the search.
//
// A way begins with one item and goes on with a random one of the extensions that are frequent; each itemset on it stands
// for as many as its way was unlikely. The mean over many ways is the number of itemsets, whatever the odds. The itemsets
// that begin with one item are a stratum, of which each round walks one way, so what is known of single items is not
// guessed. Perfect extensions are not walked but counted by binomials. Cost of a way: the transactions of each itemset on
// it.
//
// The mean has no bias, but a heavy tail: where few itemsets have most of the supersets, most ways miss them, and the
// estimate, and its standard error with it, is too small more often than too large.
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
  uint64_t ways = 0;  // 0: the number is exact
};

/// Ways through the search tree of a root. The same seed gives the same ways.
class RandomWays {
 public:
  /// @param root  must outlive the object; its lists get the tails of all items
  RandomWays(SearchRoot& root, uint32_t min_count, const ItemsetLengths& lengths, uint32_t max_support,
             const ExecutionOptions& options);

  /// One way from each item that itemsets may begin with. @throws Error{kCancelled}, std::bad_alloc
  void round();
  uint64_t rounds() const { return rounds_; }
  /// After two rounds or more.
  ItemsetForecast forecast() const;

 private:
  struct Extension {
    uint32_t item;
    uint32_t support;
    double one_in;  // how unlikely it was to be drawn
  };

  Extension draw(uint32_t support);
  double walk(uint32_t item);
  /// How many itemsets one of `length` items and the perfect extensions make.
  double with_perfect(uint32_t length, uint32_t support) const;

  const SearchRoot& root_;
  TransactionLists from_masks_;
  TransactionLists& lists_;
  uint32_t min_count_;
  ItemsetLengths lengths_;
  uint32_t max_support_;
  Poll poll_;
  std::mt19937_64 random_{1};
  uint64_t rounds_ = 0;
  size_t perfect_ = 0;
  Buffer<double> sums_;     // [items that lead] of the ways from each
  Buffer<double> squares_;  // likewise
  Buffer<uint32_t> count_;  // [items] zero between two steps
  Buffer<bool> is_perfect_;
  std::vector<uint32_t> counted_;
  std::vector<uint32_t> flagged_;
  std::vector<WeightedTail> tails_;  // of the itemset at hand
  std::vector<Extension> extensions_;
  std::vector<double> odds_;
};

}  // namespace batmap
