// The nodes on lists, on masks and on tables. See depth_first.h.
#include "itemsets/search/depth_first.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <span>
#include <utility>

namespace batmap {

namespace {

// A node's transactions become bit rows if at least kBitRowsFrom are distinct, more than kUnmergedShare of the
// transactions stayed distinct, and they hold more than kDenseShare of the candidates on average. Source of the
// values: bench/itemset_peers.cpp, the random instances.
constexpr size_t kBitRowsFrom = 1024;
constexpr double kUnmergedShare = 0.8;
constexpr double kDenseShare = 0.1;

}  // namespace

DepthFirst::DepthFirst(const SearchRoot& root, const SearchBounds& bounds, uint32_t max_length, const MaskKernel& kernel,
                       const AndPopcountKernel& bits, ItemsetVisitor& visitor, const ExecutionOptions& options)
    : root_(root),
      bounds_(bounds),
      max_length_(max_length),
      kernel_(kernel),
      bits_(bits),
      visitor_(visitor),
      options_(options),
      poll_(options.cancel),
      counts_(*options.memory, root.as_masks ? 0 : root.items.size(), Fill::kZero),
      positions_(*options.memory, root.as_masks ? 0 : root.items.size(), Fill::kZero),
      masks_(*options.memory),
      pairs_(bits, options) {
  for (const Rank rank : root.perfect) visitor_.push_perfect(rank);
  if (root.as_masks) return;
  for (uint32_t k = 0; k < root.items.size(); ++k)
    candidates_.push_back({k, root.rank_of(RootItem{k}), root.support_of(RootItem{k})});
}

void DepthFirst::search(RootItem first, RootItem last) {
  if (first == RootItem{0}) visitor_.visit_perfect(root_.transactions);
  const RootItem masked = root_.first_masked;
  if (first < std::min(last, masked)) {
    if (!root_rows_asked_) make_root_rows();
    walk_lists(root_.lists, root_.items.size(), index_of(first), index_of(std::min(last, masked)), 0);
  }
  if (std::max(first, masked) >= last) return;

  if (!root_made_) make_root();
  const uint64_t branches = masked_before(root_, last) & ~masked_before(root_, std::max(first, masked));
  const uint64_t all = below(root_.items.size() - index_of(masked));
  const uint32_t* const support = root_.support.data() + index_of(masked);
  if (root_.is_leaf())
    extend_masks(0, masks_.size(), 0, all, support, 0);
  else
    walk_masks(0, masks_.size(), all, branches, support, 0);
}

/// Makes the root's masks: of all its items, or of those from first_masked on.
void DepthFirst::make_root() {
  root_made_ = true;
  const RootItem masked = root_.first_masked;
  std::copy(root_.items.begin() + index_of(masked), root_.items.end(), mask_ranks_);
  if (root_.as_masks) return masks_.append(root_.masks.list(0, root_.masks.size()));
  masks_.start();
  for (const MergedTransaction& t : root_.lists.transactions()) {
    const RootItem* const items = root_.lists.data() + t.begin;
    uint64_t mask = 0;
    for (uint32_t k = t.length; k > 0 && items[k - 1] >= masked; --k)
      mask |= uint64_t{1} << (index_of(items[k - 1]) - index_of(masked));
    if ((mask & (mask - 1)) != 0) masks_.add(mask, t.weight);  // the support of single items is known
    poll_.after(t.length);
  }
}

// ---- lists

/// Searches the nodes of the candidates [first, last). All candidates of the lists lie on top of the stack, and the
/// lists call a candidate by its index there.
template <typename Item>
void DepthFirst::walk_lists(const TransactionLists<Item>& lists, size_t candidates, uint32_t first, uint32_t last,
                            uint32_t length) {
  constexpr bool kHasRows = std::same_as<Item, RootItem>;  // only the root has bit rows
  const size_t own = candidates_.size() - candidates;
  for (uint32_t k = first; k < last; ++k) {
    const Candidate candidate = candidates_[own + k];
    if (!bounds_.reaches(length + 1, candidate.support)) continue;
    const Item item{k};
    const size_t perfect = visitor_.perfect();
    const size_t tails = lists.tails_of(item).size();
    const auto count_children = [&] {
      if constexpr (kHasRows)
        if (root_rows_ && rows_pay(candidates - k - 1, tails)) return count_rows(item, candidates, candidate.support);
      return count_tails(lists, item, candidates, candidate.support);
    };
    const size_t children = length + 1 < max_length_ ? count_children() : 0;
    visitor_.visit(candidate.rank, length + 1, candidate.support);
    bool goes_on = children != 0;
    if constexpr (kHasRows) goes_on = goes_on && !extend_rows(item, tails, children);
    if (goes_on) extend_lists(lists, item, children, length + 1);
    candidates_.resize(own + candidates);
    visitor_.shrink_perfect(perfect);
  }
}

/// Makes bit rows of the root, unless they take more memory than the lists or than this thread's part
/// of a quarter of the free memory.
void DepthFirst::make_root_rows() {
  root_rows_asked_ = true;
  const TransactionLists<RootItem>& lists = root_.lists;
  uint64_t columns = 0;
  for (const auto& transaction : lists.transactions()) columns += static_cast<uint64_t>(std::popcount(transaction.weight));
  const uint64_t bytes = root_.items.size() * columns / 8;
  const uint64_t room = options_.memory->available() / 4 / static_cast<uint64_t>(std::max(options_.threads, 1));
  if (bytes > lists.occurrences() * sizeof(uint32_t) || bytes > room) return;
  mean_tail_ = static_cast<double>(lists.occurrences()) / static_cast<double>(lists.transactions().size()) / 2;
  root_rows_.emplace(WeightedBits(root_, bits_, options_), options_);
}

/// Is it faster to read `rows` bit rows than to read `tails` tails of the root, at one nanosecond an item?
bool DepthFirst::rows_pay(size_t rows, size_t tails) const {
  return static_cast<double>(rows * root_rows_->words()) < bits_.row_words_per_ns * static_cast<double>(tails) * mean_tail_;
}

/// As count_tails(), for an item of the root, by bit rows.
size_t DepthFirst::count_rows(RootItem item, size_t candidates, uint32_t support) {
  const size_t before = candidates_.size();
  const size_t own = before - candidates;
  const uint32_t row = index_of(item);
  const size_t later = candidates - row - 1;
  root_rows_->count_later(row, later, counts_.data());
  for (size_t k = 0; k < later; ++k) {
    const uint32_t both = std::exchange(counts_[k], 0u);
    if (both < threshold()) continue;
    const auto other = static_cast<uint32_t>(row + 1 + k);
    if (both == support)
      visitor_.push_perfect(candidates_[own + other].rank);
    else
      candidates_.push_back({other, candidates_[own + other].rank, both});
  }
  return candidates_.size() - before;
}

/// Searches the node of an item of the root by bit rows, if it has so few candidates that this is
/// cheaper. They lie on top of the stack.
/// @return false if it is not cheaper; then nothing was searched
bool DepthFirst::extend_rows(RootItem item, size_t tails, size_t candidates) {
  if (!root_rows_ || candidates == 1 || candidates > kLeafItems || !rows_pay(size_t{1} << candidates, tails)) return false;
  std::vector<JoinedItemset> positions;
  std::vector<BitRowSearch::Candidate> rows;
  for (size_t k = candidates_.size() - candidates; k < candidates_.size(); ++k) {
    positions.push_back({index_of(item), candidates_[k].index, candidates_[k].support});
    rows.push_back({candidates_[k].rank, candidates_[k].support});
  }
  root_rows_->push(positions);
  BitRowSearch search(*root_rows_, bounds_, max_length_, visitor_);
  search.search(rows, rows.size(), 1, true);  // at most kLeafItems candidates: a leaf
  root_rows_->pop();
  return true;
}

/// Counts the items behind `item`. Pushes the frequent ones on the stack of candidates, ascending, and the
/// perfect ones on the visitor's stack.
/// @return how many candidates were pushed
template <typename Item>
size_t DepthFirst::count_tails(const TransactionLists<Item>& lists, Item item, size_t candidates, uint32_t support) {
  const std::span<const WeightedTail> tails = lists.tails_of(item);
  const Item* const data = lists.data();
  uint32_t* const counts = counts_.data();
  const size_t own = candidates_.size() - candidates;
  const size_t before = candidates_.size();
  const auto tail_at = [&](size_t t) {
    return WeightedItems<Item>{{data + tails[t].begin, tails[t].length}, tails[t].weight};
  };
  const uint64_t increments = count_items(counts, tails.size(), threshold(), poll_, tail_at, [&](Item other) {
    candidates_.push_back({index_of(other), Rank{}, 0});
  });
  std::sort(candidates_.begin() + static_cast<ptrdiff_t>(before), candidates_.end(),
            [](const Candidate& x, const Candidate& y) { return x.index < y.index; });
  for (size_t k = before; k < candidates_.size(); ++k) {
    Candidate& found = candidates_[k];
    found.rank = candidates_[own + found.index].rank;
    found.support = counts[found.index];
  }
  clear_counts(counts, {counts + index_of(item) + 1, counts + candidates}, increments, tails.size(), tail_at);
  size_t kept = before;
  for (size_t k = before; k < candidates_.size(); ++k) {
    if (candidates_[k].support == support)
      visitor_.push_perfect(candidates_[k].rank);
    else
      candidates_[kept++] = candidates_[k];
  }
  candidates_.resize(kept);
  return kept - before;
}

/// Searches the node of `item`. Its candidates lie on top of the stack.
template <typename Item>
void DepthFirst::extend_lists(const TransactionLists<Item>& lists, Item item, size_t candidates, uint32_t length) {
  const size_t own = candidates_.size() - candidates;
  if (candidates == 1) {
    visitor_.visit(candidates_[own].rank, length + 1, candidates_[own].support);
    return;
  }
  const std::span<const WeightedTail> tails = lists.tails_of(item);
  const Item* const data = lists.data();
  uint64_t* const positions = positions_.data();
  const auto forget_positions = [&] {
    for (size_t k = own; k < own + candidates; ++k) positions[candidates_[k].index] = 0;
  };
  if (candidates <= kMaskItems) {
    for (size_t k = 0; k < candidates; ++k) positions[candidates_[own + k].index] = uint64_t{1} << k;
    const auto for_each_mask = [&](auto take) {
      for (size_t t = 0; t < tails.size(); ++t) {
        if (t + kPrefetchAhead < tails.size()) __builtin_prefetch(data + tails[t + kPrefetchAhead].begin);
        const WeightedTail& tail = tails[t];
        uint64_t mask = 0;
        for (uint32_t k = 0; k < tail.length; ++k) mask |= positions[index_of(data[tail.begin + k])];
        if ((mask & (mask - 1)) != 0) take(mask, tail.weight);  // the support of single items is known
        poll_.after(uint64_t{tail.length} + 1);
      }
    };
    if (candidates <= kLeafItems) {
      Rank ranks[kLeafItems];
      for (size_t k = 0; k < candidates; ++k) ranks[k] = candidates_[own + k].rank;
      uint32_t* const table = leaf_.clear(static_cast<int>(candidates));
      for_each_mask([&](uint64_t mask, uint32_t weight) { table[mask] += weight; });
      forget_positions();
      kernel_.sum_supersets(table, static_cast<int>(candidates));
      for (size_t k = 0; k < candidates; ++k) table[size_t{1} << k] = candidates_[own + k].support;
      write_leaf(ranks, static_cast<int>(candidates), length);
      return;
    }
    uint32_t support[kMaskItems];
    for (size_t k = 0; k < candidates; ++k) {
      mask_ranks_[k] = candidates_[own + k].rank;
      support[k] = candidates_[own + k].support;
    }
    const size_t from = masks_.size();
    masks_.start(tails.size());
    for_each_mask([&](uint64_t mask, uint32_t weight) { masks_.add(mask, weight); });
    forget_positions();
    const uint64_t all = ~uint64_t{0} >> (kMaskItems - candidates);
    search_masks(from, tails.size(), all, support, length);
    return;
  }
  for (size_t k = 0; k < candidates; ++k) positions[candidates_[own + k].index] = k + 1;
  TransactionLists<NodeItem> child(*options_.memory, tails.size());
  for (const WeightedTail& tail : tails) {
    NodeItem* const out = child.room(tail.length);
    size_t taken = 0;
    for (uint32_t k = 0; k < tail.length; ++k)
      if (const uint64_t position = positions[index_of(data[tail.begin + k])]; position != 0)
        out[taken++] = NodeItem{static_cast<uint32_t>(position - 1)};
    if (taken > 1) child.add(taken, tail.weight);
    poll_.after(4 * uint64_t{tail.length} + 1);
  }
  forget_positions();
  if (suits_bit_rows(tails.size(), child.transactions().size(), child.occurrences(), candidates)) {
    std::vector<BitRowSearch::Candidate> rows;
    for (size_t k = own; k < own + candidates; ++k) rows.push_back({candidates_[k].rank, candidates_[k].support});
    HostLevels levels(WeightedBits(child, candidates, bits_, options_), options_);
    BitRowSearch search(levels, bounds_, max_length_, visitor_);
    search.search(rows, candidates, length, false);
    return;
  }
  child.link(NodeItem{static_cast<uint32_t>(candidates)}, options_.cancel);
  walk_lists(child, candidates, 0, static_cast<uint32_t>(candidates), length);
}

// ---- masks

/// @param branches  the candidates whose nodes are wanted
void DepthFirst::walk_masks(size_t from, size_t to, uint64_t candidates, uint64_t branches, const uint32_t* support,
                            uint32_t length) {
  const uint32_t* const pairs = pairs_.push();
  const bool is_root = length == 0;
  if (length + 1 < max_length_ && !(is_root && root_counted_)) pairs_.count(masks_.list(from, to), candidates, poll_);
  root_counted_ |= is_root;
  for (uint64_t rest = branches; rest != 0; rest &= rest - 1) {
    const size_t item = lowest(rest);
    const uint32_t min_count = threshold();
    if (!bounds_.reaches(length + 1, support[item])) continue;
    const uint64_t self = uint64_t{1} << item;
    const uint32_t* const counts = pairs + item * kMaskItems;
    const size_t perfect = visitor_.perfect();
    uint64_t children = 0;
    if (length + 1 < max_length_)
      for (uint64_t later = candidates & ~(self | (self - 1)); later != 0; later &= later - 1) {
        const size_t other = lowest(later);
        if (counts[other] < min_count) continue;
        if (counts[other] == support[item])
          visitor_.push_perfect(mask_ranks_[other]);
        else
          children |= uint64_t{1} << other;
      }
    visitor_.visit(mask_ranks_[item], length + 1, support[item]);
    if (children != 0) extend_masks(from, to, self, children, counts, length + 1);
    visitor_.shrink_perfect(perfect);
  }
  pairs_.pop();
}

/// Searches the node of the transactions that have `with`. @param support  [64] of the candidates
void DepthFirst::extend_masks(size_t from, size_t to, uint64_t with, uint64_t candidates, const uint32_t* support,
                              uint32_t length) {
  const int items = std::popcount(candidates);
  if (items == 1) {
    const size_t item = lowest(candidates);
    visitor_.visit(mask_ranks_[item], length + 1, support[item]);
    return;
  }
  const WeightedMasks list = masks_.list(from, to);
  poll_.after(list.size);
  if (items <= kLeafItems) {
    uint32_t* const table = leaf_.clear(items);
    kernel_.project(list, with, candidates, table);
    kernel_.sum_supersets(table, items);
    Rank ranks[kLeafItems];
    int position = 0;
    for (uint64_t rest = candidates; rest != 0; rest &= rest - 1, ++position) {
      ranks[position] = mask_ranks_[lowest(rest)];
      table[size_t{1} << position] = support[lowest(rest)];
    }
    write_leaf(ranks, items, length);
    return;
  }
  masks_.start(list.size);
  size_t added = 0;
  for (size_t k = from; k < to; ++k) {
    const auto [mask, weight] = masks_.at(k);
    const uint64_t rest = mask & candidates;
    if ((mask & with) != with || (rest & (rest - 1)) == 0) continue;
    masks_.add(rest, weight);
    ++added;
  }
  search_masks(to, added, candidates, support, length);
}

/// Searches the node whose list begins at `from` and ends the stack of masks; then removes the list.
/// @param added  number of masks before equal ones were merged
void DepthFirst::search_masks(size_t from, size_t added, uint64_t candidates, const uint32_t* support, uint32_t length) {
  const WeightedMasks list = masks_.list(from, masks_.size());
  const auto items = static_cast<size_t>(std::popcount(candidates));
  uint64_t occurrences = 0;
  if (list.size >= kBitRowsFrom)
    for (size_t k = 0; k < list.size; ++k) occurrences += static_cast<uint64_t>(std::popcount(list.masks[k]));
  if (suits_bit_rows(added, list.size, occurrences, items)) {
    std::vector<BitRowSearch::Candidate> rows;
    for (uint64_t rest = candidates; rest != 0; rest &= rest - 1)
      rows.push_back({mask_ranks_[lowest(rest)], support[lowest(rest)]});
    HostLevels levels(WeightedBits(list, candidates, bits_, options_), options_);
    BitRowSearch search(levels, bounds_, max_length_, visitor_);
    search.search(rows, items, length, false);
  } else {
    walk_masks(from, masks_.size(), candidates, candidates, support, length);
  }
  masks_.shrink(from);
}

bool DepthFirst::suits_bit_rows(size_t transactions, size_t distinct, uint64_t occurrences, size_t candidates) const {
  return distinct >= kBitRowsFrom && static_cast<double>(distinct) > static_cast<double>(transactions) * kUnmergedShare &&
         static_cast<double>(occurrences) > static_cast<double>(distinct * candidates) * kDenseShare;
}

// ---- tables

void DepthFirst::write_leaf(const Rank* ranks, int items, uint32_t length) {
  const std::span<const LeafStep> order = leaf_order(items);
  for (size_t k = 0; k < order.size();) {
    const LeafStep step = order[k];
    const uint32_t support = leaf_.supports[step.subset];
    if (length + step.length > max_length_ || !bounds_.reaches(length + step.length, support)) {
      k += leaf_subtree(items, step);
      continue;
    }
    visitor_.visit(ranks[step.last], length + step.length, support);
    ++k;
  }
}

}  // namespace batmap
