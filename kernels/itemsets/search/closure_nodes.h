// The nodes of the searches for closed and for maximal itemsets. Both need closed itemsets, because every maximal one is closed.
//
// The itemset of a node is the path with all its perfect extensions. At each step down, the search takes one candidate and
// passes over those of lower rank, which have branches of their own. If an item passed over is in all transactions of a node, it
// covers the node: neither the node's itemset nor any below it is closed, so the search goes no further (prefix-preserving
// closure). The itemset of every other node is closed. A transaction remembers its items that were passed over. Where
// transactions merge, the merged one keeps those that all of them have. Source: Uno, Asai, Uchida, Arimura (LCM, FIMI 2003 and
// 2004); the forms are ours.
//
// Besides the forms of target_nodes.h there are three for sparse data. A node on lists with many candidates projects its
// transactions, which gives the occurrences of each child (projected_lists.h). Below a node with few transactions there is only
// one more form: a table of all subsets of its candidates, if these are at most kLeafItems; else a bit for each transaction, and
// a row of bits for each item (closure_bits.cpp).
//
// On lists, and where few transactions merge to a mask, a word remembers the items passed over, and several items share a bit of
// it. Transactions without a common bit have no common item. If they have a common bit, the search looks at the transactions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "itemsets/answers/found_itemsets.h"
#include "itemsets/forms/projected_lists.h"
#include "itemsets/search/target_nodes.h"

namespace batmap {

class ClosureNodes : public TargetNodes {
 protected:
  /// Whether an item passed over is frequent with a node.
  enum class Passed { kUnknown, kNone, kFrequent };
  /// The transactions of a node on lists: those in which its item occurs.
  struct ListNode {
    std::span<const ItemOccurrence> occurrences;  // of its item; with `lists`: of the item of the first node of the branch
    RootItem item;
    const ProjectedLists* lists = nullptr;                // that the node above has made; nullptr: it has made none
    std::span<const ProjectedOccurrence> projected = {};  // with `lists`: of its item, in these
    Passed passed = Passed::kUnknown;

    size_t size() const { return lists == nullptr ? occurrences.size() : projected.size(); }
    const ItemOccurrence& transaction(size_t k) const {
      return occurrences[lists == nullptr ? k : projected[k].transaction];
    }
  };
  /// A node of few transactions, each of which is a bit. First among its items come candidates of nodes above that were passed
  /// over and are frequent with it, then its own candidates.
  struct BitNode {
    size_t begin;   // of its items in bit_items_
    size_t passed;  // how many of its items were passed over
    size_t size;    // how many items it has
    size_t own;     // index in bit_items_ of the item whose row has the node's transactions
    uint32_t support;
  };

  /// @param keeps_pairs  whether to note with which pairs of root items an item passed over is frequent. All branches must be
  ///                     searched then, in ascending order.
  ClosureNodes(const TargetSearchInput& input, bool keeps_pairs);

  // What a target does at a node that is closed.

  /// The path has the node's itemset. @param children  its candidates, if there are any
  virtual void visit_lists(const ListNode& node, std::span<const Candidate> children, uint32_t support) = 0;
  /// The path has the node's itemset. @param is_closed  no candidate has the node's support
  /// @return whether there may be answers below it
  virtual bool visit_bits(const BitNode& node, bool is_closed) = 0;
  /// The path is that of the node above. @param child  child.with: the items to be added, as bits
  virtual void visit_masks(const MaskNode& child) = 0;
  /// table_ has the supports of all subsets of the leaf's items, which are the node's candidates.
  virtual void visit_table(const MaskNode& node, std::span<const RootItem> leaf) = 0;
  /// The same for a node on lists. The path has its itemset.
  virtual void visit_table(const ListNode& node, std::span<const RootItem> leaf) = 0;
  /// The candidates of the first node on masks have their bits. @return false if there is no answer below it
  virtual bool begin_masks(std::span<const Candidate>) { return true; }

