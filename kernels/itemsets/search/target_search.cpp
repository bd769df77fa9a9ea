// The nodes on lists, masks and tables, for each target. See target_search.h.
#include "itemsets/search/target_search.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "itemsets/forms/weighted_bits.h"

namespace batmap {

namespace {

constexpr size_t kTable = size_t{1} << kLeafItems;
constexpr size_t kPrefetchAhead = 16;  // occurrences, as in depth_first.cpp
constexpr uint64_t kSparseShare = 8;   // as in depth_first.cpp
constexpr size_t kPacked = 256;        // masks that are packed in one call

size_t lowest(uint64_t bits) { return static_cast<size_t>(std::countr_zero(bits)); }
uint64_t below(size_t items) { return items == 64 ? ~uint64_t{0} : (uint64_t{1} << items) - 1; }
bool contains(uint64_t bits, uint64_t others) { return (others & ~bits) == 0; }

}  // namespace

TargetSearch::TargetSearch(ItemsetTarget target, const SearchRoot& root, const OccurrenceLists& occurrences,
                           const SearchBounds& bounds, uint32_t most, const MaskKernel& kernel,
                           const AndPopcountKernel& bits, ItemsetVisitor& visitor, const ExecutionOptions& options)
    : target_(target),
      root_(root),
      occurrences_(occurrences),
      bounds_(bounds),
      most_(most),
      kernel_(kernel),
      bits_(bits),
      visitor_(visitor),
      options_(options),
      poll_(options.cancel),
      counts_(*options.memory, root.as_masks ? 0 : root.items.size(), Fill::kZero),
      place_(*options.memory, counts_.size(), Fill::kZero),
      bit_(*options.memory, counts_.size(), Fill::kZero),
      left_out_(*options.memory, counts_.size(), Fill::kZero),
      heads_(*options.memory),
      head_items_(*options.memory),
      masks_(*options.memory),
      passed_(*options.memory),
      found_(*options.memory, target == ItemsetTarget::kMaximal ? counts_.size() : 0),
      generators_(*options.memory, 0) {
  if (target_ != ItemsetTarget::kGenerators) perfect_ = root.perfect;
  near_.emplace_back(*options.memory);
  for (uint32_t item = 0; item < counts_.size(); ++item) candidates_.push_back({item, root.support[item]});
}

void TargetSearch::search(uint32_t first, uint32_t last) {
  if (!may_have(length())) return;
  if (first == 0 && length() != 0 && (target_ == ItemsetTarget::kClosed || root_.items.empty()))
    tell({}, root_.transactions);
  // Generators that begin with any item may be subsets of others, so all are searched.
  const auto items = static_cast<uint32_t>(root_.items.size());
  const uint32_t end = target_ == ItemsetTarget::kGenerators ? items : last;
  const uint32_t masked = root_.first_masked;
  const auto search_masks = [&] {
    if (std::max(first, masked) >= end) return;
    if (masks_.size() == 0 && !make_root()) return;
    const uint64_t all = below(items - masked);
    if (root_.is_leaf())
      search_table(0, masks_.size(), 0, 0, all, root_.transactions);
    else
      walk_masks(0, masks_.size(), all, below(end - masked) & ~below(std::max(first, masked) - masked),
                 root_.support.data() + masked, root_.transactions);
  };
  if (target_ == ItemsetTarget::kGenerators) {
    search_masks();
    if (masked != 0) shrink_masks(0);
  }
  if (first < std::min(end, masked)) walk_lists(occurrences_, candidates_, first, std::min(end, masked), root_.transactions);
  if (target_ != ItemsetTarget::kGenerators) search_masks();
}

/// Makes the root's masks: of all its items, or of those from first_masked on. @return false if no more answers follow
bool TargetSearch::make_root() {
  const uint32_t masked = root_.first_masked;
  if (!root_.as_masks) {
    const auto visit = [&](auto take) {
      const uint32_t* const data = root_.lists.data();
      for (const TransactionLists::Transaction& t : root_.lists.transactions()) {
        const std::span<const uint32_t> all(data + t.begin, t.length);
        const auto before = static_cast<size_t>(std::lower_bound(all.begin(), all.end(), masked) - all.begin());
        take(all.first(before), all.subspan(before), t.weight);
      }
    };
    return make_masks(visit, root_.lists.transactions().size(), std::span(candidates_).subspan(masked));
  }
  std::iota(mask_items_, mask_items_ + root_.items.size(), 0u);
  words_ = target_ == ItemsetTarget::kGenerators ? 0 : 1;
  masks_.append(root_.masks.list(0, root_.masks.size()));
  std::fill_n(passed_.room(words_ * masks_.size()), words_ * masks_.size(), 0u);
  passed_.add(words_ * masks_.size());
  passed_table_ = Buffer<uint64_t>(*options_.memory, words_ * kTable);
  return true;
}

// ---- lists

/// Searches the candidates [first, last) of the node of path_. @param support  the node's own
void TargetSearch::walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                              uint32_t support) {
  if (target_ != ItemsetTarget::kGenerators) {
    for (size_t k = first; k < last; ++k) {
      if (candidates[k].support < threshold() || is_covered(lists.list(k))) continue;
      extend_lists(lists.list(k), candidates[k]);
    }
    return;
  }
  std::vector<uint32_t> refused;
  for (size_t k = last; k-- > first;) {
    const Candidate& candidate = candidates[k];
    if (candidate.support < threshold()) continue;
    if (candidate.support != support && take_generator(candidate.item, candidate.support)) {
      extend_lists(lists.list(k), candidate);
    } else {
      left_out_[candidate.item] = true;
      refused.push_back(candidate.item);
    }
  }
  for (const uint32_t item : refused) left_out_[item] = false;
}

