// The nodes of a search for a target, for all targets alike: the path, which is the current itemset; its transactions as
// occurrences in lists or as masks; and the ways down from one form to the next. A target decides at each node
// which candidates lead on and what is an answer. That costs one virtual call a node. The nodes count as those
// of depth_first.h do (node_counts.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/poll.h"
#include "itemsets/forms/mask_merger.h"
#include "itemsets/forms/node_counts.h"
#include "itemsets/search/target_search.h"

namespace batmap {

class TargetNodes : public TargetSearch {
 protected:
  struct Candidate {
    RootItem item;
    uint32_t support;
  };
  /// The transactions of a node on lists: those of some occurrences, or all of the root.
  struct NodeTransactions {
    std::span<const ItemOccurrence> occurrences;
    bool is_root;
  };
  /// A node on masks: the path's transactions are those of the masks [from, to) that have `with`.
  struct MaskNode {
    size_t from;
    size_t to;
    uint64_t with;
    uint64_t passed;  // items passed over at the node above
    uint64_t candidates;
    const uint32_t* supports;  // [64] of the candidates
    uint32_t support;          // of the path
  };
  enum class Part { kBefore, kBehind };

  explicit TargetNodes(const TargetSearchInput& input);

  // What a target does. walk_lists() and walk_masks() search the candidates of the path's node, search_table() all
  // their subsets.

  /// Of the candidates [first, last). @param support  the path's
  virtual void walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                          uint32_t support) = 0;
  /// The node's transactions are all masks [from, to). @param branches  the candidates whose nodes are wanted
  virtual void walk_masks(const MaskNode& node, uint64_t branches) = 0;
  virtual void search_table(const MaskNode& node) = 0;
  /// Makes the masks of the path's node, the first one on masks. @return false if there is no answer below it
  virtual bool make_masks(const NodeTransactions& transactions, std::span<const Candidate> candidates) = 0;
  /// The root's own masks lie in masks_.
  virtual void take_root_masks() {}

  // The way down.

  /// Searches the node, a child of the masks [from, to), on its own masks, which follow them in masks_; then drops these.
  void walk_added_masks(const MaskNode& node);
  void search_root_lists(RootItem first, RootItem last);
  void search_root_masks(RootItem first, RootItem last);
  /// Searches below the path's node. @param occurrences  of the path
  void search_lists(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates, uint32_t support);
  /// The frequent items behind the occurrences, ascending, without those left out.
  std::vector<Candidate> frequent_items(std::span<const ItemOccurrence> occurrences);
  /// The items before an occurrence in its transaction, or those behind it.
  std::span<const RootItem> part_of(const ItemOccurrence& occurrence, Part part) const {
    const RootItem* const data = root_.lists.data();
    return part == Part::kBefore ? std::span(data + occurrence.begin, data + occurrence.at)
                                 : std::span(data + occurrence.at + 1, data + occurrence.end);
  }

  /// Gives the candidates their bits, until forget_bits().
  void give_bits(std::span<const Candidate> candidates);
  void forget_bits(std::span<const Candidate> candidates);
  uint64_t bit_of(RootItem item) const { return bit_[index_of(item)]; }
  uint64_t mask_of(std::span<const RootItem> items) const {
    uint64_t mask = 0;
    for (const RootItem item : items) mask |= bit_of(item);
    return mask;
  }
  /// Makes masks_ of the transactions. @param added  added(items before, index of the mask), for each transaction
  template <typename Added>
  void add_masks(const NodeTransactions& transactions, const Added& added);
  /// Fills table_ with the supports of all subsets of the node's candidates.
  /// @param packed  packed(index of the first mask, masks, index of each in the table), for all masks, piece by piece
  template <typename Packed>
  void fill_table(const MaskNode& node, const Packed& packed);
  /// The candidates as items of the root. @return how many there are
  size_t items_of(uint64_t candidates, RootItem* items) const;

  // The path and the answers.

