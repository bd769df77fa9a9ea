// Type batmap_itemset_counts: text and binary form, addition, sum, summary figures, and conversion to rows. The text form
// is "i1:" and the bytes in base64. Bytes from outside are validated in full. See
// kernels/itemsets/counts/itemset_counts.h for the format.
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

const SummedType kSummedItemsetCounts = {kItemsetCountsType, add_itemset_counts, itemset_counts_append};

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

namespace {

struct varlena* validated_counts(struct varlena* value) {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap itemset counts", ALLOCSET_SMALL_SIZES);
  const CountsWork* const work = ContextOwned<CountsWork>::reserve(context)->emplace();
  guarded([&] { validate_itemset_counts({value_bytes(value), value_capacity(value)}, work->options); });
  MemoryContextDelete(context);
  return value;
}

/// The header of argument 0; the bytes after it are not fetched.
ItemsetCountsHeader itemset_header_argument(FunctionCallInfo fcinfo) {
  const Datum value = PG_GETARG_DATUM(0);
  struct varlena* const slice = PG_DETOAST_DATUM_SLICE(value, 0, kItemsetCountsHeaderBytes);
  const std::span<const std::byte> first{reinterpret_cast<const std::byte*>(VARDATA_ANY(slice)), VARSIZE_ANY_EXHDR(slice)};
  if (!is_itemset_counts(first, toast_raw_datum_size(value) - VARHDRSZ)) raise_unsound(kSummedItemsetCounts.type);
  const ItemsetCountsHeader header = itemset_counts_header(first.data());
  return header.behind == 0 ? header : itemset_counts_header(value_bytes(itemset_counts_argument(fcinfo, 0)));
}

}  // namespace

BATMAP_FUNCTION(batmap_itemset_counts_in) {
  PG_RETURN_POINTER(validated_counts(flat_of_text(kSummedItemsetCounts.type, PG_GETARG_CSTRING(0))));
}

BATMAP_FUNCTION(batmap_itemset_counts_out) {
  struct varlena* const value = itemset_counts_argument(fcinfo, 0);
  PG_RETURN_CSTRING(flat_to_text(kSummedItemsetCounts.type, {value_bytes(value), value_capacity(value)}));
}

BATMAP_FUNCTION(batmap_itemset_counts_recv) {
  PG_RETURN_POINTER(
      validated_counts(flat_of_message(kSummedItemsetCounts.type, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)))));
}

BATMAP_FUNCTION(batmap_itemset_counts_send) { return sent(itemset_counts_argument(fcinfo, 0)); }

BATMAP_FUNCTION(batmap_itemset_counts_add) {
  struct varlena* const left = flat_argument(kSummedItemsetCounts.type, fcinfo, 0);
  struct varlena* const right = flat_argument(kSummedItemsetCounts.type, fcinfo, 1);
  PG_RETURN_POINTER(sum_of_two(kSummedItemsetCounts, left, right));
}

BATMAP_FUNCTION(batmap_itemset_counts_merge) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = flat_argument(kSummedItemsetCounts.type, fcinfo, 1);
  struct varlena* const state = PG_ARGISNULL(0) ? nullptr : flat_state(kSummedItemsetCounts.type, fcinfo);
  return sum_transition(kSummedItemsetCounts, state, other);
}

BATMAP_FUNCTION(batmap_itemset_counts_sum_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  PG_RETURN_POINTER(itemset_counts_argument(fcinfo, 0));
}

BATMAP_FUNCTION(batmap_itemset_counts_total) { PG_RETURN_INT64(static_cast<int64>(itemset_header_argument(fcinfo).total)); }
BATMAP_FUNCTION(batmap_itemset_counts_items) { PG_RETURN_INT64(itemset_header_argument(fcinfo).items); }
BATMAP_FUNCTION(batmap_itemset_counts_itemsets) {
  PG_RETURN_INT64(static_cast<int64>(itemset_header_argument(fcinfo).itemsets));
}
