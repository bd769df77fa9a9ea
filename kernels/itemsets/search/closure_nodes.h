// The nodes of the searches for closed and for maximal itemsets, which are closed, too. The itemset of a node is the
// path with all its perfect extensions. It is closed unless an item that was passed over on the way down is in all of
// its transactions, too: it is covered. Then nothing below it is closed either (prefix-preserving closure). Where
// transactions merge, the merged one keeps those of the items passed over that all of them have. Source: Uno, Asai,
// Uchida, Arimura (LCM, FIMI 2003 and 2004); the forms are ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "itemsets/search/target_nodes.h"

namespace batmap {

class ClosureNodes : public TargetNodes {
 protected:
  explicit ClosureNodes(const TargetSearchInput& input);

  // What a target does at a node that is closed.

  /// The path has the node's itemset. @param children  its candidates, if there are any
  virtual void visit_lists(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> children,
                           uint32_t support) = 0;
  /// The path is that of the node above. @param child  child.with: the items to be added, as bits
  virtual void visit_masks(const MaskNode& child) = 0;
  /// table_ has the supports of all subsets of the leaf's items, which are the node's candidates.
  virtual void visit_table(const MaskNode& node, std::span<const RootItem> leaf) = 0;
  /// The candidates of the first node on masks have their bits. @return false if there is no answer below it
  virtual bool begin_masks(std::span<const Candidate>) { return true; }

  /// Adds the items of these bits to the path.
  void push_bits(uint64_t bits) {
    for (; bits != 0; bits &= bits - 1) push(mask_items_[lowest(bits)]);
  }
  /// Searches below the path's node.
  void extend_masks(const MaskNode& node);
  /// Calls visit(step, items of the step) for each subset that is closed, or closed with items of later rank alone.
  /// @param wanted   wanted(length): are there answers of this length or longer ones?
  /// @param blocked  blocked(support of the subset): a subset is not visited if one item more has this support or more
  template <typename Wanted, typename Blocked, typename Visit>
  void walk_table(std::span<const RootItem> leaf, const Wanted& wanted, const Blocked& blocked, const Visit& visit);

  std::vector<RootItem> shared_;  // scratch

 private:
  void walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                  uint32_t support) final;
  void walk_masks(const MaskNode& node, uint64_t branches) final;
  void search_table(const MaskNode& node) final;
  bool make_masks(const NodeTransactions& transactions, std::span<const Candidate> candidates) final;
  void take_root_masks() final;

  void extend_lists(std::span<const ItemOccurrence> occurrences, const Candidate& candidate);
  bool is_covered(std::span<const ItemOccurrence> occurrences);
  bool is_covered(size_t from, size_t to, uint64_t with, uint64_t passed);
  void share_head(std::span<const RootItem> before, size_t mask);
  void number_heads(size_t candidates);
  void add_mask(uint64_t mask, uint32_t weight, const uint64_t* shared, uint64_t passed);

  struct Head {
    size_t begin;
    size_t length;
  };
  GrowingBuffer<Head> heads_;  // [masks] items passed over that its transactions share, while the first masks are made
  GrowingBuffer<RootItem> head_items_;

  // The first bits are the candidates of the first node on masks. Then come the items passed over before it, if
  // they are frequent with it.
  size_t words_ = 0;                // for these bits
  GrowingBuffer<uint64_t> passed_;  // [masks][words_] items passed over that all transactions of the mask have
  Buffer<uint64_t> passed_table_;   // [words_][2^kLeafItems] the same for the transactions of each subset
};

template <typename Wanted, typename Blocked, typename Visit>
void ClosureNodes::walk_table(std::span<const RootItem> leaf, const Wanted& wanted, const Blocked& blocked,
                              const Visit& visit) {
  const auto items = static_cast<int>(leaf.size());
  const std::span<const LeafStep> order = leaf_order(items);
  const uint32_t min_count = threshold();
  RootItem chosen[kLeafItems];
  for (size_t k = 0; k < order.size();) {
    const LeafStep step = order[k];
    const uint32_t support = table_.supports[step.subset];
    chosen[step.length - 1] = leaf[step.last];
    bool goes_on = support >= min_count && wanted(length() + step.length);
    for (size_t w = 0; w < words_ && goes_on; ++w) goes_on = passed_table_[w * LeafTable::kSize + step.subset] == 0;
    bool is_visited = true;
    const uint32_t limit = blocked(support);
    for (int other = 0; other < items && goes_on; ++other) {
      if (step.subset >> other & 1) continue;
      const uint32_t more = table_.supports[step.subset | 1u << other];
      if (more == support && other < step.last) goes_on = false;
      if (more >= limit) is_visited = false;
    }
    if (!goes_on) {
      k += leaf_subtree(items, step);
      continue;
    }
    ++k;
    if (is_visited) visit(step, std::span<const RootItem>(chosen, step.length));
  }
}

}  // namespace batmap
