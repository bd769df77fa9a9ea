// Depth-first search for frequent itemsets.
//
// A node is an itemset and the items that may follow it: those of later rank that are frequent together with it. Items rank
// by rising support, so the many branches are short. Items that are in all of a node's transactions are perfect extensions
// (itemset_visitor.h) and leave the search below it. A node's transactions are kept
// - as lists, where candidates are many: the later items of each occurrence are counted, and what remains of the
//   transactions is merged and linked for the next level (transaction_lists.h);
// - as weighted masks from 64 candidates down (mask_kernel.h), merged again at every level: dense data shrink to some dozens
//   of distinct masks within two levels. The last 64 items of a dense root of lists are searched in this way, too;
// - as a table of all subsets from eight candidates down, where the search ends;
// - as bit rows, from a node on whose many transactions are dense and do not merge (bit_row_search.h). A dense root of lists
//   has rows besides, for items that many transactions have and few frequent ones follow.
// The order of the answers follows from ranks and supports alone: candidates in order of rank, perfect extensions behind the
// itemset they were found at, the subsets of a last node's candidates as a plain walk.
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
#include "itemsets/forms/search_root.h"
#include "itemsets/search/bit_row_search.h"

namespace batmap {

class DepthFirst {
 public:
  /// @param root       must outlive the search; several may read it
  /// @param bounds     may become narrower while the search runs
  /// @param most       length of the longest itemset wanted
  DepthFirst(const SearchRoot& root, const SearchBounds& bounds, uint32_t most, const MaskKernel& kernel,
             const AndPopcountKernel& bits, ItemsetVisitor& visitor, const ExecutionOptions& options);

  /// The itemsets whose first item is one of the root's items [first, last). With the first branch come those
  /// of perfect extensions alone.
  /// @throws Error, std::bad_alloc
  void search(uint32_t first, uint32_t last);

 private:
  struct Candidate {
    uint32_t item;  // in the lists of its node
    uint32_t rank;
    uint32_t support;
  };
  using PairCounts = Buffer<uint32_t>;  // [64][64]

  uint32_t threshold() const { return bounds_.least(); }
  void make_root();
  void walk_lists(const TransactionLists& lists, size_t candidates, uint32_t first, uint32_t last, uint32_t length);
  void make_root_rows();
  bool rows_pay(size_t rows, size_t tails) const;
  size_t count_rows(uint32_t item, size_t candidates, uint32_t support);
  bool extend_rows(uint32_t item, size_t tails, size_t candidates, uint32_t length);
  size_t count_tails(const TransactionLists& lists, uint32_t item, size_t candidates, uint32_t support);
  void extend_lists(const TransactionLists& lists, uint32_t item, size_t candidates, uint32_t length);
  void walk_masks(size_t from, size_t to, uint64_t candidates, uint64_t branches, const uint32_t* support, uint32_t length);
  void extend_masks(size_t from, size_t to, uint64_t with, uint64_t candidates, const uint32_t* support, uint32_t length);
  void search_masks(size_t from, size_t added, uint64_t candidates, const uint32_t* support, uint32_t length);
  bool suits_bit_rows(size_t transactions, size_t distinct, uint64_t occurrences, size_t candidates) const;
  uint32_t* clear_leaf(int items);
  void write_leaf(const uint32_t* ranks, int items, uint32_t length);

  const SearchRoot& root_;
  const SearchBounds& bounds_;
  uint32_t most_;
  const MaskKernel& kernel_;
  const AndPopcountKernel& bits_;
  ItemsetVisitor& visitor_;
  const ExecutionOptions& options_;
  Poll poll_;
  std::vector<Candidate> candidates_;  // a stack: of each node on lists its candidates
  Buffer<uint32_t> counts_;            // [root items] zero between nodes
  Buffer<uint64_t> places_;            // [root items] where an item goes in the child's form; zero between nodes
  MaskStack masks_;                    // a stack: of each node on masks its transactions
  std::vector<PairCounts> pairs_;      // [nodes on masks]
  size_t pairs_used_ = 0;
  std::optional<HostLevels> root_rows_;  // of a root of lists, where they are no larger
  bool root_rows_asked_ = false;         // whether they are
  double mean_tail_ = 0;                 // items behind an occurrence of the root
  bool root_made_ = false;               // masks_ begins with those of the root
  bool root_counted_ = false;            // pairs_[0] has their pairs
  uint32_t mask_ranks_[kMaskItems];      // of the bits of all masks in use
  alignas(32) uint32_t leaf_[size_t{1} << kLeafItems];
};

}  // namespace batmap
