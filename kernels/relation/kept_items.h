// The items that can be part of an answer, in the order in which they are counted.
//
// Infrequent and excluded items are dropped before anything is built (BM section I-B2). The others get ranks.
// Included items come first, if the caller named any; only pairs with one of these are counted. Then items are
// ranked by rising number of rows, so that tiles are even (BM section III-C) and methods that walk the transactions
// of a pair's first item walk those of the rarer one. Ties are broken by item value. So the order depends on the
// rows and not on how they arrived: every method with any number of threads answers in the same order.
//
// If there are two kinds of items (`left_items`), the kind with the smaller product (its rows) x (the other
// kind's items) comes first, since this product is the cost of summing bit rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/item_numbers.h"
#include "relation/item_totals.h"
#include "relation/wanted_pairs.h"

namespace batmap {

struct ItemFilter {
  uint64_t min_rows = 1;
  std::optional<std::vector<int64_t>> include;        // item values; at least one item of a pair is one of them
  std::optional<std::vector<int64_t>> exclude;        // item values; no item of a pair is one of them
  std::optional<std::span<const int64_t>> only = {};  // item values, ascending; both items of a pair are among them
  // Items with values below this are one kind, the others another; a pair has one item of each kind. Not
  // together with `include`.
  std::optional<int64_t> left_items = {};
  uint32_t enough = UINT32_MAX;  // see WantedPairs
};

struct KeptItems {
  static constexpr Rank kDropped{UINT32_MAX};

  Buffer<Rank> rank_of_code;      // [item codes] the rank, or kDropped
  Buffer<ItemCode> code_of_rank;  // [size]
  uint32_t size = 0;
  WantedPairs pairs;         // without `include` and `left_items`: leading == size
  uint64_t occurrences = 0;  // rows of kept items

  /// The rank, or kDropped.
  Rank rank(ItemCode code) const { return rank_of_code[index_of(code)]; }
  ItemCode code(Rank rank) const { return code_of_rank[index_of(rank)]; }
};

/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
KeptItems keep_items(const EncodedRelation& relation, const ItemFilter& filter, const ExecutionOptions& options);
KeptItems keep_items(const ItemTotals& totals, const ItemFilter& filter, const ExecutionOptions& options);

/// Those of `kept`, whose ranks are over all partitions, that occur in one partition. They get ranks of their own,
/// in the same order.
/// @param global_rank  overwritten: [size of the result] the rank in `kept` of each
KeptItems keep_items_of_partition(const EncodedRelation& partition, const ItemTotals& totals, const KeptItems& kept,
                                  Buffer<Rank>& global_rank, const ExecutionOptions& options);

}  // namespace batmap
