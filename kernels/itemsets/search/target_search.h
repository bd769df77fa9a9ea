// Depth-first search for closed, maximal or generator itemsets only. Nodes have the forms of depth_first.h:
// lists, masks and tables. A node is cut, with all below it, where none of its itemsets can be an answer.
//
// - Closed. An itemset with all its perfect extensions is closed unless an item that was passed over on the way down is in
//   all of its transactions, too. Then nothing below it is closed either (prefix-preserving closure). Where transactions
//   merge, the merged one keeps those of the items passed over that all of them have.
// - Maximal. A closed itemset without frequent extensions is maximal unless one found before contains it: an item passed
//   over that is frequent with it has led to that one. A node is cut if its itemset and candidates together lie in one
//   found before. The search keeps the itemsets found. For each node it also keeps which of the node's candidates are in
//   each found itemset that contains the node's itemset.
// - Generators. A generator is an itemset whose subsets of one item less all have more support. If an itemset is none,
//   nothing below it is. The search runs from the last candidate to the first, so that these subsets come first;
//   generators are kept in a hash table and looked up.
//
// Memory beyond the transactions: closed none, maximal the answers, generators 32 to 80 bytes an answer.
// Source: closed, Uno, Asai, Uchida, Arimura (LCM, FIMI 2003 and 2004); maximal, Grahne, Zhu (FPmax, FIMI 2003) and Gouda,
// Zaki (GenMax, ICDM 2001); generators, Szathmary et al. (Talky-G, 2009). The forms are ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bits/and_popcount.h"
#include "core/options.h"
#include "core/poll.h"
#include "itemsets/answers/found_itemsets.h"
#include "itemsets/answers/itemset_supports.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"
#include "itemsets/forms/leaf_order.h"
#include "itemsets/forms/mask_kernel.h"
#include "itemsets/forms/occurrence_lists.h"
#include "itemsets/forms/search_root.h"
#include "itemsets/search/itemset_target.h"

namespace batmap {

class TargetSearch {
 public:
  /// @param target       not kAll
  /// @param root         must outlive the search; several may read it
  /// @param occurrences  of root.lists
  /// @param bounds       min_count may rise while the search runs, unless the target is maximal
  /// @param most         length of the longest itemset wanted
  /// @param visitor      gets every answer in a visit of its own, without perfect extensions
  TargetSearch(ItemsetTarget target, const SearchRoot& root, const OccurrenceLists& occurrences, const SearchBounds& bounds,
               uint32_t most, const MaskKernel& kernel, const AndPopcountKernel& bits, ItemsetVisitor& visitor,
               const ExecutionOptions& options);

  /// Searches the answers whose first item is one of the root's items [first, last). Closed itemsets may be
  /// searched branch by branch, in ascending order; the other targets need all branches in one call.
  /// @throws Error, std::bad_alloc
  void search(uint32_t first, uint32_t last);

 private:
  struct Candidate {
    uint32_t item;  // of the root
    uint32_t support;
  };
  using PairCounts = Buffer<uint32_t>;  // [64][64]

  uint32_t threshold() const { return bounds_.least(); }
  /// Must itemsets of this length be searched? For maximal ones always: a longer itemset shows
  /// that its subsets are not maximal.
  bool may_have(size_t length) const { return length <= most_ || target_ == ItemsetTarget::kMaximal; }

  bool make_root();
  void walk_lists(const OccurrenceLists& lists, std::span<const Candidate> candidates, size_t first, size_t last,
                  uint32_t support);
  void extend_lists(std::span<const ItemOccurrence> occurrences, const Candidate& candidate);
  void search_lists(std::span<const ItemOccurrence> occurrences, std::span<const Candidate> candidates, uint32_t support);
  bool is_covered(std::span<const ItemOccurrence> occurrences);
  enum class Part { kBefore, kBehind };
  std::span<const uint32_t> part_of(const ItemOccurrence& occurrence, Part part) const;
  std::vector<Candidate> frequent_items(std::span<const ItemOccurrence> occurrences);
  template <typename Visit>
  bool make_masks(const Visit& visit, size_t transactions, std::span<const Candidate> candidates);
  void share_head(std::span<const uint32_t> before, size_t mask);
  void place_heads(size_t candidates);