  /// Adds the items of these bits to the path.
  void push_bits(uint64_t bits) {
    for (; bits != 0; bits &= bits - 1) push(mask_items_[lowest(bits)]);
  }
  /// The items passed over that several transactions have in common.
  class CommonItems {
   public:
    /// @param bits  of head_bit_: an item without one of these is known not to be common
    explicit CommonItems(ClosureNodes& nodes, uint64_t bits = ~uint64_t{0}) : nodes_(nodes), bits_(bits) {}
    /// @param before  of one more transaction @return false if none is left
    bool keep(std::span<const RootItem> before) {
      std::vector<RootItem>& items = nodes_.shared_;
      nodes_.poll_.after(before.size() + 1);
      if (is_first_) {
        items.clear();
        std::copy_if(before.begin(), before.end(), std::back_inserter(items),
                     [&](RootItem item) { return (nodes_.head_bit_[index_of(item)] & bits_) != 0; });
        is_first_ = false;
      } else {
        items.resize(keep_common(std::span(items), before));
      }
      return !items.empty();
    }

   private:
    ClosureNodes& nodes_;
    uint64_t bits_;
    bool is_first_ = true;
  };

  /// The items in front of the node's item in its k-th transaction.
  std::span<const RootItem> before(const ListNode& node, size_t k) const {
    const ItemOccurrence& occurrence = node.transaction(k);
    if (node.lists == nullptr) return part_of(occurrence, Part::kBefore);
    const RootItem* const begin = root_.lists.data() + occurrence.begin;
    const RootItem* end = root_.lists.data() + occurrence.at;
    while (*end < node.item) ++end;
    return {begin, end};
  }
  /// Searches below the path's node.
  void search_below(const ListNode& node, std::span<const Candidate> candidates, uint32_t support);
  /// Searches below the path's node.
  void extend_masks(const MaskNode& node);
  /// Calls visit(step, items of the step) for each subset of the leaf that is closed, or that only items of later rank keep from
  /// being closed.
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
  /// covered() for a leaf on lists.
  bool is_passed(const ListNode& node, size_t subset) {
    return list_table_[subset] != 0 && is_covered_on_table(node, subset);
  }
  /// The bits of `items` at the positions set in `subset`.
  static uint64_t bits_of(size_t subset, uint64_t items) {
    uint64_t bits = 0;
    for (; subset != 0; subset >>= 1, items &= items - 1)
      if ((subset & 1) != 0) bits |= items & -items;
    return bits;
  }
  /// Is an item passed over frequent with the node? @param whole  with the node and all of its candidates
  bool is_passed(const BitNode& node, bool whole);
  bool has_frequent_before(const ListNode& node);
  /// Is an item, among those passed over before the leaf, frequent with the node and this subset of its candidates?
  bool has_frequent_before(const ListNode& node, size_t subset);

  std::vector<RootItem> shared_;  // scratch
  uint64_t path_bits_ = 0;        // the items of the path that were candidates of the first node on masks

 private:
  void walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                  uint32_t support) final;
  void walk_masks(const MaskNode& node, uint64_t branches) final;
  void search_table(const MaskNode& node) final;
  bool make_masks(const NodeTransactions& transactions, std::span<const Candidate> candidates) final;
  void take_root_masks() final;

