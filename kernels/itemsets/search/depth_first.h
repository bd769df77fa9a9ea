// Depth-first search for frequent itemsets.
//
// A node is an itemset with its candidates: the items of later rank that are frequent together with it. Items rank
// by rising support, so that the many branches are short. An item that is in all transactions of a node is a perfect
// extension (itemset_visitor.h) and is not searched below it. A node keeps its transactions in one of these forms:
// - Lists, where there are many candidates. The later items of each occurrence are counted; what remains of the
//   transactions is merged and linked for the next level (transaction_lists.h).
// - Weighted masks, from 64 candidates down (mask_kernel.h), merged again at every level. Dense data shrink to some
//   dozens of distinct masks within two levels. The last 64 items of a dense root of lists are searched on masks, too.
// - A table of all subsets, from eight candidates down. Such a node is a leaf of the search.
// - Bit rows, for a node with many dense transactions that do not merge (bit_row_search.h). A dense root of lists also
//   has bit rows, for items that are in many transactions and that few items follow.
// The order of the answers depends only on ranks and supports: candidates in order of rank, perfect extensions behind
// the itemset at which they were found, the subsets of a leaf's candidates in the order of a depth-first walk.
//
// Source: ours, of the LCM and FP-growth family (Uno et al. 2004; Han, Pei, Yin 2000; Borgelt 2012).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bits/and_popcount.h"
#include "core/options.h"
#include "core/poll.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"
#include "itemsets/forms/leaf_order.h"
#include "itemsets/forms/mask_kernel.h"
#include "itemsets/forms/node_counts.h"
#include "itemsets/forms/search_root.h"
#include "itemsets/search/bit_row_search.h"

namespace batmap {

class DepthFirst {
 public:
  /// @param root       must outlive the search; several may read it
  /// @param bounds     may become narrower while the search runs
  /// @param max_length length of the longest itemset wanted
  DepthFirst(const SearchRoot& root, const SearchBounds& bounds, uint32_t max_length, const MaskKernel& kernel,
             const AndPopcountKernel& bits, ItemsetVisitor& visitor, const ExecutionOptions& options);

  /// Searches the itemsets whose first item is one of the root's items [first, last). Where first is 0, also
  /// reports the itemsets of perfect extensions alone.
  /// @throws Error, std::bad_alloc
  void search(RootItem first, RootItem last);

 private:
  struct Candidate {
    uint32_t index;  // among the candidates of the node above; at the root, among the root's items
    Rank rank;
    uint32_t support;
  };

  uint32_t threshold() const { return bounds_.threshold(); }
  void make_root();
  template <typename Item>
  void walk_lists(const TransactionLists<Item>& lists, size_t candidates, uint32_t first, uint32_t last, uint32_t length);
  void make_root_rows();
  bool rows_pay(size_t rows, size_t tails) const;
  size_t count_rows(RootItem item, size_t candidates, uint32_t support);
  bool extend_rows(RootItem item, size_t tails, size_t candidates);
  template <typename Item>
  size_t count_tails(const TransactionLists<Item>& lists, Item item, size_t candidates, uint32_t support);
  template <typename Item>
  void extend_lists(const TransactionLists<Item>& lists, Item item, size_t candidates, uint32_t length);
  void walk_masks(size_t from, size_t to, uint64_t candidates, uint64_t branches, const uint32_t* support, uint32_t length);
  void extend_masks(size_t from, size_t to, uint64_t with, uint64_t candidates, const uint32_t* support, uint32_t length);
  void search_masks(size_t from, size_t added, uint64_t candidates, const uint32_t* support, uint32_t length);
  bool suits_bit_rows(size_t transactions, size_t distinct, uint64_t occurrences, size_t candidates) const;
  void write_leaf(const Rank* ranks, int items, uint32_t length);

  const SearchRoot& root_;
  const SearchBounds& bounds_;
  uint32_t max_length_;
  const MaskKernel& kernel_;
  const AndPopcountKernel& bits_;
  ItemsetVisitor& visitor_;
  const ExecutionOptions& options_;
  Poll poll_;
  std::vector<Candidate> candidates_;  // a stack: the candidates of each node on lists
  Buffer<uint32_t> counts_;            // [root items] zero between nodes
  Buffer<uint64_t> positions_;         // [root items] bit or index of an item in the child's form; zero between nodes
  MaskStack masks_;                    // a stack: the transactions of each node on masks
  MaskPairs pairs_;
  std::optional<HostLevels> root_rows_;  // of a root of lists, if they are no larger than the lists
  bool root_rows_asked_ = false;         // make_root_rows() was called
  double mean_tail_ = 0;                 // mean number of items behind an occurrence of the root
  bool root_made_ = false;               // masks_ begins with the root's masks
  bool root_counted_ = false;            // pairs_ has the pairs of the root's masks
  Rank mask_ranks_[kMaskItems];          // [bits] ranks of the mask bits in use
  LeafTable leaf_;
};

}  // namespace batmap
