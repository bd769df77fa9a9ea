// Generators: itemsets whose subsets of one item less all have more support. If an itemset is none, nothing below it is.
// The search runs from the last candidate to the first, so that these subsets come first; generators are kept in a
// hash table and looked up. Memory beyond the transactions: 32 to 80 bytes an answer. Source: Szathmary et al.
// (Talky-G, 2009); the forms are ours.
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <vector>

#include "itemsets/answers/itemset_supports.h"
#include "itemsets/search/target_nodes.h"

namespace batmap {

namespace {

class GeneratorSearch final : public TargetNodes {
 public:
  explicit GeneratorSearch(const TargetSearchInput& input) : TargetNodes(input), generators_(*options_.memory, 0) {}

  void search(RootItem, RootItem) override {
    if (!may_have(0)) return;
    // Generators that begin with any item may be subsets of others, so all are searched.
    const RootItem first{0};
    const RootItem end{static_cast<uint32_t>(root_.items.size())};
    search_root_masks(first, end);
    if (root_.first_masked != first) masks_.shrink(0);
    search_root_lists(first, end);
  }

 private:
  /// Are there answers of this length, or longer ones?
  bool may_have(size_t length) const { return length <= max_length_; }

  // ---- lists

  void walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                  uint32_t support) override {
    std::vector<RootItem> refused;
    for (size_t k = last; k-- > first;) {
      const Candidate& candidate = candidates[k];
      if (candidate.support < threshold()) continue;
      if (candidate.support != support && take(candidate.item, candidate.support)) {
        extend_lists(lists.list(k), candidate);
      } else {
        left_out_[index_of(candidate.item)] = true;
        refused.push_back(candidate.item);
      }
    }
    for (const RootItem item : refused) left_out_[index_of(item)] = false;
  }

  /// Searches the node of the path and a candidate. @param occurrences  of the candidate
  void extend_lists(std::span<const ItemOccurrence> occurrences, const Candidate& candidate) {
    std::vector<Candidate> children;
    if (may_have(length() + 2)) children = frequent_items(occurrences);
    std::erase_if(children, [&](const Candidate& child) { return child.support == candidate.support; });
    enter(candidate.item);
    left_out_[index_of(candidate.item)] = true;
    if (may_have(length())) {
      answer({}, candidate.support);
      if (!children.empty()) search_lists(occurrences, children, candidate.support);
    }
    left_out_[index_of(candidate.item)] = false;
    leave();
  }

  bool make_masks(const NodeTransactions& transactions, std::span<const Candidate> candidates) override {
    give_bits(candidates);
    add_masks(transactions, [](std::span<const RootItem>, size_t) {});
    forget_bits(candidates);
    return true;
  }

  // ---- masks

  void walk_masks(const MaskNode& node, uint64_t branches) override {
    const uint32_t* const pairs = pairs_.push();
    const bool is_root = path_.empty();
    if (!(is_root && root_counted_)) pairs_.count(masks_.list(node.from, node.to), node.candidates, poll_);
    root_counted_ |= is_root;
    uint64_t refused = 0;
    for (uint64_t rest = branches; rest != 0;) {
      const auto item = static_cast<size_t>(std::bit_width(rest)) - 1;
      const uint64_t self = uint64_t{1} << item;
      rest &= ~self;
      const uint32_t min_count = threshold();
      const uint32_t support = node.supports[item];
      if (support < min_count) continue;
      if (support == node.support || !take(mask_items_[item], support)) {
        refused |= self;
        continue;
      }
      const uint32_t* const counts = pairs + item * kMaskItems;
      uint64_t children = 0;
      if (may_have(length() + 2))
        for (uint64_t later = node.candidates & ~(self | (self - 1) | refused); later != 0; later &= later - 1) {
          const size_t other = lowest(later);
          if (counts[other] >= min_count && counts[other] != support) children |= uint64_t{1} << other;
        }
      enter(mask_items_[item]);
      if (may_have(length())) {
        answer({}, support);
        if (children != 0)
          extend_masks({.from = node.from,
                        .to = node.to,
                        .with = self,
                        .passed = 0,
                        .candidates = children,
                        .supports = counts,
                        .support = support});
      }
      leave();
    }
    pairs_.pop();
  }

  void extend_masks(const MaskNode& node) {
    if (std::popcount(node.candidates) <= kLeafItems) return search_table(node);
    masks_.start(node.to - node.from);
    for (size_t k = node.from; k < node.to; ++k) {
      const auto [mask, weight] = masks_.at(k);
      if (contains(mask, node.with) && (mask & node.candidates) != 0) masks_.add(mask & node.candidates, weight);
    }
    walk_added_masks(node);
  }

  // ---- tables

  void search_table(const MaskNode& node) override {
    fill_table(node, [](size_t, const WeightedMasks&, const uint8_t*) {});
    RootItem leaf[kLeafItems];
    const size_t size = size_t{1} << items_of(node.candidates, leaf);
    const uint32_t* const supports = table_.supports;
    const uint32_t min_count = threshold();
    bool is_generator[LeafTable::kSize] = {true};
    ItemsetSignature sums[LeafTable::kSize] = {sums_.back()};
    RootItem chosen[kLeafItems];
    for (size_t subset = 1; subset < size; ++subset) {
      sums[subset] = sums[subset & (subset - 1)] + signature_of(leaf[lowest(subset)]);
      const auto taken = static_cast<size_t>(std::popcount(subset));
      if (supports[subset] < min_count || !may_have(length() + taken)) continue;
      bool more = true;
      size_t at = 0;
      for (size_t rest = subset; rest != 0; rest &= rest - 1) {
        const size_t without = subset & ~(rest & -rest);
        more = more && is_generator[without] && supports[without] > supports[subset];
        chosen[at++] = leaf[lowest(rest)];
      }
      if (!more || !subsets_have_more(sums[subset], supports[subset])) continue;
      is_generator[subset] = true;
      generators_.insert(sums[subset], supports[subset], 0);
      answer({chosen, taken}, supports[subset]);
    }
  }

  // ---- the path and the answers

  void enter(RootItem item) {
    push(item);
    sums_.push_back(sums_.back() + signature_of(item));
  }
  void leave() {
    pop(path_.size() - 1);
    sums_.pop_back();
  }

  /// Keeps the itemset of the path and `item` if it is a generator. The caller knows that the path has more support.
  bool take(RootItem item, uint32_t support) {
    const ItemsetSignature sum = sums_.back() + signature_of(item);
    if (!subsets_have_more(sum, support)) return false;
    generators_.insert(sum, support, 0);
    return true;
  }

  /// Do all subsets that lack one item of the path have more support? A subset that is no generator is not found,
  /// and counts as no.
  bool subsets_have_more(ItemsetSignature sum, uint32_t support) {
    return std::all_of(path_.begin(), path_.end(),
                       [&](RootItem item) { return generators_.find(sum - signature_of(item)).support > support; });
  }

  /// Tells the path and `more`, if it begins with a leading item.
  void answer(std::span<const RootItem> more, uint32_t support) {
    const RootItem first = path_.empty() ? more[0] : path_[0];
    if (index_of(root_.rank_of(first)) < root_.leading_ranks) tell(more, support);
  }

  std::vector<ItemsetSignature> sums_{0};  // of the first 0, 1, ... items of the path
  ItemsetSupports generators_;
};

}  // namespace

std::unique_ptr<TargetSearch> make_generator_search(const TargetSearchInput& input) {
  return std::make_unique<GeneratorSearch>(input);
}

}  // namespace batmap