/// The items before an occurrence in its transaction, or those behind it.
std::span<const uint32_t> TargetSearch::part_of(const ItemOccurrence& occurrence, Part part) const {
  const uint32_t* const data = root_.lists.data();
  return part == Part::kBefore ? std::span(data + occurrence.begin, data + occurrence.at)
                               : std::span(data + occurrence.at + 1, data + occurrence.end);
}

/// Is there an item, among those passed over, that all of these transactions have?
bool TargetSearch::is_covered(std::span<const ItemOccurrence> occurrences) {
  shared_.clear();
  for (size_t k = 0; k < occurrences.size(); ++k) {
    const std::span<const uint32_t> before = part_of(occurrences[k], Part::kBefore);
    poll_.after(before.size() + 1);
    if (k == 0) {
      std::copy_if(before.begin(), before.end(), std::back_inserter(shared_),
                   [&](uint32_t item) { return !left_out_[item]; });
    } else {
      shared_.resize(keep_common(shared_, before));
    }
    if (shared_.empty()) return false;
  }
  return true;
}

/// The frequent items behind the occurrences, ascending.
std::vector<TargetSearch::Candidate> TargetSearch::frequent_items(std::span<const ItemOccurrence> occurrences) {
  const uint32_t least = threshold();
  const uint32_t* const data = root_.lists.data();
  uint32_t* const counts = counts_.data();
  std::vector<Candidate> found;
  uint64_t increments = 0;
  for (size_t k = 0; k < occurrences.size(); ++k) {
    if (k + kPrefetchAhead < occurrences.size()) __builtin_prefetch(data + occurrences[k + kPrefetchAhead].at);
    const uint32_t weight = occurrences[k].weight;
    const std::span<const uint32_t> items = part_of(occurrences[k], Part::kBehind);
    for (const uint32_t item : items) {
      const uint32_t count = counts[item] += weight;
      // True if this increment took the count from below `least` to `least` or more.
      if (count - least < weight && !left_out_[item]) [[unlikely]]
        found.push_back({item, 0});
    }
    increments += items.size();
    poll_.after(items.size() + 1);
  }
  std::sort(found.begin(), found.end(), [](const Candidate& x, const Candidate& y) { return x.item < y.item; });
  for (Candidate& candidate : found) candidate.support = counts_[candidate.item];
  if (increments < counts_.size() / kSparseShare) {
    for (const ItemOccurrence& occurrence : occurrences)
      for (const uint32_t item : part_of(occurrence, Part::kBehind)) counts_[item] = 0;
  } else {
    std::fill(counts_.begin(), counts_.end(), 0u);
  }
  return found;
}

