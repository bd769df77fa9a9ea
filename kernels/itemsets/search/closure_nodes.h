// The nodes of the searches for closed and for maximal itemsets, which are closed, too. The itemset of a node is the
// path with all its perfect extensions. It is closed unless an item that was passed over on the way down is in all of
// its transactions, too: it is covered. Then nothing below it is closed either (prefix-preserving closure). Where
// transactions merge, the merged one keeps those of the items passed over that all of them have. Source: Uno, Asai,
// Uchida, Arimura (LCM, FIMI 2003 and 2004); the forms are ours.
//
// A node on lists with many candidates counts all their pairs at once. One with few candidates is a leaf: a table is
// made from its occurrences. There, and where few transactions merge to a mask, the items passed over share the bits of
// one word. Without a common bit there is no common item; with one the transactions are looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "itemsets/answers/found_itemsets.h"
#include "itemsets/search/target_nodes.h"

namespace batmap {

class ClosureNodes : public TargetNodes {
 protected:
  /// The transactions of a node on lists whose candidates are the items of a leaf.
  struct LeafOccurrences {
    std::span<const ItemOccurrence> occurrences;
    std::span<const uint8_t> subsets;  // [occurrences] bits of the leaf's items
  };

  /// What decides at a node on lists without candidates, and in a leaf on lists: whether an item that was passed over
  /// is in all of the transactions, or in as many as the threshold; for this the target has to look itself.
  enum class PassedOver { kCommon, kFrequent };

  ClosureNodes(const TargetSearchInput& input, PassedOver decides);

  // What a target does at a node that is closed.

  /// The path has the node's itemset. @param children  its candidates, if there are any
  virtual void visit_lists(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> children,
                           uint32_t support) = 0;
  /// As visit_table(), for a node on lists: table_ and its cover were made from the occurrences of the path.
  virtual void visit_list_table(const LeafOccurrences& node, std::span<const RootItem> leaf) = 0;
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
  /// The items passed over that several transactions have in common.
  class CommonItems {
   public:
    explicit CommonItems(ClosureNodes& nodes) : nodes_(nodes) {}
    /// @param before  of one more transaction @return false if none is left
    bool keep(std::span<const RootItem> before) {
      std::vector<RootItem>& items = nodes_.shared_;
      nodes_.poll_.after(before.size() + 1);
      if (is_first_) {
        items.clear();
        std::copy_if(before.begin(), before.end(), std::back_inserter(items),
                     [&](RootItem item) { return !nodes_.left_out_[index_of(item)]; });
        is_first_ = false;
      } else {
        items.resize(keep_common(std::span(items), before));
      }
      return !items.empty();
    }

   private:
    ClosureNodes& nodes_;
    bool is_first_ = true;
  };

  /// Is there an item, among those passed over, that all of these transactions have?
  /// @param chosen  chosen(k): does occurrence k count?
  template <typename Chosen>
  bool is_covered(std::span<const ItemOccurrence> occurrences, const Chosen& chosen);
  /// Searches below the path's node. @param occurrences  of the path
  void search_below(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates, uint32_t support);
  /// Searches below the path's node.
  void extend_masks(const MaskNode& node);
  /// Calls visit(step, items of the step) for each subset that is closed, or closed with items of later rank alone.
  /// @param wanted   wanted(length): are there answers of this length or longer ones?
  /// @param covered  covered(subset): is an item that was passed over before the leaf in all of its transactions?
  /// @param blocked  blocked(support of the subset): a subset is not visited if one item more has this support or more
  template <typename Wanted, typename Covered, typename Blocked, typename Visit>
  void walk_table(std::span<const RootItem> leaf, const Wanted& wanted, const Covered& covered, const Blocked& blocked,
                  const Visit& visit);
  /// covered() for a leaf on masks.
  bool is_passed(const MaskNode& node, size_t subset) {
    for (size_t w = 0; w < words_; ++w)
      if (passed_table_[w * LeafTable::kSize + subset] != 0)
        return is_exact(w) || is_covered_by_heads(path_bits_ | bits_of(subset, node.candidates));
    return false;
  }
  /// The bits of `items` at the positions set in `subset`.
  static uint64_t bits_of(size_t subset, uint64_t items) {
    uint64_t bits = 0;
    for (; subset != 0; subset >>= 1, items &= items - 1)
      if ((subset & 1) != 0) bits |= items & -items;
    return bits;
  }
  /// covered() for a leaf on lists.
  bool is_covered(const LeafOccurrences& node, size_t subset) {
    return passed_table_[subset] != 0 &&
           is_covered(node.occurrences, [&](size_t k) { return (subset & ~size_t{node.subsets[k]}) == 0; });
  }

