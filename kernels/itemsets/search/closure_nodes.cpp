// Items passed over: on lists, on masks, and in tables. See closure_nodes.h.
#include "itemsets/search/closure_nodes.h"

#include <algorithm>

namespace batmap {

namespace {

constexpr auto kAllOccurrences = [](size_t) { return true; };
// The items passed over share bits if a mask has at most so many transactions on average.
constexpr size_t kUnmerged = 4;
// A node on masks copies the masks of each candidate if a mask has at most one of so many candidates on average.
// Source: bench/itemset_peers.cpp, T10I4D100K and chess.
constexpr size_t kSparseMasks = 3;
constexpr size_t kSampledMasks = 64;  // the average is that of the first masks
// A node counts the pairs of its candidates if there are at most so many, and at most so many pairs for each of its
// transactions. Source: bench/itemset_peers.cpp, T10I4D100K and retail.
constexpr size_t kPairItems = 1024;
constexpr size_t kPairsPerOccurrence = 256;

}  // namespace

ClosureNodes::ClosureNodes(const TargetSearchInput& input, PassedOver decides)
    : TargetNodes(input),
      decides_(decides),
      head_bit_(*options_.memory, counts_.size()),
      subsets_(*options_.memory),
      listed_(*options_.memory),
      heads_(*options_.memory),
      shared_heads_(*options_.memory),
      head_items_(*options_.memory),
      passed_(*options_.memory) {
  perfect_ = root_.perfect;
  for (size_t item = 0; item < head_bit_.size(); ++item) head_bit_[item] = head_bit(item);
}

// ---- lists

void ClosureNodes::walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                              uint32_t) {
  for (size_t k = first; k < last; ++k)
    if (candidates[k].support >= threshold() && !is_covered(lists.list(k), kAllOccurrences))
      extend_lists(lists.list(k), candidates[k], frequent_items(lists.list(k)));
}

/// Searches the node of the path and a candidate.
/// @param occurrences  of the candidate
/// @param children     the frequent items behind them
void ClosureNodes::extend_lists(std::span<const ItemOccurrence> occurrences, const Candidate& candidate,
                                std::vector<Candidate> children) {
  const size_t before = path_.size();
  std::vector<RootItem> added{candidate.item};
  std::erase_if(children, [&](const Candidate& child) {
    if (child.support != candidate.support) return false;
    added.push_back(child.item);
    return true;
  });
  for (const RootItem item : added) {
    push(item);
    left_out_[index_of(item)] = true;
    head_bit_[index_of(item)] = 0;
  }
  visit_lists(occurrences, children, candidate.support);
  for (const RootItem item : added) {
    left_out_[index_of(item)] = false;
    head_bit_[index_of(item)] = head_bit(index_of(item));
  }
  pop(before);
}

void ClosureNodes::search_below(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates,
                                uint32_t support) {
  if (candidates.size() <= static_cast<size_t>(kLeafItems)) return search_list_table(occurrences, candidates);
  if (suits_pairs(occurrences, candidates.size(), support)) return search_pairs(occurrences, candidates);
  search_lists(occurrences, candidates, support);
}

bool ClosureNodes::suits_pairs(std::span<const ItemOccurrence> occurrences, size_t candidates, uint32_t support) const {
  return candidates > kMaskItems && candidates <= kPairItems && support <= UINT16_MAX &&
         candidates * candidates <= kPairsPerOccurrence * occurrences.size();
}

