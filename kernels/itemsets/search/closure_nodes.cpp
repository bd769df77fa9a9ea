// Items passed over: on lists, on masks, and in tables. See closure_nodes.h.
#include "itemsets/search/closure_nodes.h"

#include <algorithm>
#include <bit>

namespace batmap {

namespace {

// The items passed over share bits if a mask has at most so many transactions on average.
constexpr size_t kUnmerged = 4;
// A node on masks copies the masks of each candidate if a mask has at most one of so many candidates on average.
// Source: bench/itemset_peers.cpp, T10I4D100K and chess.
constexpr size_t kSparseMasks = 3;
constexpr size_t kSampledMasks = 64;  // the average is that of the first masks
// A node is sparse if the rows of its candidates, each read once for each candidate, have more words than so many for each
// occurrence of a candidate. Source: bench/itemset_peers.cpp, T10I4D100K; 4 and 20 are as fast or slower there.
constexpr uint64_t kWordsPerOccurrence = 8;

}  // namespace

ClosureNodes::ClosureNodes(const TargetSearchInput& input, bool keeps_pairs)
    : TargetNodes(input),
      head_bit_(*options_.memory, counts_.size()),
      leaf_subset_(*options_.memory, kBitTransactions),
      bit_before_(*options_.memory, kBitTransactions),
      bit_transaction_(*options_.memory, kBitTransactions),
      bit_items_(*options_.memory),
      bit_rows_(*options_.memory),
      bit_supports_(*options_.memory),
      heads_(*options_.memory),
      shared_heads_(*options_.memory),
      head_items_(*options_.memory),
      passed_(*options_.memory) {
  perfect_ = root_.perfect;
  for (size_t item = 0; item < head_bit_.size(); ++item) head_bit_[item] = head_bit(item);
  // At most as much memory as the lists take.
  pair_words_ = (head_bit_.size() + 63) / 64;
  if (keeps_pairs && 2 * pair_words_ * head_bit_.size() <= root_.lists.occurrences())
    pairs_behind_ = Buffer<uint64_t>(*options_.memory, pair_words_ * head_bit_.size(), Fill::kZero);
}

// ---- lists

void ClosureNodes::walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                              uint32_t) {
  for (size_t k = first; k < last; ++k)
    if (const ListNode node{lists.list(k), candidates[k].item}; candidates[k].support >= threshold() && !is_covered(node)) {
      std::vector<Candidate> children = frequent_items(node.occurrences);
      extend_lists(node, candidates[k], children);
    }
}

/// Is there an item, among those passed over, that all of the node's transactions have?
bool ClosureNodes::is_covered(const ListNode& node) {
  CommonItems common(*this);
  for (size_t k = 0; k < node.size(); ++k)
    if (!common.keep(before(node, k))) return false;
  return true;
}

/// Searches the node of the path and a candidate. @param children  the frequent items behind it
void ClosureNodes::extend_lists(const ListNode& node, const Candidate& candidate, std::vector<Candidate>& children) {
  const size_t before = path_.size();
  push(candidate.item);
  std::erase_if(children, [&](const Candidate& child) {
    if (child.support == candidate.support) push(child.item);
    return child.support == candidate.support;
  });
  if (projected_depth_ == 0) add_perfect_pairs(std::span(path_).subspan(before + 1), children);
  const auto leave_out = [&](bool out) {
    for (size_t k = before; k < path_.size(); ++k) {
      const size_t item = index_of(path_[k]);
      left_out_[item] = out;
      head_bit_[item] = out ? 0 : head_bit(item);
    }
  };
  leave_out(true);
  visit_lists(node, children, candidate.support);
  leave_out(false);
  pop(before);
}

