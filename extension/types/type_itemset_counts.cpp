// Type batmap_itemset_counts: text and binary form, addition, sum, summary figures, and conversion to rows. The text form
// is "i1:" and the bytes in base64. Bytes from outside are validated in full. See
// kernels/itemsets/counts/itemset_counts.h for the format.
#include <span>

#include "extension/types/itemset_counts_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

struct varlena* itemset_counts_allocate(size_t capacity) {
  return value_allocate("batmap_itemset_counts", "Raise the threshold or give max_length.", capacity);
}

constexpr FlatType kItemsetCountsType = {
    "batmap_itemset_counts", "i1:", "Make itemset counts with batmap_itemset_candidates(query, min_support => 0.01).",
    itemset_counts_allocate, [](std::span<const std::byte> bytes) { return is_itemset_counts(bytes, bytes.size()); }};

}  // namespace

const SummedType kSummedItemsetCounts = {kItemsetCountsType, add_itemset_counts, itemset_counts_append,
                                         validate_itemset_counts};

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

namespace {

ItemsetCountsHeader itemset_header_argument(FunctionCallInfo fcinfo) {
  return summed_header_argument<ItemsetCountsHeader>(kSummedItemsetCounts, fcinfo, is_itemset_counts);
}

}  // namespace

BATMAP_FUNCTION(batmap_itemset_counts_in) { return summed_in(kSummedItemsetCounts, fcinfo); }
BATMAP_FUNCTION(batmap_itemset_counts_out) { return summed_out(kSummedItemsetCounts, fcinfo); }
BATMAP_FUNCTION(batmap_itemset_counts_recv) { return summed_recv(kSummedItemsetCounts, fcinfo); }
BATMAP_FUNCTION(batmap_itemset_counts_send) { return summed_send(kSummedItemsetCounts, fcinfo); }
BATMAP_FUNCTION(batmap_itemset_counts_add) { return summed_add(kSummedItemsetCounts, fcinfo); }
BATMAP_FUNCTION(batmap_itemset_counts_merge) { return summed_merge(kSummedItemsetCounts, fcinfo); }
BATMAP_FUNCTION(batmap_itemset_counts_sum_final) { return summed_final(kSummedItemsetCounts, fcinfo); }

BATMAP_FUNCTION(batmap_itemset_counts_total) { PG_RETURN_INT64(static_cast<int64>(itemset_header_argument(fcinfo).total)); }
BATMAP_FUNCTION(batmap_itemset_counts_items) { PG_RETURN_INT64(itemset_header_argument(fcinfo).items); }
BATMAP_FUNCTION(batmap_itemset_counts_itemsets) {
  PG_RETURN_INT64(static_cast<int64>(itemset_header_argument(fcinfo).itemsets));
}
