// Items passed over: on lists, on masks, and in tables. See closure_nodes.h.
#include "itemsets/search/closure_nodes.h"

#include <algorithm>
#include <iterator>

#include "itemsets/answers/found_itemsets.h"

namespace batmap {

ClosureNodes::ClosureNodes(const TargetSearchInput& input)
    : TargetNodes(input), heads_(*options_.memory), head_items_(*options_.memory), passed_(*options_.memory) {
  perfect_ = root_.perfect;
}

// ---- lists

void ClosureNodes::walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                              uint32_t) {
  for (size_t k = first; k < last; ++k)
    if (candidates[k].support >= threshold() && !is_covered(lists.list(k))) extend_lists(lists.list(k), candidates[k]);
}

/// Is there an item, among those passed over, that all of these transactions have?
bool ClosureNodes::is_covered(std::span<const ItemOccurrence> occurrences) {
  shared_.clear();
  for (size_t k = 0; k < occurrences.size(); ++k) {
    const std::span<const RootItem> before = part_of(occurrences[k], Part::kBefore);
    poll_.after(before.size() + 1);
    if (k == 0) {
      std::copy_if(before.begin(), before.end(), std::back_inserter(shared_),
                   [&](RootItem item) { return !left_out_[index_of(item)]; });
    } else {
      shared_.resize(keep_common(std::span(shared_), before));
    }
    if (shared_.empty()) return false;
  }
  return true;
}

/// Searches the node of the path and a candidate. @param occurrences  of the candidate
void ClosureNodes::extend_lists(std::span<const ItemOccurrence> occurrences, const Candidate& candidate) {
  const size_t before = path_.size();
  std::vector<RootItem> added{candidate.item};
  std::vector<Candidate> children = frequent_items(occurrences);
  std::erase_if(children, [&](const Candidate& child) {
    if (child.support != candidate.support) return false;
    added.push_back(child.item);
    return true;
  });
  for (const RootItem item : added) {
    push(item);
    left_out_[index_of(item)] = true;
  }
  visit_lists(occurrences, children, candidate.support);
  for (const RootItem item : added) left_out_[index_of(item)] = false;
  pop(before);
}

// ---- from lists to masks

bool ClosureNodes::make_masks(const NodeTransactions& transactions, std::span<const Candidate> candidates) {
  passed_.shrink(0);
  give_bits(candidates);
  const bool goes_on = begin_masks(candidates);
  if (goes_on) {
    heads_.shrink(0);
    head_items_.shrink(0);
    add_masks(transactions, [this](std::span<const RootItem> before, size_t mask) { share_head(before, mask); });
  }
  forget_bits(candidates);
  if (goes_on) number_heads(candidates.size());
  return goes_on;
}

/// Reduces the items passed over to those that all transactions of a mask have. @param mask  index of the mask
void ClosureNodes::share_head(std::span<const RootItem> before, size_t mask) {
  const bool is_first = mask == heads_.size();
  if (!is_first && heads_[mask].length == 0) return;
  poll_.after(before.size());
  if (is_first) {
    RootItem* const out = head_items_.room(before.size());
    const auto end =
        std::copy_if(before.begin(), before.end(), out, [&](RootItem item) { return !left_out_[index_of(item)]; });
    heads_.push_back({head_items_.size(), static_cast<size_t>(end - out)});
    head_items_.add(static_cast<size_t>(end - out));
    return;
  }
  const std::span head(head_items_.begin() + heads_[mask].begin, heads_[mask].length);
  heads_[mask].length = keep_common(head, before);
}

/// Gives the frequent items of the heads bits behind those of the candidates.
void ClosureNodes::number_heads(size_t candidates) {
  const auto each_head = [&](auto visit) {
    for (size_t mask = 0; mask < heads_.size(); ++mask)
      for (size_t k = 0; k < heads_[mask].length; ++k) visit(mask, head_items_[heads_[mask].begin + k]);
    poll_.after(head_items_.size());
  };
  each_head([&](size_t mask, RootItem item) { counts_[index_of(item)] += masks_.at(mask).weight; });
  const uint32_t min_count = threshold();
  auto bits = static_cast<uint32_t>(candidates);
  each_head([&](size_t, RootItem item) {
    if (counts_[index_of(item)] >= min_count && index_[index_of(item)] == 0) index_[index_of(item)] = ++bits;
  });
  words_ = (bits + 63) / 64;
  if (passed_table_.size() < words_ * LeafTable::kSize)
    passed_table_ = Buffer<uint64_t>(*options_.memory, words_ * LeafTable::kSize);
  uint64_t* const passed = passed_.room(words_ * masks_.size());
  passed_.add(words_ * masks_.size());
  std::fill_n(passed, words_ * masks_.size(), 0u);
  each_head([&](size_t mask, RootItem item) {
    if (const uint32_t index = index_[index_of(item)]; index != 0)
      passed[mask * words_ + (index - 1) / 64] |= uint64_t{1} << (index - 1) % 64;
  });
  each_head([&](size_t, RootItem item) { counts_[index_of(item)] = index_[index_of(item)] = 0; });
}

void ClosureNodes::take_root_masks() {
  words_ = 1;
  std::fill_n(passed_.room(masks_.size()), masks_.size(), 0u);
  passed_.add(masks_.size());
  passed_table_ = Buffer<uint64_t>(*options_.memory, LeafTable::kSize);
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
    if (shared != 0) return true;
  }
  return false;
}

void ClosureNodes::walk_masks(const MaskNode& node, uint64_t branches) {
  const uint32_t* const pairs = pairs_.push();
  const bool is_root = path_.empty();
  if (!(is_root && root_counted_)) pairs_.count(masks_.list(node.from, node.to), node.candidates, poll_);
  root_counted_ |= is_root;
  for (uint64_t rest = branches; rest != 0; rest &= rest - 1) {
    const size_t item = lowest(rest);
    const uint64_t self = uint64_t{1} << item;
    const uint32_t min_count = threshold();
    const uint32_t support = node.supports[item];
    if (support < min_count) continue;
    const uint64_t passed = node.candidates & (self - 1);
    if (is_covered(node.from, node.to, self, passed)) continue;
    const uint32_t* const counts = pairs + item * kMaskItems;
    uint64_t perfect = 0;
    uint64_t children = 0;
    for (uint64_t later = node.candidates & ~(self | (self - 1)); later != 0; later &= later - 1) {
      const size_t other = lowest(later);
      if (counts[other] >= min_count) (counts[other] == support ? perfect : children) |= uint64_t{1} << other;
    }
    visit_masks({.from = node.from,
                 .to = node.to,
                 .with = self | perfect,
                 .passed = passed,
                 .candidates = children,
                 .supports = counts,
                 .support = support});
  }
  pairs_.pop();
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
  for (size_t w = 0; w < words_; ++w) {
    uint64_t* const table = passed_table_.begin() + w * LeafTable::kSize;
    for (size_t bit = 1; bit < size; bit *= 2)
      for (size_t block = 0; block < size; block += 2 * bit)
        for (size_t k = block; k < block + bit; ++k) table[k] &= table[k + bit];
  }
  RootItem leaf[kLeafItems];
  visit_table(node, {leaf, items_of(node.candidates, leaf)});
}

}  // namespace batmap
