// Aggregates that return batmap_pair_counts. Rows of (tid, item) and sets of items are collected in a flat
// relation, and the final function counts them. Values of pair counts are appended to the state (summed_type.h).
// agg_relation.cpp explains states that change in place.
#include "extension/aggregates/agg_relation.h"
#include "extension/server/boundary.h"
#include "extension/server/flat_value.h"
#include "extension/server/settings.h"
#include "extension/types/pair_counts_datum.h"
#include "extension/types/relation_datum.h"
#include "extension/types/set_argument.h"
#include "pairs/counts/pair_counts_build.h"
#include "set/set_decode.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

Datum count_text_relation(struct varlena* relation) {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap texts", ALLOCSET_SMALL_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(context);
  const std::span<const std::string_view> texts = relation_texts(relation, *call_meter(context));
  MemoryContextSwitchTo(caller);
  const std::span<const std::byte> bytes = flat_bytes(relation);
  struct varlena* const counts = counts_made([&](CountsWork& work) {
    count_pairs_of(flat_chunks(text_relation_rows(bytes).data()), 0, selected_kernels(), work.bytes, work.options, texts);
  });
  MemoryContextDelete(context);
  PG_RETURN_POINTER(counts);
}

/// The counts of the relation in argument 0.
/// @param baskets  whether the state carries the number of its transactions, empty ones included
Datum count_relation(FunctionCallInfo fcinfo, bool baskets) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  struct varlena* const state = baskets ? relation_argument(fcinfo, 0) : any_relation_argument(fcinfo, 0);
  if (holds_texts(state)) return count_text_relation(relation_finished(state));
  const std::byte* const relation = relation_bytes(relation_finished(state));
  PG_RETURN_POINTER(counts_made([&](CountsWork& work) {
    const auto total = static_cast<uint64_t>(baskets ? flat_header(relation).carried : 0);
    count_pairs_of(flat_chunks(relation), total, selected_kernels(), work.bytes, work.options);
  }));
}

/// Sets the number of baskets of a state. @raises 22003 when it is too large, which only a hand-made
/// value can cause
void set_baskets(struct varlena* state, int64_t before, int64_t more) {
  FlatHeader header = flat_header(relation_bytes(state));
  if (__builtin_add_overflow(before, more, &header.carried))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number of baskets out of range")));
  set_flat_header(relation_bytes(state), header);
}

}  // namespace

BATMAP_FUNCTION(batmap_pair_counts_final) { return count_relation(fcinfo, false); }

// Baskets are numbered in the order of arrival; the state carries the number of the next one.

BATMAP_FUNCTION(batmap_pair_counts_basket_trans) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  SetReader items(set_argument(fcinfo, 1));
  struct varlena* state = relation_state(fcinfo);
  const int64_t tid = flat_header(relation_bytes(state)).carried;
  uint64_t chunk[kChunkElements];
  while (const size_t count = guarded([&] { return items.next(chunk); })) {
    CHECK_FOR_INTERRUPTS();
    for (size_t k = 0; k < count; ++k) state = relation_append(state, tid, static_cast<int64_t>(chunk[k]));
  }
  set_baskets(state, tid, 1);
  PG_RETURN_POINTER(state);
}

BATMAP_FUNCTION(batmap_pair_counts_basket_merge) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = relation_argument(fcinfo, 1);
  const int64_t before = PG_ARGISNULL(0) ? 0 : flat_header(relation_bytes(relation_argument(fcinfo, 0))).carried;
  const int64_t more = flat_header(relation_bytes(other)).carried;
  struct varlena* const state = relation_merge(fcinfo, other, before);
  set_baskets(state, before, more);
  PG_RETURN_POINTER(state);
}

BATMAP_FUNCTION(batmap_pair_counts_basket_final) { return count_relation(fcinfo, true); }

BATMAP_FUNCTION(batmap_pair_counts_merge) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = counts_argument(fcinfo, 1);
  struct varlena* const state = PG_ARGISNULL(0) ? nullptr : flat_state(kPairCountsType, fcinfo);
  if (state != nullptr) check_same_items(state, other);
  return sum_transition(kSummedPairCounts, state, other);
}

BATMAP_FUNCTION(batmap_pair_counts_sum_final) { return summed_final(kSummedPairCounts, fcinfo); }
