// Searches some of the transactions from some of the items. See search_sample.h.
#include "itemsets/search/search_sample.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "itemsets/search/row_levels.h"

namespace batmap {

namespace {

// A sample has at least kMinTransactions, and so many that the threshold is at least kMinAtThreshold of them.
constexpr uint64_t kMinTransactions = 256;
constexpr uint64_t kMinAtThreshold = 16;
constexpr uint32_t kBranches = 16;
// What a sample takes, in ns: bench/device_itemsets.cpp.
constexpr double kTransaction = 1;  // looked at
constexpr double kOccurrence = 4;   // copied
constexpr double kRowByte = 0.3;    // of the sample
constexpr double kStep = 150;
constexpr double kJoin = 15;

struct Sampled {
  WeightedBits bits;
  double share;  // of the sum of the weights
};

/// Takes every step-th distinct transaction.
Sampled sample(const SearchRoot& root, size_t step, const AndPopcountKernel& kernel, const ExecutionOptions& options) {
  double all = 0;
  double taken = 0;
  if (root.as_masks) {
    const WeightedMasks masks = root.masks.list(0, root.masks.size());
    for (size_t k = 0; k < masks.size; ++k) all += masks.weights[k];
    MaskStack some(*options.memory);
    some.start(masks.size / step + 1);
    for (size_t k = 0; k < masks.size; k += step) {
      taken += masks.weights[k];
      some.add(masks.masks[k], masks.weights[k]);
    }
    const uint64_t items = root.items.empty() ? 0 : ~uint64_t{0} >> (kMaskItems - root.items.size());
    return {WeightedBits(some.list(0, some.size()), items, kernel, options), all == 0 ? 1 : taken / all};
  }
  const auto of_root = root.lists.transactions();
  for (const auto& transaction : of_root) all += transaction.weight;
  TransactionLists<RootItem> some(*options.memory, of_root.size() / step + 1);
  for (size_t k = 0; k < of_root.size(); k += step) {
    taken += of_root[k].weight;
    std::copy_n(root.lists.data() + of_root[k].begin, of_root[k].length, some.room(of_root[k].length));
    some.add(of_root[k].length, of_root[k].weight);
  }
  return {WeightedBits(some, root.items.size(), kernel, options), all == 0 ? 1 : taken / all};
}

double share_of(const SearchRoot& root, RootItem item) {
  return static_cast<double>(root.support_of(item)) / std::max(root.transactions, 1u);
}

/// A branch that is searched stands for the branches beside it that are left out.
class Sampler {
 public:
  Sampler(const SearchRoot& root, HostLevels rows, uint32_t min_count, uint32_t max_length, const SampleGoesOn& goes_on,
          const AndPopcountKernel& kernel, const SearchOutline& pairs, double sample_ns)
      : known(pairs),
        root_(root),
        rows_(std::move(rows)),
        min_count_(min_count),
        max_length_(max_length),
        goes_on_(goes_on),
        join_ns_(kJoin + static_cast<double>(rows_.words()) / kernel.row_words_per_ns),
        sample_ns_(sample_ns) {}

  /// First finds the frequent pairs, which give the number of their joins, then searches longer itemsets. If
  /// this ends early, the other branches are assumed to be like those searched. The first third of the branches
  /// has most of the itemsets and comes last.
  void search() {
    known.is_complete = true;
    stands_for_ = std::max(1u, root_.leading / kBranches);
    std::vector<RootItem> branches;
    for (uint32_t k = stands_for_ / 2; k < root_.leading; k += stands_for_) branches.push_back(RootItem{k});
    for (const RootItem item : branches)
      if (known.is_complete) extend_item(item, false);
    std::ranges::rotate(branches, branches.begin() + static_cast<ptrdiff_t>(branches.size() / 3));
    const SearchOutline shallow = known;
    size_t seen = 0;
    for (; seen < branches.size() && known.is_complete; ++seen) extend_item(branches[seen], true);
    if (known.is_complete || seen == 0) return;
    const double times = static_cast<double>(branches.size()) / static_cast<double>(seen);
    for (double SearchOutline::*const part :
         {&SearchOutline::joins, &SearchOutline::branch_joins, &SearchOutline::itemsets, &SearchOutline::extended})
      known.*part = shallow.*part + (known.*part - shallow.*part) * times;
  }

