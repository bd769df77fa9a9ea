// The root of a search for itemsets: kept items with their exact supports, and merged transactions in the
// horizontal form or, for at most 64 items, as masks. The items that are searched are numbered from 0 as root items;
// of masks, the bit of an item is at its number. Memory: see transaction_lists.h and mask_merger.h.
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

inline constexpr RootItem kNoRootItem{UINT32_MAX};

struct SearchRoot {
  explicit SearchRoot(MemoryMeter& meter) : masks(meter), lists(meter) {}

  uint32_t transactions = 0;
  std::vector<Rank> perfect;      // items that are in all transactions; the other members leave them out
  std::vector<Rank> items;        // rank of each root item, ascending
  std::vector<uint32_t> support;  // [items]
  uint32_t leading = 0;           // itemsets begin with one of the first so many items
  uint32_t leading_ranks = 0;     // the ranks of these are below this
  bool as_masks = false;          // masks or lists
  RootItem first_masked{0};       // of lists: the items from here on, 64 or none, are searched on masks
  MaskStack masks;
  TransactionLists<RootItem> lists;

  // Ranks become root items, and root items ranks, only here.
  Rank rank_of(RootItem item) const { return items[index_of(item)]; }
  /// The root item of each rank, kNoRootItem for those that are not searched. @param ranks  how many there are
  std::vector<RootItem> root_items(size_t ranks) const;

  uint32_t support_of(RootItem item) const { return support[index_of(item)]; }
  /// Is the root a single table of all subsets (depth_first.h)?
  bool is_leaf() const { return as_masks && items.size() <= kLeafItems && leading == items.size(); }
};

/// Leaves out items of fewer than `min_count` transactions. Where not every item may lead, no item counts as perfect.
/// @param linked  lists get tails for the items before first_masked, and leave out transactions of one item
/// Cost: some passes over the rows. @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
SearchRoot build_search_root(const EncodedRelation& relation, const KeptItems& kept, uint64_t min_count, bool linked,
                             const ExecutionOptions& options);

}  // namespace batmap