void ClosureNodes::search_below(const ListNode& node, std::span<const Candidate> candidates, uint32_t support) {
  uint64_t occurrences = 0;
  for (const Candidate& candidate : candidates) occurrences += candidate.support;
  const size_t size = candidates.size();
  const bool is_sparse =
      size > static_cast<size_t>(kLeafItems) && size * size * ((support + 63) / 64) > kWordsPerOccurrence * occurrences;
  const bool is_projected = support <= kBitTransactions ? is_sparse : is_sparse || size > kMaskItems;
  if (is_projected) return search_projected(node, candidates, support);
  if (support <= kBitTransactions)
    return size <= static_cast<size_t>(kLeafItems) ? search_table(node, candidates, support)
                                                   : search_bits(node, candidates, support);
  if (projected_depth_ == 0) add_all_pairs(candidates);
  if (node.lists == nullptr) return search_lists(node.occurrences, candidates, support);
  Buffer<ItemOccurrence> own(*options_.memory, node.size());
  for (size_t k = 0; k < own.size(); ++k) {
    own[k] = node.transaction(k);
    own[k].at = own[k].begin + static_cast<uint32_t>(before(node, k).size());
  }
  search_lists(own.span(), candidates, support);
}

/// The pairs of these candidates of a branch may be frequent with its first item.
void ClosureNodes::add_all_pairs(std::span<const Candidate> candidates) {
  if (candidates.size() > 1) pairs_are_exact_ = false;
  for (size_t a = 0; a < candidates.size(); ++a)
    for (size_t b = a + 1; b < candidates.size(); ++b) add_pair(candidates[a].item, candidates[b].item);
}

/// The same for pairs with a perfect extension of a branch, which are frequent.
void ClosureNodes::add_perfect_pairs(std::span<const RootItem> perfect, std::span<const Candidate> children) {
  if (pairs_behind_.empty()) return;
  for (size_t k = 0; k < perfect.size(); ++k) {
    for (const RootItem other : perfect.subspan(k + 1)) add_pair(perfect[k], other);
    for (const Candidate& child : children) add_pair(std::min(perfect[k], child.item), std::max(perfect[k], child.item));
    poll_.after(perfect.size() + children.size());
  }
}

/// Is an item before both frequent with the pair?
ClosureNodes::Passed ClosureNodes::passed_over(RootItem a, RootItem b) const {
  if (pairs_behind_.empty()) return Passed::kUnknown;
  if ((pairs_behind_[index_of(a) * pair_words_ + index_of(b) / 64] >> index_of(b) % 64 & 1) == 0) return Passed::kNone;
  return pairs_are_exact_ ? Passed::kFrequent : Passed::kUnknown;
}

/// Searches the candidates of the path's node in its transactions, which are projected to them.
void ClosureNodes::search_projected(const ListNode& node, std::span<const Candidate> candidates, uint32_t support) {
  const size_t size = candidates.size();
  if (projected_.size() == projected_depth_) projected_.push_back(std::make_unique<ProjectedLists>(options_));
  ProjectedLists& lists = *projected_[projected_depth_++];
  std::vector<RootItem> items(size);
  for (size_t k = 0; k < size; ++k) {
    items[k] = candidates[k].item;
    index_[index_of(items[k])] = static_cast<uint32_t>(k + 1);
  }
  const auto bits = head_bit_.span();
  if (node.lists != nullptr)
    lists.project(*node.lists, node.projected, node.occurrences, support, index_.span(), bits, items);
  else
    lists.project(root_.lists, node.occurrences, support, index_.span(), bits, items);
  for (const RootItem item : items) index_[index_of(item)] = 0;

  Buffer<uint32_t> counts(*options_.memory, lists.counts_pairs() ? 0 : size + ProjectedLists::kEnds, Fill::kZero);
  std::vector<NodeItem> found;
  std::vector<Candidate> children;
  std::vector<bool> is_child(size);  // of a candidate before it
  const bool is_branch = projected_depth_ == 1;
  const RootItem first = path_.front();
  for (size_t k = 0; k < size; ++k) {
    const uint32_t min_count = threshold();
    if (candidates[k].support < min_count) continue;
    const NodeItem own{static_cast<uint32_t>(k)};
    ListNode child{node.occurrences, items[k], &lists, lists.list(own)};
    if (is_child[k])
      child.passed = Passed::kFrequent;
    else if (is_branch)
      child.passed = passed_over(first, items[k]);
    else if (node.passed == Passed::kNone)
      child.passed = Passed::kNone;
    const auto take = [&](NodeItem item, uint32_t count) {
      children.push_back({items[index_of(item)], count});
      is_child[index_of(item)] = true;
      if (is_branch) add_pair(items[k], items[index_of(item)]);
    };
    if (lists.counts_pairs()) {
      lists.visit_frequent_behind(own, min_count, take);
    } else {
      std::fill(counts.end() - ProjectedLists::kEnds, counts.end(), min_count);  // so that the ends are never found
      for (const ProjectedOccurrence& occurrence : child.projected) {
        const uint32_t weight = node.occurrences[occurrence.transaction].weight;
        // Copies: what is captured by reference is loaded again after each store.
        lists.visit_behind(occurrence, [to = counts.data(), weight, min_count, &found](NodeItem item, size_t) {
          const uint32_t count = to[index_of(item)] += weight;
          if (count - min_count < weight) [[unlikely]]
            found.push_back(item);
        });
      }
      std::sort(found.begin(), found.end());
      for (const NodeItem item : found) take(item, counts[index_of(item)]);
      std::fill_n(counts.begin() + k, size - k, 0u);
      found.clear();
    }
    poll_.after(4 * child.projected.size() + size);
    if (lists.common(own) == 0 || !is_covered(child)) extend_lists(child, candidates[k], children);
    children.clear();
  }
  --projected_depth_;
}

