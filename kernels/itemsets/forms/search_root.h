// The database at the root of a search for itemsets: kept items with their exact supports, transactions merged, in the
// horizontal form or, for at most 64 items, as masks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/options.h"
#include "itemsets/forms/leaf_order.h"
#include "itemsets/forms/mask_merger.h"
#include "itemsets/forms/transaction_lists.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"

namespace batmap {

struct SearchRoot {
  explicit SearchRoot(MemoryMeter& meter) : masks(meter), lists(meter) {}

  uint32_t transactions = 0;
  std::vector<uint32_t> perfect;  // ranks of items that are in all transactions, which the other members leave out
  std::vector<uint32_t> items;    // rank of each item, ascending; their places are the items of the forms
  std::vector<uint32_t> support;  // [items]
  uint32_t leading = 0;           // itemsets begin with one of the first so many items,
  uint32_t leading_ranks = 0;     // whose ranks are below this
  bool as_masks = false;          // which form is there
  uint32_t first_masked = 0;      // of lists: the items from here on, 64 or none, are searched on masks all the same
  MaskStack masks;
  TransactionLists lists;

  /// All subsets of the items are one table (depth_first.h).
  bool is_leaf() const { return as_masks && items.size() <= kLeafItems && leading == items.size(); }
};

/// Items of fewer than `min_count` transactions are left out. Where not every item may lead, none counts as perfect.
/// @param linked  lists get the tails of the items before first_masked, and lack transactions of one item
/// Cost: some passes over the rows. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
SearchRoot build_search_root(const EncodedRelation& relation, const KeptItems& kept, uint64_t min_count, bool linked,
                             const ExecutionOptions& options);

}  // namespace batmap
