// Algorithm `dfs`, and the last resort of depth_first.h where transactions do not merge: depth-first search over bit rows.
// At each node one row is ANDed with all later rows, the results are counted, the frequent ones are packed, and the search
// goes on among them. Answers come in the order of depth_first.h. Cost: a row of all columns for each candidate of each node
// on the path. Source: Losiak 2009, 5.1.5 and 5.5; perfect extensions are added.
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
    uint32_t rank;
    uint32_t support;
  };

  /// @param rows  one level: a row for each candidate of the node
  BitRowSearch(RowLevels& rows, const SearchBounds& bounds, uint32_t most, ItemsetVisitor& visitor)
      : rows_(rows), bounds_(bounds), most_(most), visitor_(visitor) {}

  /// The itemsets that go on with one of the first `branches` candidates of the node.
  /// @param length  of the node's itemset
  /// @param plain   perfect extensions are candidates like others: the node is a last node of depth_first.h
  void search(const std::vector<Candidate>& candidates, size_t branches, uint32_t length, bool plain);

 private:
  RowLevels& rows_;
  const SearchBounds& bounds_;
  uint32_t most_;
  ItemsetVisitor& visitor_;
  std::vector<JoinedItemset> found_;
};

/// The itemsets of a root that begin with one of its first `leading` items. @param rows  of the root's items
void search_bit_rows(const SearchRoot& root, uint32_t leading, const SearchBounds& bounds, uint32_t most, RowLevels& rows,
                     ItemsetVisitor& visitor);

}  // namespace batmap