// ---- from lists to masks

bool ClosureNodes::make_masks(const NodeTransactions& transactions, std::span<const Candidate> candidates) {
  passed_.shrink(0);
  give_bits(candidates);
  const bool goes_on = begin_masks(candidates);
  if (goes_on) {
    heads_.shrink(0);
    add_masks(transactions, [this](std::span<const RootItem> before, size_t mask) {
      heads_.push_back({before.data(), static_cast<uint32_t>(before.size()), static_cast<uint32_t>(mask)});
    });
  }
  forget_bits(candidates);
  if (!goes_on) return false;
  heads_share_bits_ = !transactions.is_root && heads_.size() <= kUnmerged * masks_.size();
  if (heads_share_bits_) {
    share_bits();
  } else {
    shared_heads_.shrink(0);
    head_items_.shrink(0);
    for (const Head& head : heads_) share_head({head.items, head.length}, head.mask);
    number_heads(candidates.size());
  }
  return true;
}

/// Adds a word with the common bits of the items passed over to each mask.
void ClosureNodes::share_bits() {
  words_ = 2;
  make_passed();
  for (size_t mask = 0; mask < masks_.size(); ++mask) passed_[2 * mask + 1] = ~uint64_t{0};
  for (const Head& head : heads_) {
    uint64_t bits = 0;
    for (uint32_t k = 0; k < head.length; ++k) bits |= head_bit_[index_of(head.items[k])];
    passed_[2 * head.mask + 1] &= bits;
    poll_.after(head.length);
  }
}

/// Is there an item, among those passed over before the first node on masks, that all of its transactions with these
/// bits have?
bool ClosureNodes::is_covered_by_heads(uint64_t bits) {
  CommonItems common(*this);
  poll_.after(heads_.size());
  for (const Head& head : heads_)
    if (contains(masks_.at(head.mask).mask, bits) && !common.keep({head.items, head.length})) return false;
  return true;
}

/// Makes room in passed_ and passed_table_ for words_ words, zero in passed_.
void ClosureNodes::make_passed() {
  if (passed_table_.size() < words_ * LeafTable::kSize)
    passed_table_ = Buffer<uint64_t>(*options_.memory, words_ * LeafTable::kSize);
  std::fill_n(passed_.room(words_ * masks_.size()), words_ * masks_.size(), 0u);
  passed_.add(words_ * masks_.size());
}