  uint32_t threshold() const { return bounds_.threshold(); }
  size_t length() const { return perfect_.size() + path_.size(); }
  void push(RootItem item) { path_.push_back(item); }
  /// Shortens the path. @param items  how many stay
  void pop(size_t items);
  /// Reports an answer: the root's perfect extensions, the path and `more`.
  void tell(std::span<const RootItem> more, uint32_t support);

  const SearchRoot& root_;
  const OccurrenceLists& occurrences_;
  const SearchBounds& bounds_;
  uint32_t max_length_;
  const MaskKernel& kernel_;
  ItemsetVisitor& visitor_;
  const ExecutionOptions& options_;
  Poll poll_;

  std::vector<Rank> perfect_;   // the root's perfect extensions, if they are in the answers
  std::vector<RootItem> path_;  // the other items of the itemset

  // Lists.
  Buffer<uint32_t> counts_;  // [root items] zero between nodes
  Buffer<uint32_t> index_;   // [root items] 1 + index in the child's form; zero between nodes
  Buffer<bool> left_out_;    // [root items] of the path; for generators also those refused at the nodes above

  // Masks and tables.
  MaskStack masks_;
  MaskPairs pairs_;
  bool root_counted_ = false;        // pairs_ has the pairs of the root's masks
  RootItem mask_items_[kMaskItems];  // [bits]
  LeafTable table_;

 private:
  bool make_root();

  std::vector<Candidate> candidates_;  // of the root
  Buffer<uint64_t> bit_;               // [root items] bit in the masks; zero between nodes
  uint32_t told_ = 0;                  // the visitor knows so many items of the itemset
};

template <typename Added>
void TargetNodes::add_masks(const NodeTransactions& transactions, const Added& added) {
  const auto take = [&](std::span<const RootItem> before, std::span<const RootItem> behind, uint32_t weight) {
    const uint64_t mask = mask_of(behind);
    poll_.after(32);
    if (mask != 0) added(before, masks_.add(mask, weight));
  };
  const RootItem* const data = root_.lists.data();
  if (transactions.is_root) {
    masks_.start(root_.lists.transactions().size());
    for (const MergedTransaction& t : root_.lists.transactions()) {
      const std::span<const RootItem> all(data + t.begin, t.length);
      const auto before = static_cast<size_t>(std::lower_bound(all.begin(), all.end(), root_.first_masked) - all.begin());
      take(all.first(before), all.subspan(before), t.weight);
    }
    return;
  }
  const std::span<const ItemOccurrence> occurrences = transactions.occurrences;
  masks_.start(occurrences.size());
  for (size_t k = 0; k < occurrences.size(); ++k) {
    if (k + kPrefetchAhead < occurrences.size()) __builtin_prefetch(data + occurrences[k + kPrefetchAhead].at);
    take(part_of(occurrences[k], Part::kBefore), part_of(occurrences[k], Part::kBehind), occurrences[k].weight);
  }
}

template <typename Packed>
void TargetNodes::fill_table(const MaskNode& node, const Packed& packed) {
  constexpr size_t kPacked = 256;  // masks that are packed in one call
  const int items = std::popcount(node.candidates);
  uint32_t* const table = table_.clear(items);
  uint8_t indexes[kPacked];
  for (size_t begin = node.from; begin < node.to; begin += kPacked) {
    const WeightedMasks list = masks_.list(begin, std::min(node.to, begin + kPacked));
    kernel_.pack(list.masks, list.size, node.candidates, indexes);
    // No branch: it cannot be predicted which transactions have the bits.
    for (size_t k = 0; k < list.size; ++k) table[indexes[k]] += contains(list.masks[k], node.with) ? list.weights[k] : 0;
    packed(begin, list, indexes);
    poll_.after(4 * list.size);
  }
  kernel_.sum_supersets(table, items);
  table[0] = node.support;  // also of transactions that have none of the candidates
}

}  // namespace batmap