  SearchOutline known;

 private:
  void extend_item(RootItem item, bool is_deep) {
    share_ = share_of(root_, item);
    extend(index_of(item), static_cast<uint32_t>(root_.items.size()), 1, is_deep);
  }

  /// @param row      in the top level; in the first level, an item of the root is the row of its number
  /// @param size     rows of the top level, whose itemsets have `length` items
  /// @param is_deep  searches the longer itemsets; from a single item these only
  void extend(uint32_t row, uint32_t size, uint32_t length, bool is_deep) {
    if (row + 1 == size) return;
    rows_.extend_row(row, min_count_, 0, found_);
    const auto children = static_cast<uint32_t>(found_.size());
    const bool goes_on = length + 1 < max_length_;
    if (length > 1 || !is_deep) {
      known.itemsets += static_cast<double>(stands_for_) * children;
      if (children > 0) known.longest = std::max(known.longest, length + 1);
      if (children > 0 && goes_on) {
        const double joins = static_cast<double>(stands_for_) * children * (children - 1) / 2;
        known.joins += joins;
        known.branch_joins += joins * share_;
        known.extended += stands_for_ * (children - 1.0);
      }
    }
    sample_ns_ += kStep + (size - row - 1) * join_ns_;
    known.is_complete = known.is_complete && goes_on_(known, sample_ns_);
    if (is_deep && goes_on)
      for (uint32_t child = 0; child + 1 < children && known.is_complete; ++child) extend(child, children, length + 1, true);
    rows_.pop();
  }

  const SearchRoot& root_;
  HostLevels rows_;
  uint32_t min_count_;
  uint32_t max_length_;
  const SampleGoesOn& goes_on_;
  double join_ns_;
  double sample_ns_;
  uint32_t stands_for_ = 1;
  double share_ = 1;
  std::vector<JoinedItemset> found_;
};

/// What is known of the pairs of items. @param max_length  length of the longest itemset wanted
SearchOutline outline_of_pairs(const SearchRoot& root, uint32_t max_length) {
  SearchOutline pairs;
  if (max_length < 2) return pairs;
  double later = 0;
  double later_shares = 0;
  for (auto k = static_cast<uint32_t>(root.items.size()); k-- > 0;) {
    const RootItem item{k};
    if (k < root.leading && later > 0) {
      pairs.pairs += later;
      pairs.branch_joins += later * share_of(root, item);
      pairs.tails += later_shares * root.support_of(item);
      ++pairs.extended;
    }
    ++later;
    later_shares += share_of(root, item);
  }
  pairs.joins = pairs.pairs;
  return pairs;
}

}  // namespace

SearchOutline sample_search(const SearchRoot& root, uint32_t min_count, uint32_t max_length, const SampleGoesOn& goes_on,
                            const AndPopcountKernel& kernel, const ExecutionOptions& options) {
  const SearchOutline pairs = outline_of_pairs(root, max_length);
  const uint64_t distinct = root.as_masks ? root.masks.size() : root.lists.transactions().size();
  const uint64_t wanted = std::max(kMinTransactions, kMinAtThreshold * root.transactions / std::max(min_count, 1u));
  const uint64_t step = std::max<uint64_t>(1, distinct / wanted);
  double occurrences = 0;
  for (const uint32_t support : root.support) occurrences += support;
  occurrences *= static_cast<double>(distinct / step) / std::max(root.transactions, 1u);
  const double bytes = static_cast<double>(root.items.size() * (distinct / step)) / 8;
  const double sample_ns = static_cast<double>(distinct) * kTransaction + occurrences * kOccurrence + bytes * kRowByte;
  if (pairs.joins == 0 || !goes_on(pairs, sample_ns)) return pairs;
  Sampled sampled = sample(root, step, kernel, options);
  const auto scaled = static_cast<uint32_t>(std::max(1.0, std::round(min_count * sampled.share)));
  Sampler sampler(root, HostLevels(std::move(sampled.bits), options), scaled, max_length, goes_on, kernel, pairs, sample_ns);
  sampler.search();
  return sampler.known;
}

}  // namespace batmap