/// Reduces the items passed over to those that all transactions of a mask have. @param mask  index of the mask
void ClosureNodes::share_head(std::span<const RootItem> before, size_t mask) {
  const bool is_first = mask == shared_heads_.size();
  if (!is_first && shared_heads_[mask].length == 0) return;
  poll_.after(before.size());
  if (is_first) {
    RootItem* const out = head_items_.room(before.size());
    const auto end =
        std::copy_if(before.begin(), before.end(), out, [&](RootItem item) { return !left_out_[index_of(item)]; });
    shared_heads_.push_back({head_items_.size(), static_cast<size_t>(end - out)});
    head_items_.add(static_cast<size_t>(end - out));
    return;
  }
  const std::span head(head_items_.begin() + shared_heads_[mask].begin, shared_heads_[mask].length);
  shared_heads_[mask].length = keep_common(head, before);
}

/// Gives the frequent items of the heads bits behind those of the candidates.
void ClosureNodes::number_heads(size_t candidates) {
  const auto each_head = [&](auto visit) {
    for (size_t mask = 0; mask < shared_heads_.size(); ++mask)
      for (size_t k = 0; k < shared_heads_[mask].length; ++k) visit(mask, head_items_[shared_heads_[mask].begin + k]);
    poll_.after(head_items_.size());
  };
  each_head([&](size_t mask, RootItem item) { counts_[index_of(item)] += masks_.at(mask).weight; });
  const uint32_t min_count = threshold();
  auto bits = static_cast<uint32_t>(candidates);
  each_head([&](size_t, RootItem item) {
    if (counts_[index_of(item)] >= min_count && index_[index_of(item)] == 0) index_[index_of(item)] = ++bits;
  });
  words_ = (bits + 63) / 64;
  make_passed();
  uint64_t* const passed = passed_.begin();
  each_head([&](size_t mask, RootItem item) {
    if (const uint32_t index = index_[index_of(item)]; index != 0)
      passed[mask * words_ + (index - 1) / 64] |= uint64_t{1} << (index - 1) % 64;
  });
  each_head([&](size_t, RootItem item) { counts_[index_of(item)] = index_[index_of(item)] = 0; });
}

void ClosureNodes::take_root_masks() {
  words_ = 1;
  make_passed();
}

// ---- masks

/// @param shared  [words_] items that were passed over before this node @param passed  those passed over at this node
void ClosureNodes::add_mask(uint64_t mask, uint32_t weight, const uint64_t* shared, uint64_t passed) {
  const size_t index = masks_.add(mask, weight);
  if (index * words_ == passed_.size()) {
    for (size_t w = 0; w < words_; ++w) passed_.push_back(~uint64_t{0});
  }
  uint64_t* const own = passed_.begin() + index * words_;
  own[0] &= shared[0] | passed;
  for (size_t w = 1; w < words_; ++w) own[w] &= shared[w];
}

/// Is there an item, among those passed over, that all transactions with `with` have?
/// @param passed  items passed over at this node
bool ClosureNodes::is_covered(size_t from, size_t to, uint64_t with, uint64_t passed) {
  for (size_t w = 0; w < words_; ++w) {
    uint64_t shared = ~uint64_t{0};
    for (size_t k = from; k < to && shared != 0; ++k) {
      const uint64_t mask = masks_.at(k).mask;
      if (contains(mask, with)) shared &= passed_[k * words_ + w] | (w == 0 ? mask & passed : 0);
    }
    poll_.after(to - from);
    if (shared != 0) return is_exact(w) || is_covered_by_heads(path_bits_ | with);
  }
  return false;
}