  std::vector<RootItem> shared_;  // scratch
  uint64_t path_bits_ = 0;        // the items of the path that were candidates of the first node on masks

 private:
  void walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                  uint32_t support) final;
  void walk_masks(const MaskNode& node, uint64_t branches) final;
  void search_table(const MaskNode& node) final;
  bool make_masks(const NodeTransactions& transactions, std::span<const Candidate> candidates) final;
  void take_root_masks() final;

  void extend_lists(std::span<const ItemOccurrence> occurrences, const Candidate& candidate,
                    std::vector<Candidate> children);
  bool suits_pairs(std::span<const ItemOccurrence> occurrences, size_t candidates, uint32_t support) const;
  void search_pairs(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates);
  void search_list_table(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates);
  bool is_covered(size_t from, size_t to, uint64_t with, uint64_t passed);
  bool is_covered_by_heads(uint64_t bits);
  /// Do common bits of this word mean common items?
  bool is_exact(size_t word) const { return word == 0 || !heads_share_bits_; }
  void share_bits();
  void make_passed();
  void share_head(std::span<const RootItem> before, size_t mask);
  void number_heads(size_t candidates);
  void add_mask(uint64_t mask, uint32_t weight, const uint64_t* shared, uint64_t passed);

  static uint64_t head_bit(size_t item) { return uint64_t{1} << item % 64; }

  PassedOver decides_;
  // Leaves on lists. Items share a bit, so that common bits only show where an item can be common.
  Buffer<uint64_t> head_bit_;       // [root items] zero for those of the path
  GrowingBuffer<uint8_t> subsets_;  // [occurrences of the leaf]
  // Pairs of a node on lists.
  Buffer<uint16_t> pair_counts_;
  GrowingBuffer<ListedOccurrence> listed_;

  struct MasksOfItems {
    std::vector<size_t> begin;  // [kMaskItems + 1] in masks, or empty
    Buffer<uint32_t> masks;     // indexes
  };
  MasksOfItems masks_of_items(const MaskNode& node);
  std::pair<size_t, size_t> copy_masks(const MaskNode& node, const MasksOfItems& of, size_t item);
  void drop_masks(size_t size);

  /// The items passed over in a transaction before the first node on masks.
  struct Head {
    const RootItem* items;
    uint32_t length;
    uint32_t mask;  // index
  };
  struct SharedHead {
    size_t begin;
    size_t length;
  };
  GrowingBuffer<Head> heads_;  // [transactions of the first node on masks]
  // While the first masks are made: the items passed over that all transactions of a mask have.
  GrowingBuffer<SharedHead> shared_heads_;  // [masks]
  GrowingBuffer<RootItem> head_items_;

  // The first word has the candidates of the first node on masks. Behind it come the items passed over before that
  // node. Where few transactions merge, they share the bits of one word, head_bit_. Else those that are frequent with
  // the node have the bits behind the candidates'.
  bool heads_share_bits_ = false;
  size_t words_ = 0;                // for these bits
  GrowingBuffer<uint64_t> passed_;  // [masks][words_] items passed over that all transactions of the mask have
  Buffer<uint64_t> passed_table_;   // [words_][2^kLeafItems] the same for the transactions of each subset
};

template <typename Chosen>
bool ClosureNodes::is_covered(std::span<const ItemOccurrence> occurrences, const Chosen& chosen) {
  CommonItems common(*this);
  poll_.after(occurrences.size());
  for (size_t k = 0; k < occurrences.size(); ++k)
    if (chosen(k) && !common.keep(part_of(occurrences[k], Part::kBefore))) return false;
  return true;
}

template <typename Wanted, typename Covered, typename Blocked, typename Visit>
void ClosureNodes::walk_table(std::span<const RootItem> leaf, const Wanted& wanted, const Covered& covered,
                              const Blocked& blocked, const Visit& visit) {
  const auto items = static_cast<int>(leaf.size());
  const std::span<const LeafStep> order = leaf_order(items);
  const uint32_t min_count = threshold();
  RootItem chosen[kLeafItems];
  for (size_t k = 0; k < order.size();) {
    const LeafStep step = order[k];
    const uint32_t support = table_.supports[step.subset];
    chosen[step.length - 1] = leaf[step.last];
    bool goes_on = support >= min_count && wanted(length() + step.length) && !covered(step.subset);
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
