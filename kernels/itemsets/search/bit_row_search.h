// Depth-first search over bit rows: the algorithm `dfs`, and the last resort of depth_first.h where transactions do
// not merge. At each node one row is ANDed with all later rows, the results are counted, the frequent ones are packed,
// and the search continues among them. Answers come in the order of depth_first.h. Cost: one row of all columns for
// each candidate of each node on the current path. Source: Losiak 2009, 5.1.5 and 5.5; perfect extensions are added.
#pragma once

#include <cstdint>
#include <vector>

#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"
#include "itemsets/search/row_levels.h"

namespace batmap {

/// A search over the rows of one node.
class BitRowSearch {
 public:
  struct Candidate {
    Rank rank;
    uint32_t support;
  };

  /// @param rows  one level: a row for each candidate of the node
  BitRowSearch(RowLevels& rows, const SearchBounds& bounds, uint32_t max_length, ItemsetVisitor& visitor)
      : rows_(rows), bounds_(bounds), max_length_(max_length), visitor_(visitor) {}

  /// Searches the itemsets that extend the node's itemset by one of its first `branches` candidates.
  /// @param length  of the node's itemset
  /// @param plain   treats perfect extensions like other candidates: the node is a leaf of depth_first.h
  void search(const std::vector<Candidate>& candidates, size_t branches, uint32_t length, bool plain);

 private:
  RowLevels& rows_;
  const SearchBounds& bounds_;
  uint32_t max_length_;
  ItemsetVisitor& visitor_;
  std::vector<JoinedItemset> found_;
};

/// Searches the itemsets of a root that begin with one of its first `leading` items. @param rows  of the root's items
void search_bit_rows(const SearchRoot& root, uint32_t leading, const SearchBounds& bounds, uint32_t max_length,
                     RowLevels& rows, ItemsetVisitor& visitor);

}  // namespace batmap
