// Maximal itemsets: those without a frequent superset. A closed itemset without frequent extensions is maximal unless one
// found before contains it: an item passed over that is frequent with it has led to that one. On lists such items are
// counted instead if that takes less time than to look among the itemsets found. A node is cut if its
// itemset and candidates together lie in one found before. The search keeps the itemsets found. For each node on
// masks it also keeps which of the node's candidates are in each found itemset that contains the node's itemset.
// Which itemsets are maximal depends on longer ones, so no length ends the search.
//
// Memory beyond the transactions: the answers. Source: Grahne, Zhu (FPmax, FIMI 2003); Gouda, Zaki (GenMax, ICDM 2001).
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <vector>

#include "itemsets/answers/found_itemsets.h"
#include "itemsets/search/closure_nodes.h"

namespace batmap {

namespace {

// An itemset on lists is looked for among those found if its items have fewer entries there than so many an occurrence;
// else the items before its occurrences are counted. Source: bench/itemset_peers.cpp, T10I4D100K and T40I10D100K-regen.
constexpr size_t kEntriesAnOccurrence = 8;

class MaximalSearch final : public ClosureNodes {
 public:
  explicit MaximalSearch(const TargetSearchInput& input)
      : ClosureNodes(input, true), found_(*options_.memory, counts_.size()) {
    near_.emplace_back(*options_.memory);
  }

  void search(RootItem first, RootItem last) override {
    if (first == RootItem{0} && length() != 0 && root_.items.empty()) tell({}, root_.transactions);
    search_root_lists(first, last);
    search_root_masks(first, last);
  }

 private:
  void visit_lists(const ListNode& node, std::span<const Candidate> children, uint32_t support) override {
    if (!children.empty()) return search_below(node, children, support);
    if (node.passed == Passed::kNone || (node.passed == Passed::kUnknown && !is_contained(node))) answer({}, 0, support);
  }

  bool visit_bits(const BitNode& node, bool) override {
    if (node.size > node.passed) return !is_passed(node, true);
    if (!is_passed(node, false)) answer({}, 0, node.support);
    return false;
  }

  /// Is there a frequent superset of the path with an item passed over? @param node  of the path
  bool is_contained(const ListNode& node) {
    if (found_.entries(path_) >= kEntriesAnOccurrence * node.size()) return has_frequent_before(node);
    bool is_found = false;
    found_.visit_supersets(path_, [&](std::span<const RootItem>) { is_found = true; });
    return is_found;
  }

  static void add_subsets(size_t items, bool* is_found) {
    const size_t size = size_t{1} << items;
    for (size_t bit = 1; bit < size; bit *= 2)
      for (size_t subset = 0; subset < size; ++subset)
        if ((subset & bit) == 0) is_found[subset] |= is_found[subset | bit];
  }

  bool begin_masks(std::span<const Candidate> candidates) override {
    near_[0].reset();
    bool has_all = false;
    found_.visit_supersets(path_, [&](std::span<const RootItem> found) {
      const uint64_t bits = mask_of(found);
      has_all = has_all || bits == below(candidates.size());
      if (bits != 0) near_[0].push_back(bits);
    });
    return !has_all;
  }

  void visit_masks(const MaskNode& child) override {
    const size_t node = pairs_.depth() - 1;
    if (std::any_of(near_[node].begin(), near_[node].end(),
                    [whole = child.with | child.candidates](uint64_t found) { return contains(found, whole); }))
      return;
    const size_t before = path_.size();
    push_bits(child.with);
    if (child.candidates == 0) {
      answer({}, 0, child.support);
    } else {
      if (std::popcount(child.candidates) > kLeafItems) keep_near(node, child);
      extend_masks(child);
    }
    pop(before);
  }

  /// Fills near_ for the node below.
  void keep_near(size_t node, const MaskNode& child) {
    if (near_.size() == node + 1) near_.emplace_back(*options_.memory);
    near_[node + 1].shrink(0);
    for (const uint64_t found : near_[node])
      if (contains(found, child.with) && (found & child.candidates) != 0)
        near_[node + 1].push_back(found & child.candidates);
  }

  void visit_table(const MaskNode& node, std::span<const RootItem> leaf) override {
    bool is_found[LeafTable::kSize] = {};  // [subsets] contained in a maximal itemset
    for (const uint64_t near : near_[pairs_.depth() == 0 ? 0 : pairs_.depth() - 1]) {
      uint8_t index = 0;
      kernel_.pack(&near, 1, node.candidates, &index);
      is_found[index] |= contains(near, node.with);
    }
    add_subsets(leaf.size(), is_found);
    if (is_found[(size_t{1} << leaf.size()) - 1]) return;
    answer_table(node, leaf, node.candidates, [&](size_t subset) { return is_found[subset]; });
  }

  void visit_table(const ListNode& node, std::span<const RootItem> leaf) override {
    const size_t all = (size_t{1} << leaf.size()) - 1;
    const auto is_contained = [&](size_t subset) {
      return node.passed != Passed::kNone && has_frequent_before(node, subset);
    };
    // One candidate alone is looked at below, as the only answer that there can be.
    if (leaf.size() > 1 && table_.supports[all] >= threshold() && is_contained(all)) return;
    answer_table(node, leaf, 0, is_contained);
  }

  /// @param bits          of the leaf's items, if they have bits
  /// @param is_contained  is_contained(subset): does a maximal itemset with an item passed over have it?
  template <typename Node, typename IsContained>
  void answer_table(const Node& node, std::span<const RootItem> leaf, uint64_t bits, const IsContained& is_contained) {
    walk_table(
        leaf, [](size_t) { return true; }, [&](size_t subset) { return is_passed(node, subset); },
        [min_count = threshold()](uint32_t) { return min_count; },
        [&](const LeafStep& step, std::span<const RootItem> items) {
          if (!is_contained(step.subset)) answer(items, bits_of(step.subset, bits), table_.supports[step.subset]);
        });
  }

  /// Tells a maximal itemset, the path and `more`, and keeps it. @param bits  of `more`
  void answer(std::span<const RootItem> more, uint64_t bits, uint32_t support) {
    tell(more, support);
    for (size_t node = 0; node < pairs_.depth(); ++node) near_[node].push_back(path_bits_ | bits);
    if (root_.as_masks) return;
    shared_ = path_;
    shared_.insert(shared_.end(), more.begin(), more.end());
    found_.add(shared_);
  }

  FoundItemsets found_;
  // [nodes on masks] the node's candidates in each itemset found that contains the node's itemset
  std::vector<GrowingBuffer<uint64_t>> near_;
};

}  // namespace

std::unique_ptr<TargetSearch> make_maximal_search(const TargetSearchInput& input) {
  return std::make_unique<MaximalSearch>(input);
}

}  // namespace batmap