/// Searches the node of path_ and a candidate. @param occurrences  of the candidate
void TargetSearch::extend_lists(std::span<const ItemOccurrence> occurrences, const Candidate& candidate) {
  const size_t before = path_.size();
  const bool closes = target_ != ItemsetTarget::kGenerators;
  std::vector<uint32_t> added{candidate.item};
  std::vector<Candidate> children;
  if (closes || may_have(length() + 2)) children = frequent_items(occurrences);
  std::erase_if(children, [&](const Candidate& child) {
    if (child.support != candidate.support) return false;
    if (closes) added.push_back(child.item);
    return true;
  });
  for (const uint32_t item : added) {
    push(item);
    left_out_[item] = true;
  }
  if (may_have(length())) {
    bool answers = target_ != ItemsetTarget::kMaximal;
    if (!answers && children.empty()) {
      answers = true;
      found_.visit_supersets(path_, [&](std::span<const uint32_t>) { answers = false; });
    }
    if (answers) tell({}, candidate.support);
    if (answers && target_ == ItemsetTarget::kMaximal) keep_found({}, 0);
    if (!children.empty()) search_lists(occurrences, children, candidate.support);
  }
  for (const uint32_t item : added) left_out_[item] = false;
  pop(before);
}

/// Searches below the node of path_.
void TargetSearch::search_lists(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates,
                                uint32_t support) {
  if (candidates.size() > kMaskItems) {
    for (size_t k = 0; k < candidates.size(); ++k) place_[candidates[k].item] = static_cast<uint32_t>(k + 1);
    const OccurrenceLists lists(root_.lists, occurrences, place_.span(), candidates.size(), options_);
    for (const Candidate& candidate : candidates) place_[candidate.item] = 0;
    return walk_lists(lists, candidates, 0, candidates.size(), support);
  }
  const auto visit = [&](auto take) {
    const uint32_t* const data = root_.lists.data();
    for (size_t k = 0; k < occurrences.size(); ++k) {
      if (k + kPrefetchAhead < occurrences.size()) __builtin_prefetch(data + occurrences[k + kPrefetchAhead].at);
      take(part_of(occurrences[k], Part::kBefore), part_of(occurrences[k], Part::kBehind), occurrences[k].weight);
    }
  };
  if (make_masks(visit, occurrences.size(), candidates)) {
    uint32_t supports[kMaskItems];
    for (size_t k = 0; k < candidates.size(); ++k) supports[k] = candidates[k].support;
    const uint64_t all = below(candidates.size());
    if (candidates.size() <= static_cast<size_t>(kLeafItems))
      search_table(0, masks_.size(), 0, 0, all, support);
    else
      walk_masks(0, masks_.size(), all, all, supports, support);
  }
  shrink_masks(0);
}

/// Makes the masks of the node of path_, which is the first node on masks.
/// @param visit  calls take(items before, items behind, weight) for each of the `transactions`
/// @return false if one maximal itemset has the whole path and all candidates
template <typename Visit>
bool TargetSearch::make_masks(const Visit& visit, size_t transactions, std::span<const Candidate> candidates) {
  for (size_t k = 0; k < candidates.size(); ++k) {
    mask_items_[k] = candidates[k].item;
    bit_[candidates[k].item] = uint64_t{1} << k;
  }
  const auto mask_of = [&](std::span<const uint32_t> items) {
    uint64_t mask = 0;
    for (const uint32_t item : items) mask |= bit_[item];
    return mask;
  };
  const auto forget_bits = [&] {
    for (const Candidate& candidate : candidates) bit_[candidate.item] = 0;
  };
  path_bits_ = 0;
  if (target_ == ItemsetTarget::kMaximal) {
    near_[0].reset();
    bool has_all = false;
    found_.visit_supersets(path_, [&](std::span<const uint32_t> found) {
      const uint64_t bits = mask_of(found);
      has_all = has_all || bits == below(candidates.size());
      if (bits != 0) near_[0].push_back(bits);
    });
    if (has_all) {
      forget_bits();
      return false;
    }
  }
  const bool closes = target_ != ItemsetTarget::kGenerators;
  heads_.shrink(0);
  head_items_.shrink(0);
  masks_.start(transactions);
  visit([&](std::span<const uint32_t> before, std::span<const uint32_t> behind, uint32_t weight) {
    const uint64_t mask = mask_of(behind);
    poll_.after(32);
    if (mask == 0) return;
    const size_t place = masks_.add(mask, weight);
    if (closes) share_head(before, place);
  });
  forget_bits();
  words_ = 0;
  if (closes) place_heads(candidates.size());
  return true;
}

