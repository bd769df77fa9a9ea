// Breadth-first search, level by level: the algorithms `pbi` and `tbi`. Frequent itemsets of one length that
// share all but their last item are joined. A candidate with an infrequent subset is pruned. For the others the
// bit rows of the two parents are ANDed and counted. The two algorithms store itemsets and look up subsets
// differently: `pbi` has a bitmap over the items for each itemset, in lexicographical order, and uses binary
// search; `tbi` has a trie and follows its paths. Answers come at the end, in the order of depth_first.h.
//
// Where rows lie on a device, `pbi` leaves a whole level to it. A level whose rows do not fit there is searched
// in pieces of some parents each; pieces are not pruned.
//
// Cost: a bit row for each frequent itemset of two levels, 16 bytes for each frequent itemset, and for `pbi` on
// the CPU its bitmap. Source: Fang et al. 2009, 3.3 and 3.4; the pieces are ours.
#pragma once

#include <cstdint>
#include <vector>

#include "core/poll.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"
#include "itemsets/search/row_levels.h"
#include "itemsets/search/search_levels.h"

namespace batmap {

enum class ItemsetLookup { kBitmaps, kTrie };

class BreadthFirst {
 public:
  /// @param rows  has one level: the root's items
  BreadthFirst(const SearchRoot& root, const SearchBounds& bounds, uint32_t max_length, ItemsetLookup lookup,
               RowLevels& rows, ItemsetVisitor& visitor, SearchLevels& log, const ExecutionOptions& options);

  /// Searches the itemsets that begin with one of the first `leading` items. Call it once.
  void search(uint32_t leading);

 private:
  /// The frequent itemsets of one length in lexicographical order, so that children of one itemset are neighbours.
  struct Level {
    explicit Level(MemoryMeter& meter) : item(meter), support(meter), parent(meter), children(meter), bitmaps(meter) {}
    size_t size() const { return item.size(); }

    GrowingBuffer<RootItem> item;  // the last item of each itemset
    GrowingBuffer<uint32_t> support;
    GrowingBuffer<uint32_t> parent;    // index in the level before
    GrowingBuffer<uint32_t> children;  // [size + 1] where they begin in the next level; filled when that one exists
    GrowingBuffer<uint64_t> bitmaps;   // kBitmaps: [size][bitmap_words_]; the highest bit of the first word is item 0
  };

  void first_level(uint32_t leading);
  bool next_level();
  void count_candidates(std::vector<JoinedItemset>& candidates, GrowingBuffer<JoinedItemset>& kept);
  void extend_pieces(size_t base, size_t length, bool is_whole);
  void add(Level& level, RootItem item, uint32_t support, uint32_t parent);
  bool subsets_are_frequent(const std::vector<RootItem>& itemset) const;
  bool is_frequent(const std::vector<RootItem>& itemset, size_t without) const;
  std::vector<RootItem> itemset_at(size_t level, size_t index) const;
  void write(size_t level, size_t index);
  void write_plain(size_t level, size_t index);
  template <typename Visit>
  void visit_children(size_t level, size_t index, Visit visit) const;

  const SearchRoot& root_;
  const SearchBounds& bounds_;
  uint32_t max_length_;
  ItemsetLookup lookup_;
  ItemsetVisitor& visitor_;
  SearchLevels& log_;
  const ExecutionOptions& options_;
  mutable Poll poll_;
  RowLevels& rows_;
  size_t bitmap_words_;
  uint32_t leading_ = 0;
  std::vector<Level> levels_;
  std::vector<bool> is_perfect_;  // [items] used while answers are written
};

}  // namespace batmap
