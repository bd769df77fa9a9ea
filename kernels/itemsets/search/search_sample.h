// Predicts the work of a search over bit rows. The number of pairs of items is known without looking at a transaction. More
// is learned by searching some of the transactions from some of the items, with a threshold reduced by the same share. Near
// the threshold a sample errs, but itemsets with far more or far fewer transactions are told apart. The caller decides
// after each step whether the sample goes on: it should stay cheap beside the search itself. Source: ours, after sampling
// for association rules (Toivonen, VLDB 1996) and Knuth's estimates of trees (Mathematics of Computation 29, 1975).
#pragma once

#include <cstdint>
#include <functional>

#include "bits/and_popcount.h"
#include "itemsets/forms/search_root.h"

namespace batmap {

/// The work of the whole search, as far as it is known.
struct SearchOutline {
  double pairs = 0;         // pairs of items
  double joins = 0;         // pairs of itemsets that share all but their last items; pairs of items included
  double branch_joins = 0;  // the same, each weighted by the share of the transactions that its first item has
  double tails = 0;         // later items in the transactions of each first item, if items were independent
  double itemsets = 0;      // frequent itemsets of two items or more
  double extended = 0;      // frequent itemsets with a later sibling
  uint32_t longest = 1;
  bool is_complete = false;  // false: there may be many more
};

/// May a sample go on that has found `known` in `sample_ns` nanoseconds?
using SampleGoesOn = std::function<bool(const SearchOutline& known, double sample_ns)>;

/// @param least  minimum support @param most  length of the longest itemset wanted
SearchOutline sample_search(const SearchRoot& root, uint32_t least, uint32_t most, const SampleGoesOn& goes_on,
                            const AndPopcountKernel& kernel, const ExecutionOptions& options);

}  // namespace batmap