/// Reduces the items passed over to those that all transactions of a mask have. @param mask  index of the mask
void TargetSearch::share_head(std::span<const uint32_t> before, size_t mask) {
  const bool is_first = mask == heads_.size();
  if (!is_first && heads_[mask].length == 0) return;
  poll_.after(before.size());
  if (is_first) {
    uint32_t* const out = head_items_.room(before.size());
    const auto end = std::copy_if(before.begin(), before.end(), out, [&](uint32_t item) { return !left_out_[item]; });
    heads_.push_back({head_items_.size(), static_cast<size_t>(end - out)});
    head_items_.add(static_cast<size_t>(end - out));
    return;
  }
  uint32_t* const head = head_items_.begin() + heads_[mask].begin;
  heads_[mask].length = keep_common({head, heads_[mask].length}, before);
}

/// Gives the frequent items of the heads bits behind those of the candidates.
void TargetSearch::place_heads(size_t candidates) {
  const auto each_head = [&](auto visit) {
    for (size_t mask = 0; mask < heads_.size(); ++mask)
      for (size_t k = 0; k < heads_[mask].length; ++k) visit(mask, head_items_[heads_[mask].begin + k]);
    poll_.after(head_items_.size());
  };
  each_head([&](size_t mask, uint32_t item) { counts_[item] += masks_.at(mask).weight; });
  const uint32_t least = threshold();
  auto bits = static_cast<uint32_t>(candidates);
  each_head([&](size_t, uint32_t item) {
    if (counts_[item] >= least && place_[item] == 0) place_[item] = ++bits;
  });
  words_ = (bits + 63) / 64;
  if (passed_table_.size() < words_ * kTable) passed_table_ = Buffer<uint64_t>(*options_.memory, words_ * kTable);
  uint64_t* const passed = passed_.room(words_ * masks_.size());
  passed_.add(words_ * masks_.size());
  std::fill_n(passed, words_ * masks_.size(), 0u);
  each_head([&](size_t mask, uint32_t item) {
    if (const uint32_t place = place_[item]; place != 0)
      passed[mask * words_ + (place - 1) / 64] |= uint64_t{1} << (place - 1) % 64;
  });
  each_head([&](size_t, uint32_t item) { counts_[item] = place_[item] = 0; });
}

// ---- masks

/// @param shared  [words_] items that were passed over before this node @param passed  those passed over at this node
void TargetSearch::add_mask(uint64_t mask, uint32_t weight, const uint64_t* shared, uint64_t passed) {
  const size_t place = masks_.add(mask, weight);
  if (words_ == 0) return;
  if (place * words_ == passed_.size()) {
    for (size_t w = 0; w < words_; ++w) passed_.push_back(~uint64_t{0});
  }
  uint64_t* const own = passed_.begin() + place * words_;
  own[0] &= shared[0] | passed;
  for (size_t w = 1; w < words_; ++w) own[w] &= shared[w];
}

void TargetSearch::shrink_masks(size_t size) {
  masks_.shrink(size);
  passed_.shrink(size * words_);
}

