// Depth-first search for closed, maximal or generator itemsets only. Nodes have the forms of depth_first.h: lists, masks
// and tables (target_nodes.h). A node is cut, with all below it, where none of its itemsets can be an answer. Each
// target has a file: closed_search.cpp, maximal_search.cpp, generator_search.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "bits/and_popcount.h"
#include "core/options.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"
#include "itemsets/forms/mask_kernel.h"
#include "itemsets/forms/occurrence_lists.h"
#include "itemsets/forms/search_root.h"
#include "itemsets/search/itemset_target.h"

namespace batmap {

/// What a search reads, and whom it tells. All of it must outlive the search.
struct TargetSearchInput {
  const SearchRoot& root;              // several searches may read it
  const OccurrenceLists& occurrences;  // of root.lists
  const SearchBounds& bounds;          // min_count may rise while the search runs, unless the target is maximal
  uint32_t max_length;                 // length of the longest itemset wanted
  const MaskKernel& kernel;
  const AndPopcountKernel& bits;
  ItemsetVisitor& visitor;  // gets every answer in a visit of its own, without perfect extensions
  const ExecutionOptions& options;
};

class TargetSearch {
 public:
  virtual ~TargetSearch() = default;

  /// Searches the answers whose first item is one of the root's items [first, last). Closed itemsets may be
  /// searched branch by branch, in ascending order; the other targets need all branches in one call.
  /// @throws Error, std::bad_alloc
  virtual void search(RootItem first, RootItem last) = 0;
};

std::unique_ptr<TargetSearch> make_closed_search(const TargetSearchInput& input);
std::unique_ptr<TargetSearch> make_maximal_search(const TargetSearchInput& input);
std::unique_ptr<TargetSearch> make_generator_search(const TargetSearchInput& input);
/// One of these. @param target  not kAll
std::unique_ptr<TargetSearch> make_target_search(ItemsetTarget target, const TargetSearchInput& input);

}  // namespace batmap