void ClosureNodes::walk_masks(const MaskNode& node, uint64_t branches) {
  const uint32_t* const pairs = pairs_.push();
  const bool is_root = path_.empty();
  if (!(is_root && root_counted_)) pairs_.count(masks_.list(node.from, node.to), node.candidates, poll_);
  root_counted_ |= is_root;
  const MasksOfItems own_masks = branches == node.candidates ? masks_of_items(node) : MasksOfItems{};
  for (uint64_t rest = branches; rest != 0; rest &= rest - 1) {
    const size_t item = lowest(rest);
    const uint64_t self = uint64_t{1} << item;
    const uint32_t min_count = threshold();
    const uint32_t support = node.supports[item];
    if (support < min_count) continue;
    const uint64_t passed = node.candidates & (self - 1);
    const auto [from, to] = own_masks.begin.empty() ? std::pair(node.from, node.to) : copy_masks(node, own_masks, item);
    if (is_covered(from, to, self, passed)) {
      drop_masks(node.to);
      continue;
    }
    const uint32_t* const counts = pairs + item * kMaskItems;
    uint64_t perfect = 0;
    uint64_t children = 0;
    for (uint64_t later = node.candidates & ~(self | (self - 1)); later != 0; later &= later - 1) {
      const size_t other = lowest(later);
      if (counts[other] >= min_count) (counts[other] == support ? perfect : children) |= uint64_t{1} << other;
    }
    const uint64_t path_bits = path_bits_;
    path_bits_ |= self | perfect;
    visit_masks({.from = from,
                 .to = to,
                 .with = self | perfect,
                 .passed = passed,
                 .candidates = children,
                 .supports = counts,
                 .support = support});
    path_bits_ = path_bits;
    drop_masks(node.to);
  }
  pairs_.pop();
}

/// The masks of each candidate, if they are few against all. Else empty.
ClosureNodes::MasksOfItems ClosureNodes::masks_of_items(const MaskNode& node) {
  MasksOfItems of;
  const size_t sampled = std::min(node.to, node.from + kSampledMasks);
  size_t bits = 0;
  for (size_t k = node.from; k < sampled; ++k) bits += static_cast<size_t>(std::popcount(masks_.at(k).mask));
  if (kSparseMasks * bits > static_cast<size_t>(std::popcount(node.candidates)) * (sampled - node.from)) return of;
  of.begin.resize(kMaskItems + 1);
  for (size_t k = node.from; k < node.to; ++k)
    for (uint64_t rest = masks_.at(k).mask; rest != 0; rest &= rest - 1) ++of.begin[lowest(rest) + 1];
  poll_.after(4 * (node.to - node.from));
  for (size_t item = 0; item < kMaskItems; ++item) of.begin[item + 1] += of.begin[item];
  of.masks = Buffer<uint32_t>(*options_.memory, of.begin[kMaskItems]);
  for (size_t k = node.from; k < node.to; ++k)
    for (uint64_t rest = masks_.at(k).mask; rest != 0; rest &= rest - 1)
      of.masks[of.begin[lowest(rest)]++] = static_cast<uint32_t>(k);
  for (size_t item = kMaskItems; item > 0; --item) of.begin[item] = of.begin[item - 1];
  of.begin[0] = 0;
  return of;
}

/// Copies the masks of an item behind those of the node. @return where they are
std::pair<size_t, size_t> ClosureNodes::copy_masks(const MaskNode& node, const MasksOfItems& of, size_t item) {
  const std::span own(of.masks.data() + of.begin[item], of.begin[item + 1] - of.begin[item]);
  uint64_t* const passed = passed_.room(own.size() * words_);
  for (size_t k = 0; k < own.size(); ++k) {
    masks_.push(masks_.at(own[k]));
    for (size_t w = 0; w < words_; ++w) passed[k * words_ + w] = passed_[own[k] * words_ + w];
  }
  passed_.add(own.size() * words_);
  poll_.after(own.size());
  return {node.to, masks_.size()};
}

void ClosureNodes::drop_masks(size_t size) {
  masks_.shrink(size);
  passed_.shrink(size * words_);
}

void ClosureNodes::extend_masks(const MaskNode& node) {
  if (std::popcount(node.candidates) <= kLeafItems) return search_table(node);
  masks_.start(node.to - node.from);
  std::vector<uint64_t> shared(words_);
  for (size_t k = node.from; k < node.to; ++k) {
    const auto [mask, weight] = masks_.at(k);
    if (!contains(mask, node.with) || (mask & node.candidates) == 0) continue;
    for (size_t w = 0; w < words_; ++w) shared[w] = passed_[k * words_ + w];
    add_mask(mask & node.candidates, weight, shared.data(), mask & node.passed);
  }
  walk_added_masks(node);
  passed_.shrink(node.to * words_);
}