/// Is there an item, among those passed over, that all transactions with `with` have?
/// @param passed  items passed over at this node
bool TargetSearch::is_covered(size_t from, size_t to, uint64_t with, uint64_t passed) {
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

/// Searches the node of path_. @param branches  the candidates whose nodes are wanted @param support  the node's own
void TargetSearch::walk_masks(size_t from, size_t to, uint64_t candidates, uint64_t branches, const uint32_t* supports,
                              uint32_t support) {
  if (pairs_.size() == nodes_) pairs_.emplace_back(*options_.memory, kMaskItems * kMaskItems);
  if (near_.size() == nodes_ + 1) near_.emplace_back(*options_.memory);
  const size_t node = nodes_++;
  uint32_t* const pairs = pairs_[node].data();
  const bool is_root = length() == perfect_.size();
  if (!(is_root && root_counted_)) {
    for (uint64_t rest = candidates; rest != 0; rest &= rest - 1)
      std::fill_n(pairs + lowest(rest) * kMaskItems, kMaskItems, 0u);
    count_mask_pairs(masks_.list(from, to), candidates, bits_, options_, poll_, pairs);
    root_counted_ |= is_root;
  }
  const bool generators = target_ == ItemsetTarget::kGenerators;
  uint64_t refused = 0;
  for (uint64_t rest = branches; rest != 0;) {
    const size_t item = generators ? static_cast<size_t>(std::bit_width(rest)) - 1 : lowest(rest);
    const uint64_t self = uint64_t{1} << item;
    rest &= ~self;
    const uint32_t least = threshold();
    if (supports[item] < least) continue;
    const uint64_t passed = candidates & (self - 1);
    if (generators) {
      if (supports[item] == support || !take_generator(mask_items_[item], supports[item])) {
        refused |= self;
        continue;
      }
    } else if (is_covered(from, to, self, passed)) {
      continue;
    }
    const uint32_t* const counts = pairs + item * kMaskItems;
    uint64_t perfect = 0;
    uint64_t children = 0;
    if (!generators || may_have(length() + 2))
      for (uint64_t later = candidates & ~(self | (self - 1) | refused); later != 0; later &= later - 1) {
        const size_t other = lowest(later);
        if (counts[other] >= least) (counts[other] == supports[item] ? perfect : children) |= uint64_t{1} << other;
      }
    if (generators) perfect = 0;
    if (target_ == ItemsetTarget::kMaximal &&
        std::any_of(near_[node].begin(), near_[node].end(),
                    [whole = self | perfect | children](uint64_t found) { return contains(found, whole); }))
      continue;
    const size_t before = path_.size();
    const uint64_t bits = path_bits_;
    push(mask_items_[item]);
    for (uint64_t more = perfect; more != 0; more &= more - 1) push(mask_items_[lowest(more)]);
    path_bits_ |= self | perfect;
    if (may_have(length())) {
      if (target_ != ItemsetTarget::kMaximal || children == 0) tell({}, supports[item]);
      if (target_ == ItemsetTarget::kMaximal && children == 0) keep_found({}, 0);
      if (children != 0) extend_masks(from, to, self | perfect, passed, children, counts, supports[item]);
    }
    path_bits_ = bits;
    pop(before);
  }
  --nodes_;
}

/// Searches below the node of path_, in the transactions that have `with`.
void TargetSearch::extend_masks(size_t from, size_t to, uint64_t with, uint64_t passed, uint64_t candidates,
                                const uint32_t* supports, uint32_t support) {
  if (std::popcount(candidates) <= kLeafItems) return search_table(from, to, with, passed, candidates, support);
  masks_.start(to - from);
  std::vector<uint64_t> shared(words_);
  for (size_t k = from; k < to; ++k) {
    const auto [mask, weight] = masks_.at(k);
    if (!contains(mask, with) || (mask & candidates) == 0) continue;
    for (size_t w = 0; w < words_; ++w) shared[w] = passed_[k * words_ + w];
    add_mask(mask & candidates, weight, shared.data(), mask & passed);
  }
  poll_.after(8 * (to - from));
  GrowingBuffer<uint64_t>& near = near_[nodes_];
  near.shrink(0);
  for (const uint64_t found : near_[nodes_ - 1])
    if (contains(found, with) && (found & candidates) != 0) near.push_back(found & candidates);
  walk_masks(to, masks_.size(), candidates, candidates, supports, support);
  shrink_masks(to);
}

// ---- tables

/// Searches below the node of path_, in the transactions that have `with`. @param support  the node's own
void TargetSearch::search_table(size_t from, size_t to, uint64_t with, uint64_t passed, uint64_t candidates,
                                uint32_t support) {
  fill_table(from, to, with, passed, candidates);
  table_[0] = support;  // also of transactions that have none of the candidates
  uint32_t leaf[kLeafItems];
  size_t items = 0;
  for (uint64_t rest = candidates; rest != 0; rest &= rest - 1) leaf[items++] = mask_items_[lowest(rest)];
  if (target_ == ItemsetTarget::kGenerators)
    search_generator_table({leaf, items});
  else
    search_closed_table({leaf, items}, with, candidates);
}

/// Fills table_ with the supports of all subsets of the candidates, and passed_table_ with the passed-over
/// items that all transactions of a subset have.
void TargetSearch::fill_table(size_t from, size_t to, uint64_t with, uint64_t passed, uint64_t candidates) {
  const int items = std::popcount(candidates);
  const size_t size = size_t{1} << items;
  std::fill_n(table_, std::max<size_t>(8, size), 0u);
  for (size_t w = 0; w < words_; ++w) std::fill_n(passed_table_.begin() + w * kTable, size, ~uint64_t{0});
  uint8_t places[kPacked];
  for (size_t begin = from; begin < to; begin += kPacked) {
    const WeightedMasks list = masks_.list(begin, std::min(to, begin + kPacked));
    kernel_.pack(list.masks, list.size, candidates, places);
    // No branch: it cannot be predicted which transactions have the bits.
    for (size_t k = 0; k < list.size; ++k) table_[places[k]] += contains(list.masks[k], with) ? list.weights[k] : 0;
    for (size_t w = 0; w < words_; ++w)
      for (size_t k = 0; k < list.size; ++k) {
        const uint64_t shared = passed_[(begin + k) * words_ + w] | (w == 0 ? list.masks[k] & passed : 0);
        passed_table_[w * kTable + places[k]] &= contains(list.masks[k], with) ? shared : ~uint64_t{0};
      }
    poll_.after(4 * list.size);
  }
  kernel_.sum_supersets(table_, items);
  for (size_t w = 0; w < words_; ++w) {
    uint64_t* const table = passed_table_.begin() + w * kTable;
    for (size_t bit = 1; bit < size; bit *= 2)
      for (size_t block = 0; block < size; block += 2 * bit)
        for (size_t k = block; k < block + bit; ++k) table[k] &= table[k + bit];
  }
}

void TargetSearch::search_closed_table(std::span<const uint32_t> leaf, uint64_t with, uint64_t candidates) {
  const bool maximal = target_ == ItemsetTarget::kMaximal;
  const auto items = static_cast<int>(leaf.size());
  const size_t size = size_t{1} << items;
  bool found[kTable] = {};  // [subsets] contained in a maximal itemset
  if (maximal) {
    for (const uint64_t near : near_[nodes_ == 0 ? 0 : nodes_ - 1]) {
      uint8_t place = 0;
      kernel_.pack(&near, 1, candidates, &place);
      found[place] |= contains(near, with);
    }
    for (size_t bit = 1; bit < size; bit *= 2)
      for (size_t subset = 0; subset < size; ++subset)
        if ((subset & bit) == 0) found[subset] |= found[subset | bit];
    if (found[size - 1]) return;
  }
  const std::span<const LeafStep> order = leaf_order(items);
  const uint32_t least = threshold();
  uint32_t chosen[kLeafItems];
  for (size_t k = 0; k < order.size();) {
    const LeafStep step = order[k];
    const uint32_t support = table_[step.subset];
    chosen[step.length - 1] = leaf[step.last];
    bool below_too = support >= least && may_have(length() + step.length);
    for (size_t w = 0; w < words_ && below_too; ++w) below_too = passed_table_[w * kTable + step.subset] == 0;
    bool answers = !(maximal && found[step.subset]);
    for (int other = 0; other < items && below_too; ++other) {
      if (step.subset >> other & 1) continue;
      const uint32_t more = table_[step.subset | 1u << other];
      if (more == support && other < step.last) below_too = false;
      if (more == support || (maximal && more >= least)) answers = false;
    }
    if (!below_too) {
      k += leaf_subtree(items, step);
      continue;
    }
    ++k;
    if (!answers) continue;
    tell({chosen, step.length}, support);
    if (!maximal) continue;
    uint64_t bits = 0;
    uint64_t rest = candidates;
    for (int place = 0; place < items; ++place, rest &= rest - 1)
      if (step.subset >> place & 1) bits |= rest & -rest;
    keep_found({chosen, step.length}, bits);
  }
}

void TargetSearch::search_generator_table(std::span<const uint32_t> leaf) {
  const size_t size = size_t{1} << leaf.size();
  const uint32_t least = threshold();
  bool is_generator[kTable] = {true};
  ItemsetSignature sums[kTable] = {sums_.back()};
  uint32_t chosen[kLeafItems];
  for (size_t subset = 1; subset < size; ++subset) {
    sums[subset] = sums[subset & (subset - 1)] + signature_of(leaf[lowest(subset)]);
    const auto taken = static_cast<size_t>(std::popcount(subset));
    if (table_[subset] < least || !may_have(length() + taken)) continue;
    bool more = true;
    size_t at = 0;
    for (size_t rest = subset; rest != 0; rest &= rest - 1) {
      const size_t without = subset & ~(rest & -rest);
      more = more && is_generator[without] && table_[without] > table_[subset];
      chosen[at++] = leaf[lowest(rest)];
    }
    if (!more || !subsets_have_more(sums[subset], table_[subset])) continue;
    is_generator[subset] = true;
    generators_.insert(sums[subset], table_[subset], 0);
    tell({chosen, taken}, table_[subset]);
  }
}

// ---- answers

size_t TargetSearch::length() const { return perfect_.size() + path_.size(); }

/// Keeps the itemset of path_ and `item` if it is a generator. The caller knows that path_ has more support.
bool TargetSearch::take_generator(uint32_t item, uint32_t support) {
  const ItemsetSignature sum = sums_.back() + signature_of(item);
  if (!subsets_have_more(sum, support)) return false;
  generators_.insert(sum, support, 0);
  return true;
}

/// Do all subsets that lack one item of path_ have more support? A subset that is no generator
/// is not found, and counts as no.
bool TargetSearch::subsets_have_more(ItemsetSignature sum, uint32_t support) {
  return std::all_of(path_.begin(), path_.end(),
                     [&](uint32_t item) { return generators_.find(sum - signature_of(item)).support > support; });
}

void TargetSearch::push(uint32_t item) {
  path_.push_back(item);
  if (target_ == ItemsetTarget::kGenerators) sums_.push_back(sums_.back() + signature_of(item));
}

void TargetSearch::pop(size_t items) {
  path_.resize(items);
  if (target_ == ItemsetTarget::kGenerators) sums_.resize(items + 1);
  told_ = std::min(told_, static_cast<uint32_t>(length()));
}

/// Reports an answer: the root's perfect extensions, path_ and `more`.
void TargetSearch::tell(std::span<const uint32_t> more, uint32_t support) {
  const auto own = static_cast<uint32_t>(length());
  const auto all = static_cast<uint32_t>(own + more.size());
  const auto item_at = [&](size_t k) { return k < own ? path_[k - perfect_.size()] : more[k - own]; };
  if (target_ == ItemsetTarget::kGenerators && root_.items[item_at(0)] >= root_.leading_ranks) return;
  for (uint32_t k = told_; k < all; ++k)
    visitor_.visit(k < perfect_.size() ? perfect_[k] : root_.items[item_at(k)], k + 1, k + 1 == all ? support : 0);
  told_ = own;
}

/// Keeps a maximal itemset: path_ and `more`. @param bits  of `more`
void TargetSearch::keep_found(std::span<const uint32_t> more, uint64_t bits) {
  for (size_t node = 0; node < nodes_; ++node) near_[node].push_back(path_bits_ | bits);
  if (root_.as_masks) return;
  shared_ = path_;
  shared_.insert(shared_.end(), more.begin(), more.end());
  found_.add(shared_);
}

}  // namespace batmap