  void walk_masks(size_t from, size_t to, uint64_t candidates, uint64_t branches, const uint32_t* supports,
                  uint32_t support);
  void extend_masks(size_t from, size_t to, uint64_t with, uint64_t passed, uint64_t candidates, const uint32_t* supports,
                    uint32_t support);
  bool is_covered(size_t from, size_t to, uint64_t with, uint64_t passed);
  void add_mask(uint64_t mask, uint32_t weight, const uint64_t* shared, uint64_t passed);
  void shrink_masks(size_t size);

  void search_table(size_t from, size_t to, uint64_t with, uint64_t passed, uint64_t candidates, uint32_t support);
  void fill_table(size_t from, size_t to, uint64_t with, uint64_t passed, uint64_t candidates);
  void search_closed_table(std::span<const uint32_t> leaf, uint64_t with, uint64_t candidates);
  void search_generator_table(std::span<const uint32_t> leaf);

  size_t length() const;
  bool take_generator(uint32_t item, uint32_t support);
  bool subsets_have_more(ItemsetSignature sum, uint32_t support);
  void push(uint32_t item);
  void pop(size_t items);
  void tell(std::span<const uint32_t> more, uint32_t support);
  void keep_found(std::span<const uint32_t> more, uint64_t bits);

  ItemsetTarget target_;
  const SearchRoot& root_;
  const OccurrenceLists& occurrences_;
  const SearchBounds& bounds_;
  uint32_t most_;
  const MaskKernel& kernel_;
  const AndPopcountKernel& bits_;
  ItemsetVisitor& visitor_;
  const ExecutionOptions& options_;
  Poll poll_;

  // The current itemset. The visitor knows the first `told_` of its items.
  std::vector<uint32_t> perfect_;  // ranks: the root's perfect extensions
  std::vector<uint32_t> path_;     // its other items, as items of the root
  uint32_t told_ = 0;

  // Lists.
  std::vector<Candidate> candidates_;  // of the root
  Buffer<uint32_t> counts_;            // [root items] zero between nodes
  Buffer<uint32_t> place_;             // [root items] 1 + index in the child's form; zero between nodes
  Buffer<uint64_t> bit_;               // [root items] bit in the masks; zero between nodes
  Buffer<bool> left_out_;              // [root items] of the path; for generators also those refused at the nodes above
  std::vector<uint32_t> shared_;
  struct Head {
    size_t begin;
    size_t length;
  };
  GrowingBuffer<Head> heads_;  // [masks] items passed over that its transactions share, while the first masks are made
  GrowingBuffer<uint32_t> head_items_;

  // Masks. The first bits are the candidates of the first node on masks. Then come the items passed over before
  // it, if they are frequent with it.
  MaskStack masks_;
  size_t words_ = 0;                 // for these bits; 0 for generators
  GrowingBuffer<uint64_t> passed_;   // [masks][words_] items passed over that all transactions of the mask have
  uint32_t mask_items_[kMaskItems];  // [bits] items of the root
  uint64_t path_bits_ = 0;
  std::vector<PairCounts> pairs_;  // [nodes on masks]
  size_t nodes_ = 0;
  bool root_counted_ = false;  // pairs_[0] has the pairs of the root's masks

  // Tables.
  alignas(32) uint32_t table_[size_t{1} << kLeafItems];
  Buffer<uint64_t> passed_table_;  // [words_][2^kLeafItems]

  // Maximal itemsets; and for each node on masks, the node's candidates in each of those that contain its itemset.
  FoundItemsets found_;
  std::vector<GrowingBuffer<uint64_t>> near_;

  // Generators.
  std::vector<ItemsetSignature> sums_{0};  // of the first 0, 1, ... items of path_
  ItemsetSupports generators_;
};

}  // namespace batmap
