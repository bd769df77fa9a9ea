// Transactions as bit rows, one row an item. Equal transactions are kept once, with a weight: they have one
// column for each bit that is set in the weight. The columns of one weight bit lie together and are a plane. So
// the support of an itemset is a sum of a few population counts, each shifted. Items x columns / 8 bytes.
// Source: the rows are the tidlist bitmaps of Fang et al. 2009 (3.2) and Losiak 2009; the weights are ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bits/and_popcount.h"
#include "core/options.h"
#include "core/poll.h"
#include "itemsets/forms/search_root.h"

namespace batmap {

class WeightedBits {
 public:
  /// The rows of a root's items. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
  WeightedBits(const SearchRoot& root, const AndPopcountKernel& kernel, const ExecutionOptions& options);
  /// The rows of the items whose bits are set in `items`, lowest first.
  WeightedBits(const WeightedMasks& list, uint64_t items, const AndPopcountKernel& kernel, const ExecutionOptions& options);
  /// The rows of items 0 .. items - 1. @tparam Item  RootItem or NodeItem
  template <ItemNumber Item>
  WeightedBits(const TransactionLists<Item>& lists, size_t items, const AndPopcountKernel& kernel,
               const ExecutionOptions& options);

  /// The columns of one bit of the weights. Each stands for 2^shift transactions.
  struct Plane {
    size_t first;  // index of its first word in a row
    size_t words;
    int shift;
  };

  size_t items() const { return items_; }
  size_t words() const { return words_; }  // of a row; a multiple of 8
  std::span<const Plane> planes() const { return planes_; }
  const uint64_t* row(size_t item) const { return bits_.data() + item * words_; }

  /// supports[k] = number of transactions that `row` and the k-th of the `count` rows from `others` on have in common.
  void count(const uint64_t* row, const uint64_t* others, size_t count, uint32_t* supports);
  /// out = a AND b
  void intersect(const uint64_t* a, const uint64_t* b, uint64_t* out) const {
    for (size_t w = 0; w < words_; ++w) out[w] = a[w] & b[w];
  }

 private:
  template <typename Transactions>
  void fill(size_t items, Transactions visit, const ExecutionOptions& options);

  const AndPopcountKernel& kernel_;
  size_t items_ = 0;
  size_t words_ = 0;
  std::vector<Plane> planes_;
  Buffer<uint64_t> bits_;
  std::vector<uint32_t> counts_;
};

/// pairs[a][b] = number of transactions that have both, for the items a < b of the masks. Adds up the pairs of each mask
/// or, where there are many masks with many items, counts bit rows. @param pairs  [64][64], zero in the rows of `items`
void count_mask_pairs(const WeightedMasks& list, uint64_t items, const AndPopcountKernel& kernel,
                      const ExecutionOptions& options, Poll& poll, uint32_t* pairs);

}  // namespace batmap