// ---- tables

namespace {

/// Turns bits of each subset into those that all its supersets have, itself among them. @param size  the number of subsets
void intersect_supersets(uint64_t* table, size_t size) {
  for (size_t bit = 1; bit < size; bit *= 2)
    for (size_t block = 0; block < size; block += 2 * bit)
      for (size_t k = block; k < block + bit; ++k) table[k] &= table[k + bit];
}

}  // namespace

void ClosureNodes::search_table(const MaskNode& node) {
  const size_t size = size_t{1} << std::popcount(node.candidates);
  for (size_t w = 0; w < words_; ++w) std::fill_n(passed_table_.begin() + w * LeafTable::kSize, size, ~uint64_t{0});
  fill_table(node, [&](size_t begin, const WeightedMasks& list, const uint8_t* indexes) {
    for (size_t w = 0; w < words_; ++w)
      for (size_t k = 0; k < list.size; ++k) {
        const uint64_t shared = passed_[(begin + k) * words_ + w] | (w == 0 ? list.masks[k] & node.passed : 0);
        passed_table_[w * LeafTable::kSize + indexes[k]] &= contains(list.masks[k], node.with) ? shared : ~uint64_t{0};
      }
  });
  for (size_t w = 0; w < words_; ++w) intersect_supersets(passed_table_.begin() + w * LeafTable::kSize, size);
  RootItem leaf[kLeafItems];
  visit_table(node, {leaf, items_of(node.candidates, leaf)});
}

/// Searches all subsets of the candidates of the path's node. @param support  at most kBitTransactions
void ClosureNodes::search_table(const ListNode& node, std::span<const Candidate> candidates, uint32_t support) {
  const auto items = static_cast<int>(candidates.size());
  const size_t size = size_t{1} << items;
  uint32_t* const supports = table_.clear(items);
  uint64_t* const common = list_table_;
  std::fill_n(common, size, ~uint64_t{0});
  give_bits(candidates);
  for (size_t k = 0; k < node.size(); ++k) {
    const ItemOccurrence& transaction = node.transaction(k);
    uint64_t subset = 0;
    if (node.lists != nullptr)
      node.lists->visit_behind(node.projected[k],
                               [&, lists = node.lists](NodeItem item, size_t) { subset |= bit_of(lists->item(item)); });
    else
      subset = mask_of(part_of(transaction, Part::kBehind));
    leaf_subset_[k] = static_cast<uint8_t>(subset);
    supports[subset] += transaction.weight;
    common[subset] &= bits_before(node, k);
    poll_.after(transaction.end - transaction.begin);
  }
  forget_bits(candidates);
  kernel_.sum_supersets(supports, items);
  supports[0] = support;
  intersect_supersets(common, size);
  if (projected_depth_ == 0) {
    const uint32_t min_count = threshold();
    for (size_t a = 0; a < candidates.size(); ++a)
      for (size_t b = a + 1; b < candidates.size(); ++b)
        if (supports[size_t{1} << a | size_t{1} << b] >= min_count) add_pair(candidates[a].item, candidates[b].item);
  }
  RootItem leaf[kLeafItems];
  for (size_t k = 0; k < candidates.size(); ++k) leaf[k] = candidates[k].item;
  visit_table(node, std::span<const RootItem>(leaf, candidates.size()));
}

/// Is there an item, among those passed over before the leaf, that all transactions with this subset have?
bool ClosureNodes::is_covered_on_table(const ListNode& node, size_t subset) {
  CommonItems common(*this, list_table_[subset]);
  poll_.after(node.size());
  for (size_t k = 0; k < node.size(); ++k)
    if (contains(leaf_subset_[k], subset) && !common.keep(before(node, k))) return false;
  return true;
}

}  // namespace batmap
