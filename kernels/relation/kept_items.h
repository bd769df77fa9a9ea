// The items that can be part of an answer, in the order in which they are counted.
//
// Infrequent and excluded items leave before anything is built (BM section I-B2). The others get ranks: first the
// included ones (where the caller named any; only pairs with one of these are counted), then by rising number of
// rows, so that tiles are even (BM section III-C) and methods that walk the transactions of a pair's first item walk
// those of the rarer one; ties by item value. The order depends on which rows the relation has and how often, never on
// how they arrived: every method and any number of threads answers in the same order.
//
// Of two kinds of items (`left_items`) one kind leads: the one whose rows times the other's items are fewer, which is what
// summing bit rows costs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/options.h"
#include "relation/encoded_relation.h"
#include "relation/item_totals.h"
#include "relation/wanted_pairs.h"

namespace batmap {

struct ItemFilter {
  uint64_t min_rows = 1;
  std::optional<std::vector<int64_t>> include;  // item values; a pair needs one of them
  std::optional<std::vector<int64_t>> exclude;  // item values; a pair has none of them
  // Item values below it are of one kind, the others of another, and a pair has one of each. Not together with `include`.
  std::optional<int64_t> left_items = {};
  uint32_t enough = UINT32_MAX;  // see WantedPairs
};

struct KeptItems {
  static constexpr uint32_t kDropped = UINT32_MAX;

  Buffer<uint32_t> rank_of_code;  // [item codes] or kDropped
  Buffer<uint32_t> code_of_rank;  // [size]
  uint32_t size = 0;
  WantedPairs pairs;         // leading == size without an include list
  uint64_t occurrences = 0;  // rows of kept items
};

/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
KeptItems keep_items(const EncodedRelation& relation, const ItemFilter& filter, const ExecutionOptions& options);
KeptItems keep_items(const ItemTotals& totals, const ItemFilter& filter, const ExecutionOptions& options);

/// Those of `kept`, which has ranks over all partitions, that occur in one of them and in pairs with the rows from `first`
/// up to `last`. They have ranks of their own, in the same order.
/// @param global_rank  overwritten: [size of the result] their ranks in `kept`
KeptItems keep_items_of_partition(const EncodedRelation& partition, const ItemTotals& totals, const KeptItems& kept,
                                  uint32_t first, uint32_t last, Buffer<uint32_t>& global_rank,
                                  const ExecutionOptions& options);

}  // namespace batmap