/// Searches the candidates of the path's node. Counts all their pairs in one pass, which gives the candidates of every
/// child.
void ClosureNodes::search_pairs(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates) {
  const size_t size = candidates.size();
  std::vector<size_t> row(size);  // the pair (a, b), a < b, is counted at row[a] + b
  for (size_t a = 0, begin = 0; a < size; begin += size - ++a) row[a] = begin - a - 1;
  const size_t pairs = size * (size - 1) / 2;
  if (pair_counts_.size() < pairs) pair_counts_ = Buffer<uint16_t>(*options_.memory, pairs);
  uint16_t* const counts = pair_counts_.data();
  std::fill_n(counts, pairs, uint16_t{0});

  for (size_t k = 0; k < size; ++k) index_[index_of(candidates[k].item)] = static_cast<uint32_t>(k + 1);
  const RootItem* const data = root_.lists.data();
  listed_.shrink(0);
  for (const ItemOccurrence& occurrence : occurrences) {
    ListedOccurrence* const behind = listed_.room(occurrence.end - occurrence.at);
    size_t length = 0;
    for (uint32_t at = occurrence.at + 1; at < occurrence.end; ++at) {
      const uint32_t index = index_[index_of(data[at])];
      behind[length] = {index - 1, at};
      length += index != 0;
    }
    listed_.add(length);
    const auto weight = static_cast<uint16_t>(occurrence.weight);
    for (size_t k = 0; k + 1 < length; ++k) {
      uint16_t* const own = counts + row[behind[k].list];
      for (size_t other = k + 1; other < length; ++other)
        own[behind[other].list] = static_cast<uint16_t>(own[behind[other].list] + weight);
    }
    poll_.after(occurrence.end - occurrence.at + length * length / 2);
  }
  for (const Candidate& candidate : candidates) index_[index_of(candidate.item)] = 0;
  const OccurrenceLists lists(occurrences, listed_.span(), size, options_);

  GrowingBuffer<Candidate> all(*options_.memory);
  std::vector<size_t> end(size);     // in `all`, of the children of each candidate
  std::vector<bool> is_child(size);  // of a candidate before it
  const uint32_t min_count = threshold();
  for (size_t a = 0; a < size; ++a) {
    const uint16_t* const own = counts + row[a];
    for (size_t b = a + 1; b < size; ++b) {
      if (own[b] < min_count) continue;
      all.push_back({candidates[b].item, own[b]});
      is_child[b] = true;
    }
    end[a] = all.size();
  }
  poll_.after(pairs);
  for (size_t a = 0; a < size; ++a) {
    const std::span<const Candidate> children(all.begin() + (a == 0 ? 0 : end[a - 1]), all.begin() + end[a]);
    if (candidates[a].support < threshold()) continue;
    const bool is_last = children.empty() && decides_ == PassedOver::kFrequent;
    if (is_last ? is_child[a] : is_covered(lists.list(a), kAllOccurrences)) continue;
    extend_lists(lists.list(a), candidates[a], {children.begin(), children.end()});
  }
}

/// Searches all subsets of the node's candidates, at most kLeafItems.
void ClosureNodes::search_list_table(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates) {
  const auto items = static_cast<int>(candidates.size());
  const size_t size = size_t{1} << items;
  give_bits(candidates);
  uint32_t* const table = table_.clear(items);
  words_ = 1;
  if (passed_table_.size() < LeafTable::kSize) passed_table_ = Buffer<uint64_t>(*options_.memory, LeafTable::kSize);
  uint64_t* const passed = passed_table_.data();
  std::fill_n(passed, size, ~uint64_t{0});
  subsets_.shrink(0);
  uint8_t* const subsets = subsets_.room(occurrences.size());
  subsets_.add(occurrences.size());
  for (size_t k = 0; k < occurrences.size(); ++k) {
    const uint64_t subset = mask_of(part_of(occurrences[k], Part::kBehind));
    subsets[k] = static_cast<uint8_t>(subset);
    table[subset] += occurrences[k].weight;
    poll_.after(occurrences[k].end - occurrences[k].begin);
    if (subset == 0 || decides_ == PassedOver::kFrequent) continue;
    uint64_t before = 0;
    for (const RootItem item : part_of(occurrences[k], Part::kBefore)) before |= head_bit_[index_of(item)];
    passed[subset] &= before;
  }
  kernel_.sum_supersets(table, items);
  for (size_t bit = 1; bit < size; bit *= 2)
    for (size_t block = 0; block < size; block += 2 * bit)
      for (size_t k = block; k < block + bit; ++k) passed[k] &= passed[k + bit];
  RootItem leaf[kLeafItems];
  for (size_t k = 0; k < candidates.size(); ++k) leaf[k] = candidates[k].item;
  visit_list_table({occurrences, subsets_.span()}, {leaf, candidates.size()});
  forget_bits(candidates);
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
