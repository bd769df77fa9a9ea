// What a search over bit rows is going to do. Without looking at a transaction: the pairs of items. More from a search over
// some of the transactions and from some of the items, where the threshold is that share of the whole one's. Near the
// threshold a sample errs; what has far more transactions, or far fewer, is told apart. It goes on for as long as it is
// cheap beside the search itself, which whoever asks for it says. Source: ours, after sampling for association rules
// (Toivonen, VLDB 1996) and Knuth's estimates of trees (Mathematics of Computation 29, 1975).
#pragma once

#include <cstdint>
#include <functional>

#include "bits/and_popcount.h"
#include "itemsets/forms/search_root.h"

namespace batmap {

/// Of the whole search, as far as it is known.
struct SearchOutline {
  double pairs = 0;         // of items
  double joins = 0;         // pairs of itemsets that share all but their last items, those included
  double branch_joins = 0;  // the same, each times the share of the transactions that its first item has
  double tails = 0;         // later items in the transactions of each first item, were items independent
  double itemsets = 0;      // frequent ones of two items or more
  double extended = 0;      // frequent ones with a later sibling
  uint32_t longest = 1;
  bool is_complete = false;  // no: there may be many more
};

/// Is a sample that has come so far worth so many nanoseconds?
using SampleGoesOn = std::function<bool(const SearchOutline& known, double sample_ns)>;

/// @param least  support @param most  length of the longest itemset wanted
SearchOutline sample_search(const SearchRoot& root, uint32_t least, uint32_t most, const SampleGoesOn& goes_on,
                            const AndPopcountKernel& kernel, const ExecutionOptions& options);

}  // namespace batmap
