// What a search over bit rows is going to do, from a search over some of the transactions: the threshold is that share of
// the whole one's. Near the threshold a sample errs; what has far more transactions, or far fewer, is told apart. Cost: at
// most `joins` rows of `transactions` bits. Source: ours, after sampling for association rules (Toivonen, VLDB 1996).
#pragma once

#include <cstdint>

#include "itemsets/search_root.h"
#include "support/and_popcount.h"

namespace batmap {

struct SearchSample {
  double joins = 0;         // pairs of itemsets that share all but their last items
  double branch_joins = 0;  // the same, each times the share of the transactions that its first item has
  double itemsets = 0;      // frequent ones of two items or more
  double extended = 0;      // frequent ones with a later sibling
  uint32_t longest = 1;
  bool is_complete = true;  // no: there are at least so many
};

struct SampleSizes {
  size_t transactions;
  double joins;
};

/// @param least  support @param most  length of the longest itemset wanted
SearchSample sample_search(const SearchRoot& root, uint32_t least, uint32_t most, const SampleSizes& sizes,
                           const AndPopcountKernel& kernel, const ExecutionOptions& options);

}  // namespace batmap
