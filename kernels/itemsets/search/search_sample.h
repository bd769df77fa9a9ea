// Predicts the work of a search over bit rows. The number of pairs of items is known without looking at a transaction. More
// is learned by searching some of the transactions from some of the items, with a threshold reduced by the same share. Near
// the threshold a sample errs, but itemsets with far more or far fewer transactions are told apart. The caller decides
// after each step whether the sample goes on: it should stay cheap beside the search itself. Source: ours, after sampling
// for association rules (Toivonen, VLDB 1996) and Knuth's estimates of trees (Mathematics of Computation 29, 1975).
#pragma once

#include <cstdint>
#include <functional>

#include "accel/itemset_policy.h"
#include "bits/and_popcount.h"
#include "itemsets/forms/search_root.h"

namespace batmap {

/// May a sample go on that has found `known` in `sample_ns` nanoseconds?
using SampleGoesOn = std::function<bool(const SearchOutline& known, double sample_ns)>;

/// @param min_count  minimum support @param max_length  length of the longest itemset wanted
SearchOutline sample_search(const SearchRoot& root, uint32_t min_count, uint32_t max_length, const SampleGoesOn& goes_on,
                            const AndPopcountKernel& kernel, const ExecutionOptions& options);

}  // namespace batmap
