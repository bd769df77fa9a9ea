// Random ways down the search tree. See itemset_forecast.h.
#include "itemsets/itemset_forecast.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

namespace batmap {

namespace {

/// @param masks  of a root
TransactionLists<RootItem> lists_of(const WeightedMasks& masks, MemoryMeter& meter) {
  TransactionLists<RootItem> lists(meter, masks.size);
  for (size_t k = 0; k < masks.size; ++k) {
    const auto length = static_cast<size_t>(std::popcount(masks.masks[k]));
    RootItem* out = lists.room(length);
    for (uint64_t rest = masks.masks[k]; rest != 0; rest &= rest - 1)
      *out++ = RootItem{static_cast<uint32_t>(std::countr_zero(rest))};
    lists.add(length, masks.weights[k]);
  }
  return lists;
}

}  // namespace

RandomWays::RandomWays(SearchRoot& root, uint32_t min_count, const ItemsetLengths& lengths, uint32_t max_support,
                       const ExecutionOptions& options)
    : root_(root),
      from_masks_(lists_of(root.masks.list(0, root.masks.size()), *options.memory)),
      lists_(root.as_masks ? from_masks_ : root.lists),
      min_count_(min_count),
      lengths_(lengths),
      max_support_(max_support),
      poll_(options.cancel),
      perfect_(root.perfect.size()),
      sums_(*options.memory, root.leading, Fill::kZero),
      squares_(*options.memory, root.leading, Fill::kZero),
      count_(*options.memory, root.items.size(), Fill::kZero),
      is_perfect_(*options.memory, root.items.size(), Fill::kZero) {
  lists_.link(RootItem{static_cast<uint32_t>(root.items.size())}, options.cancel);
}

void RandomWays::round() {
  for (uint32_t item = 0; item < root_.leading; ++item) {
    const double itemsets = walk(RootItem{item});
    sums_[item] += itemsets;
    squares_[item] += itemsets * itemsets;
    for (const RootItem flagged : std::exchange(flagged_, {})) is_perfect_[index_of(flagged)] = false;
    perfect_ = root_.perfect.size();
  }
  ++rounds_;
}

ItemsetForecast RandomWays::forecast() const {
  const auto n = static_cast<double>(rounds_);
  double itemsets = with_perfect(0, root_.transactions);
  double variance = 0;
  for (uint32_t item = 0; item < root_.leading; ++item) {
    const double mean = sums_[item] / n;
    itemsets += mean;
    variance += std::max(0.0, squares_[item] / n - mean * mean) / (n - 1);
  }
  return {itemsets, std::sqrt(variance), rounds_ * root_.leading};
}

double RandomWays::with_perfect(uint32_t length, uint32_t support) const {
  if (support > max_support_) return 0;
  double itemsets = 0;
  double subsets = 1;  // perfect_ over k
  for (size_t k = 0; k <= perfect_ && length + k <= lengths_.max; ++k) {
    if (length + k >= lengths_.min) itemsets += subsets;
    subsets *= static_cast<double>(perfect_ - k) / static_cast<double>(k + 1);
  }
  return itemsets;
}

/// Draws one of extensions_, which ascend. An extension has more itemsets below it the more items follow it, and
/// the larger the share of the transactions that it keeps. So the odds are (1 + share / 2) to the power of the
/// number of items that follow. The factor 1/2 was the best of 1/4, 1/2 and 1 on the data of bench/sql/itemsets.sh.
RandomWays::Extension RandomWays::draw(uint32_t support) {
  const size_t count = extensions_.size();
  odds_.resize(count);
  double largest = 0;
  for (size_t k = 0; k < count; ++k) {
    odds_[k] = std::log1p(0.5 * extensions_[k].support / support) * static_cast<double>(count - 1 - k);
    largest = std::max(largest, odds_[k]);
  }
  double all = 0;
  for (double& odds : odds_) all += odds = std::exp(odds - largest);
  double left = static_cast<double>(random_() >> 11) * 0x1p-53 * all;
  size_t k = 0;
  while (k + 1 < count && left >= odds_[k]) left -= odds_[k++];
  return {extensions_[k].item, extensions_[k].support, all / odds_[k]};
}

double RandomWays::walk(RootItem item) {
  uint32_t support = root_.support_of(item);
  const std::span<const WeightedTail> tails = lists_.tails_of(item);
  tails_.assign(tails.begin(), tails.end());
  double itemsets = 0;
  double stands_for = 1;
  for (uint32_t length = 1;; ++length) {
    uint64_t work = 64;
    for (const WeightedTail& tail : tails_) {
      for (uint32_t k = tail.begin; k < tail.begin + tail.length; ++k) {
        const RootItem other = lists_.data()[k];
        if (count_[index_of(other)] == 0) counted_.push_back(other);
        count_[index_of(other)] += tail.weight;
      }
      work += tail.length;
    }
    poll_.after(work);
    extensions_.clear();
    for (const RootItem other : counted_) {
      const uint32_t with_other = std::exchange(count_[index_of(other)], 0);
      if (with_other < min_count_ || is_perfect_[index_of(other)]) continue;
      if (with_other == support) {
        is_perfect_[index_of(other)] = true;
        flagged_.push_back(other);
        ++perfect_;
      } else {
        extensions_.push_back({other, with_other, 0});
      }
    }
    counted_.clear();
    itemsets += stands_for * with_perfect(length, support);
    if (extensions_.empty() || length == lengths_.max) return itemsets;

    std::ranges::sort(extensions_, {}, &Extension::item);
    const Extension chosen = draw(support);
    item = chosen.item;
    support = chosen.support;
    stands_for *= chosen.one_in;
    size_t kept = 0;
    for (const WeightedTail& tail : tails_) {
      const RootItem* const begin = lists_.data() + tail.begin;
      const RootItem* const at = std::lower_bound(begin, begin + tail.length, item);
      if (at == begin + tail.length || *at != item) continue;
      const auto before = static_cast<uint32_t>(at - begin) + 1;
      if (tail.length > before) tails_[kept++] = {tail.begin + before, tail.length - before, tail.weight};
    }
    tails_.resize(kept);
  }
}

}  // namespace batmap
