// Algorithms `pbi` and `tbi`: breadth-first search, level by level. Frequent itemsets of one length that share all but their
// last item are joined, what has an infrequent subset is pruned, and the bit rows of the two parents are ANDed and counted.
// The two differ in how itemsets are kept and subsets looked up: `pbi` has a bitmap over the items for each, in
// lexicographical order, and searches it in halves; `tbi` has a trie and follows paths. Answers come at the end, in the
// order of depth_first.h. Where rows lie on a device, `pbi` leaves all of a level to it; levels whose rows do not fit there
// are searched in pieces, parents by parents, without the subsets of other pieces. Cost: a bit row for every frequent
// itemset of two levels, 16 bytes for every frequent itemset. Source: Fang et al. 2009, 3.3 and 3.4; the pieces are ours.
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
  /// @param rows  one level: the root's items
  BreadthFirst(const SearchRoot& root, const SearchBounds& bounds, uint32_t most, ItemsetLookup lookup, RowLevels& rows,
               ItemsetVisitor& visitor, SearchLevels& log, const ExecutionOptions& options);

  /// The itemsets that begin with one of the first `leading` items. To be called once.
  void search(uint32_t leading);

 private:
  /// The frequent itemsets of one length in lexicographical order: children of one itemset of the length before lie
  /// together.
  struct Level {
    explicit Level(MemoryMeter& meter) : item(meter), support(meter), parent(meter), children(meter), bitmaps(meter) {}
    size_t size() const { return item.size(); }

    GrowingBuffer<uint32_t> item;  // the last of each
    GrowingBuffer<uint32_t> support;
    GrowingBuffer<uint32_t> parent;    // place in the level before
    GrowingBuffer<uint32_t> children;  // where they begin in the next level, and one more; once that is there
    GrowingBuffer<uint64_t> bitmaps;   // kBitmaps: [size][bitmap_words_]; the highest bit of the first word is item 0
  };

  void first_level(uint32_t leading);
  bool next_level();
  void count_candidates(std::vector<JoinedItemset>& candidates, GrowingBuffer<JoinedItemset>& kept);
  void extend_pieces(size_t base, size_t length, bool is_whole);
  void add(Level& level, uint32_t item, uint32_t support, uint32_t parent);
  bool subsets_are_frequent(const std::vector<uint32_t>& itemset) const;
  bool is_frequent(const std::vector<uint32_t>& itemset, size_t without) const;
  std::vector<uint32_t> itemset_at(size_t level, size_t place) const;
  void write(size_t level, size_t place);
  void write_plain(size_t level, size_t place);
  template <typename Visit>
  void visit_children(size_t level, size_t place, Visit visit) const;

  const SearchRoot& root_;
  const SearchBounds& bounds_;
  uint32_t most_;
  ItemsetLookup lookup_;
  ItemsetVisitor& visitor_;
  SearchLevels& log_;
  const ExecutionOptions& options_;
  mutable Poll poll_;
  uint64_t candidates_ = 0;  // of the level at hand
  RowLevels& rows_;
  size_t bitmap_words_;
  uint32_t leading_ = 0;
  std::vector<Level> levels_;
  std::vector<bool> is_perfect_;  // [items] while answers are written
};

}  // namespace batmap
