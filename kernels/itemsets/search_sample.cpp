// Some of the transactions, searched. See search_sample.h.
#include "itemsets/search_sample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "itemsets/row_levels.h"

namespace batmap {

namespace {

struct Sampled {
  WeightedBits bits;
  double share;  // of the weights
};

/// Every n-th of the distinct transactions.
Sampled sample(const SearchRoot& root, size_t transactions, const AndPopcountKernel& kernel,
               const ExecutionOptions& options) {
  double all = 0;
  double taken = 0;
  if (root.as_masks) {
    const WeightedMasks masks = root.masks.list(0, root.masks.size());
    const size_t step = std::max<size_t>(1, masks.size / transactions);
    MaskStack some(*options.memory);
    some.start(transactions);
    for (size_t k = 0; k < masks.size; ++k) {
      all += masks.weights[k];
      if (k % step != 0) continue;
      taken += masks.weights[k];
      some.add(masks.masks[k], masks.weights[k]);
    }
    const uint64_t items = root.items.empty() ? 0 : ~uint64_t{0} >> (kMaskItems - root.items.size());
    return {WeightedBits(some.list(0, some.size()), items, kernel, options), all == 0 ? 1 : taken / all};
  }
  const auto of_root = root.lists.transactions();
  const size_t step = std::max<size_t>(1, of_root.size() / transactions);
  TransactionLists some(*options.memory, transactions);
  for (size_t k = 0; k < of_root.size(); ++k) {
    all += of_root[k].weight;
    if (k % step != 0) continue;
    taken += of_root[k].weight;
    std::copy_n(root.lists.data() + of_root[k].begin, of_root[k].length, some.room(of_root[k].length));
    some.add(of_root[k].length, of_root[k].weight);
  }
  return {WeightedBits(some, root.items.size(), kernel, options), all == 0 ? 1 : taken / all};
}

class Sampler {
 public:
  Sampler(HostLevels& rows, uint32_t least, uint32_t most, double joins)
      : rows_(rows), least_(least), most_(most), joins_(joins) {}

  /// @param size  rows of the top level @param branches  of them begin itemsets
  void search(uint32_t size, uint32_t branches, uint32_t length) {
    if (length >= most_) return;
    for (uint32_t row = 0; row < branches && row + 1 < size; ++row) {
      if (sum.joins > joins_) {
        sum.is_complete = false;
        return;
      }
      if (length == 1) share_ = shares[row];
      rows_.extend_row(row, least_, 0, found_);
      const double later = size - row - 1;
      const auto children = static_cast<uint32_t>(found_.size());
      sum.joins += later;
      sum.branch_joins += later * share_;
      sum.itemsets += children;
      ++sum.extended;
      if (children > 0) sum.longest = std::max(sum.longest, length + 1);
      if (children > 1) search(children, children, length + 1);
      rows_.pop();
    }
  }

  SearchSample sum;
  std::vector<double> shares;  // [items] of the transactions

 private:
  HostLevels& rows_;
  uint32_t least_;
  uint32_t most_;
  double joins_;
  double share_ = 1;
  std::vector<JoinedItemset> found_;
};

}  // namespace

SearchSample sample_search(const SearchRoot& root, uint32_t least, uint32_t most, const SampleSizes& sizes,
                           const AndPopcountKernel& kernel, const ExecutionOptions& options) {
  Sampled sampled = sample(root, sizes.transactions, kernel, options);
  const auto scaled = static_cast<uint32_t>(std::max(1.0, std::round(least * sampled.share)));
  HostLevels rows(std::move(sampled.bits), options);
  Sampler sampler(rows, scaled, most, sizes.joins);
  for (const uint32_t support : root.support)
    sampler.shares.push_back(static_cast<double>(support) / std::max(root.transactions, 1u));
  sampler.search(static_cast<uint32_t>(root.items.size()), root.leading, 1);
  return sampler.sum;
}

}  // namespace batmap
