// Aggregates that return batmap_pair_counts. Rows of (tid, item) and sets of items are collected in a flat
// relation, and the final function counts them. Values of pair counts are appended to the state (summed_type.h).
//
// batmap_pair_counts_by_tid_agg is for rows whose tids lie on one server each. Its state, of type batmap_pair_counts_state, is a
// relation or pair counts. Within a server, rows combine with rows, so a parallel plan may split a transaction. The text and
// binary forms are those of pair counts: what a server sends (Citus) is counted before, and counts add up.
// agg_relation.cpp explains states that change in place.
#include <span>
#include <string_view>
#include <utility>

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

/// @param relation  with integer items @param total  see count_pairs_of()
struct varlena* counts_of_relation(struct varlena* relation, uint64_t total) {
  const std::byte* const rows = relation_bytes(relation_finished(relation));
  return counts_made(
      [&](CountsWork& work) { count_pairs_of(flat_chunks(rows), total, selected_kernels(), work.bytes, work.options); });
}

/// The counts of the relation in argument 0.
/// @param baskets  whether the state carries the number of its transactions, empty ones included
Datum count_relation(FunctionCallInfo fcinfo, bool baskets) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  struct varlena* const state = baskets ? relation_argument(fcinfo, 0) : any_relation_argument(fcinfo, 0);
  if (holds_texts(state)) return count_text_relation(relation_finished(state));
  PG_RETURN_POINTER(
      counts_of_relation(state, static_cast<uint64_t>(baskets ? flat_header(relation_bytes(state)).carried : 0)));
}

/// Sets the number of baskets of a state. @raises 22003 when it is too large, which only a hand-made
/// value can cause
void set_baskets(struct varlena* state, int64_t before, int64_t more) {
  FlatHeader header = flat_header(relation_bytes(state));
  if (__builtin_add_overflow(before, more, &header.carried))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number of baskets out of range")));
  set_flat_header(relation_bytes(state), header);
}

// ---- by tid

constexpr uint8_t kRowsVersion = 129;  // of a state that is a relation; none of pair counts

bool has_rows(std::span<const std::byte> bytes) { return !bytes.empty() && bytes[0] == std::byte{kRowsVersion}; }

constexpr FlatType kByTidType = {
    "batmap_pair_counts_state", "c1:", nullptr, counts_allocate, [](std::span<const std::byte> bytes) {
      return has_rows(bytes) ? is_flat_relation_within(bytes, kRowsVersion) : is_pair_counts(bytes, bytes.size());
    }};

/// A state as pair counts, which may not be added up yet.
struct varlena* counts_of_state(struct varlena* state) {
  return has_rows(flat_bytes(state)) ? counts_of_relation(state, 0) : state;
}

struct varlena* finished_by_tid(FunctionCallInfo fcinfo) {
  return counts_finished(counts_of_state(flat_argument(kByTidType, fcinfo, 0)));
}

template <typename Tid, typename Item>
Datum by_tid_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1) || PG_ARGISNULL(2)) return unchanged_state(fcinfo);
  struct varlena* state;
  if (PG_ARGISNULL(0)) {
    state = new_relation_state();
    relation_bytes(state)[0] = std::byte{kRowsVersion};
  } else {
    state = flat_state(kByTidType, fcinfo);
    if (!has_rows(flat_bytes(state)))
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the state has counts, to which no row can be added"),
                      errhint("Rows come before states of other servers.")));
  }
  PG_RETURN_POINTER(relation_append(state, integer_argument<Tid>(fcinfo, 1), integer_argument<Item>(fcinfo, 2)));
}

}  // namespace

BATMAP_FUNCTION(batmap_pair_counts_state_in) {
  PG_RETURN_POINTER(counts_validated(flat_of_text(kByTidType, PG_GETARG_CSTRING(0))));
}
BATMAP_FUNCTION(batmap_pair_counts_state_out) {
  struct varlena* const counts = finished_by_tid(fcinfo);
  PG_RETURN_CSTRING(flat_to_text(kPairCountsType, {counts_bytes(counts), counts_capacity(counts)}));
}
BATMAP_FUNCTION(batmap_pair_counts_state_recv) {
  PG_RETURN_POINTER(counts_validated(flat_of_message(kByTidType, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)))));
}
BATMAP_FUNCTION(batmap_pair_counts_state_send) { return sent(finished_by_tid(fcinfo)); }

BATMAP_FUNCTION(batmap_pair_counts_by_tid_trans_int4_int4) { return by_tid_trans<int32_t, int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_pair_counts_by_tid_trans_int4_int8) { return by_tid_trans<int32_t, int64_t>(fcinfo); }
BATMAP_FUNCTION(batmap_pair_counts_by_tid_trans_int8_int4) { return by_tid_trans<int64_t, int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_pair_counts_by_tid_trans_int8_int8) { return by_tid_trans<int64_t, int64_t>(fcinfo); }

BATMAP_FUNCTION(batmap_pair_counts_by_tid_merge) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = flat_argument(kByTidType, fcinfo, 1);
  struct varlena* const state = PG_ARGISNULL(0) ? nullptr : flat_state(kByTidType, fcinfo);
  if (has_rows(flat_bytes(other)) && (state == nullptr || has_rows(flat_bytes(state))))
    PG_RETURN_POINTER(merged_relation(state, other, 0));
  struct varlena* const counts = counts_of_state(other);
  if (state == nullptr) return sum_transition(kSummedPairCounts, nullptr, counts);
  struct varlena* const before = counts_of_state(state);
  check_same_items(before, counts);
  return sum_transition(kSummedPairCounts, before, counts);
}

BATMAP_FUNCTION(batmap_pair_counts_by_tid_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  PG_RETURN_POINTER(finished_by_tid(fcinfo));
}

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
    for (size_t k = 0; k < count; ++k) {
      struct varlena* const before = std::exchange(state, relation_append(state, tid, static_cast<int64_t>(chunk[k])));
      if (before != state && PointerGetDatum(before) != PG_GETARG_DATUM(0)) pfree(before);  // the caller owns its argument
    }
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