  void extend_lists(const ListNode& node, const Candidate& candidate, std::vector<Candidate>& children);
  bool is_covered(const ListNode& node);
  /// Notes that a pair is frequent with an item before both.
  void add_pair(RootItem a, RootItem b) {
    if (!pairs_behind_.empty())
      pairs_behind_[index_of(a) * pair_words_ + index_of(b) / 64] |= uint64_t{1} << index_of(b) % 64;
  }
  void add_all_pairs(std::span<const Candidate> candidates);
  void add_perfect_pairs(std::span<const RootItem> perfect, std::span<const Candidate> children);
  Passed passed_over(RootItem a, RootItem b) const;
  void search_projected(const ListNode& node, std::span<const Candidate> candidates, uint32_t support);
  void search_table(const ListNode& node, std::span<const Candidate> candidates, uint32_t support);
  bool is_covered_on_table(const ListNode& node, size_t subset);
  void search_bits(const ListNode& node, std::span<const Candidate> candidates, uint32_t support);
  void push_bit_item(const Candidate& candidate);
  void walk_bits(const BitNode& node);
  /// The bits of the items in front of the node's item in its k-th transaction, without those of the path.
  uint64_t bits_before(const ListNode& node, size_t k) const {
    if (node.lists != nullptr) return node.projected[k].before;
    uint64_t bits = 0;
    for (const RootItem item : before(node, k)) bits |= head_bit_[index_of(item)];
    return bits;
  }
  bool is_covered_on_bits(const uint64_t* transactions);
  template <typename Each>
  bool has_frequent_before(const ListNode& node, const Each& each);
  /// Calls visit(bit) for each of the transactions until it returns false. @return false if it did
  template <typename Visit>
  bool visit_transactions(const uint64_t* transactions, const Visit& visit) const {
    for (size_t w = 0; w < bit_words_; ++w)
      for (uint64_t rest = transactions[w]; rest != 0; rest &= rest - 1)
        if (!visit(64 * w + lowest(rest))) return false;
    return true;
  }
  uint64_t* bit_row(size_t item) { return bit_rows_.begin() + item * bit_words_; }
  bool is_covered(size_t from, size_t to, uint64_t with, uint64_t passed);
  bool is_covered_by_heads(uint64_t bits);
  /// Do common bits of this word mean common items?
  bool is_exact(size_t word) const { return word == 0 || !heads_share_bits_; }
  void share_bits();
  void make_passed();
  void share_head(std::span<const RootItem> before, size_t mask);
  void number_heads(size_t candidates);
  void add_mask(uint64_t mask, uint32_t weight, const uint64_t* shared, uint64_t passed);

  std::vector<RootItem> counted_;  // scratch

  static uint64_t head_bit(size_t item) { return uint64_t{1} << item % 64; }

  // Nodes on lists. Items share a bit, so that common bits only show where an item can be common.
  Buffer<uint64_t> head_bit_;                               // [root items] zero for those of the path
  std::vector<std::unique_ptr<ProjectedLists>> projected_;  // of the nodes on lists of the path
  size_t projected_depth_ = 0;
  // [root items][pair_words_] a bit for each pair of root items that is frequent with an item before both, or that may be so if
  // pairs_are_exact_ is not set. Empty: pairs are not noted.
  Buffer<uint64_t> pairs_behind_;
  size_t pair_words_ = 0;
  bool pairs_are_exact_ = true;

  // A table of a node on lists.
  uint64_t list_table_[LeafTable::kSize];  // [subsets] common bits of the items passed over in its transactions
  Buffer<uint8_t> leaf_subset_;            // [transactions of the node] which candidates the transaction has

  // Nodes on bits: the first one, and a stack of those below it.
  static constexpr uint32_t kBitTransactions = 512;
  const ListNode* bit_node_ = nullptr;
  size_t bit_words_ = 0;              // of a row
  Buffer<uint64_t> bit_before_;       // [bits] bits of the items passed over in the transaction
  Buffer<uint32_t> bit_transaction_;  // [bits] index in bit_node_
  GrowingBuffer<RootItem> bit_items_;
  GrowingBuffer<uint64_t> bit_rows_;      // [bit_items_][bit_words_]
  GrowingBuffer<uint32_t> bit_supports_;  // [bit_items_]

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

  // Which items were passed over, in bits. The first word has the candidates of the first node on masks. The items that were
  // passed over before that node follow in one of two ways. Where few transactions merge, a second word has their bits of
  // head_bit_, which they share (heads_share_bits_). Otherwise each of them that is frequent with the node has a bit of its own,
  // behind those of the candidates.
  bool heads_share_bits_ = false;
  size_t words_ = 0;                // that these bits take
  GrowingBuffer<uint64_t> passed_;  // [masks][words_] items passed over that all transactions of the mask have
  Buffer<uint64_t> passed_table_;   // [words_][2^kLeafItems] the same for the transactions of each subset
};

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
