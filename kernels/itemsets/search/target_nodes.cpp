// The way down from the root, from lists to masks, and the answers. See target_nodes.h.
#include "itemsets/search/target_nodes.h"

#include <algorithm>

namespace batmap {

namespace {

// The counts of all items are read one after the other if there are at most so many items for each occurrence. Else an
// item is noted when its count reaches the threshold. Source: bench/itemset_peers.cpp, T10I4D100K.
constexpr size_t kScanned = 8;

}  // namespace

TargetNodes::TargetNodes(const TargetSearchInput& input)
    : root_(input.root),
      occurrences_(input.occurrences),
      bounds_(input.bounds),
      max_length_(input.max_length),
      kernel_(input.kernel),
      visitor_(input.visitor),
      options_(input.options),
      poll_(input.options.cancel),
      counts_(*options_.memory, root_.as_masks ? 0 : root_.items.size(), Fill::kZero),
      index_(*options_.memory, counts_.size(), Fill::kZero),
      left_out_(*options_.memory, counts_.size(), Fill::kZero),
      masks_(*options_.memory),
      pairs_(input.bits, options_),
      bit_(*options_.memory, counts_.size(), Fill::kZero) {
  for (uint32_t k = 0; k < counts_.size(); ++k) candidates_.push_back({RootItem{k}, root_.support_of(RootItem{k})});
}

// ---- the root

void TargetNodes::search_root_lists(RootItem first, RootItem last) {
  const RootItem end = std::min(last, root_.first_masked);
  if (first < end) walk_lists(occurrences_, candidates_, index_of(first), index_of(end), root_.transactions);
}

void TargetNodes::search_root_masks(RootItem first, RootItem last) {
  const RootItem masked = root_.first_masked;
  if (std::max(first, masked) >= last) return;
  if (masks_.size() == 0 && !make_root()) return;
  const MaskNode node{.from = 0,
                      .to = masks_.size(),
                      .with = 0,
                      .passed = 0,
                      .candidates = below(root_.items.size() - index_of(masked)),
                      .supports = root_.support.data() + index_of(masked),
                      .support = root_.transactions};
  if (root_.is_leaf()) return search_table(node);
  walk_masks(node, masked_before(root_, last) & ~masked_before(root_, std::max(first, masked)));
}

/// Makes the root's masks: of all its items, or of those from first_masked on. @return false if no more answers follow
bool TargetNodes::make_root() {
  if (!root_.as_masks) return make_masks({{}, true}, std::span(candidates_).subspan(index_of(root_.first_masked)));
  for (uint32_t k = 0; k < root_.items.size(); ++k) mask_items_[k] = RootItem{k};
  masks_.append(root_.masks.list(0, root_.masks.size()));
  take_root_masks();
  return true;
}

// ---- lists

std::vector<TargetNodes::Candidate> TargetNodes::frequent_items(std::span<const ItemOccurrence> occurrences) {
  uint32_t* const counts = counts_.data();
  const uint32_t min_count = threshold();
  const auto tail_at = [&](size_t k) {
    return WeightedItems<RootItem>{part_of(occurrences[k], Part::kBehind), occurrences[k].weight};
  };
  std::vector<Candidate> found;
  if (counts_.size() <= kScanned * occurrences.size()) {
    for (size_t k = 0; k < occurrences.size(); ++k) {
      if (k + kPrefetchAhead < occurrences.size()) __builtin_prefetch(tail_at(k + kPrefetchAhead).items.data());
      const WeightedItems tail = tail_at(k);
      for (const RootItem item : tail.items) counts[index_of(item)] += tail.weight;
      poll_.after(tail.items.size());
    }
    for (uint32_t item = 0; item < counts_.size(); ++item)
      if (counts[item] >= min_count && !left_out_[item]) found.push_back({RootItem{item}, counts[item]});
    std::fill_n(counts, counts_.size(), 0u);
    poll_.after(counts_.size());
    return found;
  }
  const uint64_t increments = count_items(counts, occurrences.size(), min_count, poll_, tail_at, [&](RootItem item) {
    if (!left_out_[index_of(item)]) found.push_back({item, 0});
  });
  std::sort(found.begin(), found.end(), [](const Candidate& x, const Candidate& y) { return x.item < y.item; });
  for (Candidate& candidate : found) candidate.support = counts[index_of(candidate.item)];
  clear_counts(counts, {counts, counts_.size()}, increments, occurrences.size(), tail_at);
  return found;
}

void TargetNodes::search_lists(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates,
                               uint32_t support) {
  if (candidates.size() > kMaskItems) {
    for (size_t k = 0; k < candidates.size(); ++k) index_[index_of(candidates[k].item)] = static_cast<uint32_t>(k + 1);
    const OccurrenceLists lists(root_.lists, occurrences, index_.span(), candidates.size(), options_);
    for (const Candidate& candidate : candidates) index_[index_of(candidate.item)] = 0;
    return walk_lists(lists, candidates, 0, candidates.size(), support);
  }
  if (make_masks({occurrences, false}, candidates)) {
    uint32_t supports[kMaskItems];
    for (size_t k = 0; k < candidates.size(); ++k) supports[k] = candidates[k].support;
    const MaskNode node{.from = 0,
                        .to = masks_.size(),
                        .with = 0,
                        .passed = 0,
                        .candidates = below(candidates.size()),
                        .supports = supports,
                        .support = support};
    if (candidates.size() <= static_cast<size_t>(kLeafItems))
      search_table(node);
    else
      walk_masks(node, node.candidates);
  }
  masks_.shrink(0);
}

// ---- masks

void TargetNodes::give_bits(std::span<const Candidate> candidates) {
  for (size_t k = 0; k < candidates.size(); ++k) {
    mask_items_[k] = candidates[k].item;
    bit_[index_of(candidates[k].item)] = uint64_t{1} << k;
  }
}

void TargetNodes::forget_bits(std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) bit_[index_of(candidate.item)] = 0;
}

void TargetNodes::walk_added_masks(const MaskNode& node) {
  poll_.after(8 * (node.to - node.from));
  MaskNode own = node;
  own.from = node.to;
  own.to = masks_.size();
  walk_masks(own, node.candidates);
  masks_.shrink(node.to);
}

size_t TargetNodes::items_of(uint64_t candidates, RootItem* items) const {
  size_t size = 0;
  for (uint64_t rest = candidates; rest != 0; rest &= rest - 1) items[size++] = mask_items_[lowest(rest)];
  return size;
}

// ---- answers

void TargetNodes::pop(size_t items) {
  path_.resize(items);
  told_ = std::min(told_, static_cast<uint32_t>(length()));
}

void TargetNodes::tell(std::span<const RootItem> more, uint32_t support) {
  const auto own = static_cast<uint32_t>(length());
  const auto all = static_cast<uint32_t>(own + more.size());
  const auto item_at = [&](size_t k) { return k < own ? path_[k - perfect_.size()] : more[k - own]; };
  for (uint32_t k = told_; k < all; ++k)
    visitor_.visit(k < perfect_.size() ? perfect_[k] : root_.rank_of(item_at(k)), k + 1, k + 1 == all ? support : 0);
  told_ = own;
}

}  // namespace batmap
