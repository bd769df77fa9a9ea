// Aggregates that build batmap_relation: transition, merge and final functions. The state is the flat value
// itself with room to grow, and it is changed in place while there is room. When it must grow, the transition
// returns a larger copy, and the executor copies that into the context of the aggregate. There is no C++
// object and no memory context per group, so a million small groups stay cheap.
#include "extension/aggregates/agg_relation.h"

#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/flat_value.h"
#include "extension/types/relation_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr size_t kFirstCapacity = kFlatHeaderBytes + kFlatSlack + 4 * sizeof(TidItem);

size_t grown(size_t needed) { return grown_capacity(needed, needed / 4); }

struct varlena* copy_with_capacity(struct varlena* value, size_t capacity) {
  struct varlena* const copy = relation_allocate(capacity);
  const FlatHeader header = flat_header(relation_bytes(value));
  memcpy(relation_bytes(copy), relation_bytes(value), flat_used(header));
  return copy;
}

}  // namespace

struct varlena* new_relation_state() {
  struct varlena* const state = relation_allocate(kFirstCapacity);
  flat_init(relation_bytes(state));
  return state;
}

struct varlena* relation_state(FunctionCallInfo fcinfo) {
  return PG_ARGISNULL(0) ? new_relation_state() : flat_state(kIntegerRelationType, fcinfo);
}

struct varlena* relation_append(struct varlena* state, int64_t tid, int64_t item) {
  const TidItem pair{tid, item};
  if (!flat_append(relation_bytes(state), relation_capacity(state), pair)) {
    const size_t needed = flat_used(flat_header(relation_bytes(state))) + sizeof(TidItem) + kFlatSlack;
    state = copy_with_capacity(state, grown(needed));
    flat_append(relation_bytes(state), relation_capacity(state), pair);
  }
  return state;
}

int64_t min_count_argument(FunctionCallInfo fcinfo, int index) {
  if (PG_ARGISNULL(index))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("min_count must not be NULL"),
                    errhint("For all of them, give 1.")));
  const int64_t min_count = PG_GETARG_INT64(index);
  if (min_count < 1)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("min_count must be at least 1, not " INT64_FORMAT, min_count)));
  return min_count;
}

int64_t carried_number(struct varlena* state) { return flat_header(flat_rows(state)).carried; }

void carry_number(struct varlena* state, int64_t number) {
  FlatHeader header = flat_header(flat_rows(state));
  header.carried = number;
  set_flat_header(flat_rows(state), header);
}

struct varlena* relation_merge(FunctionCallInfo fcinfo, struct varlena* other, int64_t tid_shift) {
  return merged_relation(PG_ARGISNULL(0) ? nullptr : relation_state(fcinfo), other, tid_shift);
}

struct varlena* merged_relation(struct varlena* state, struct varlena* other, int64_t tid_shift) {
  const std::byte* const bytes = relation_bytes(other);
  if (state == nullptr) return copy_with_capacity(other, relation_capacity(other));
  const size_t needed = guarded([&] { return flat_merged_capacity(flat_header(relation_bytes(state)), bytes); });
  if (relation_capacity(state) < needed) state = copy_with_capacity(state, grown(needed));
  guarded([&] { flat_merge(relation_bytes(state), relation_capacity(state), bytes, backend_cancel_token(), tid_shift); });
  return state;
}

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

namespace {

template <RowAppender Append>
Datum relation_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1) || PG_ARGISNULL(2)) return unchanged_state(fcinfo);
  PG_RETURN_POINTER(Append(fcinfo));
}

}  // namespace

BATMAP_FUNCTION(batmap_relation_trans_int4_int4) { return relation_trans<with_integer_row<int32_t, int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int4_int8) { return relation_trans<with_integer_row<int32_t, int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int8_int4) { return relation_trans<with_integer_row<int64_t, int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int8_int8) { return relation_trans<with_integer_row<int64_t, int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int4_text) { return relation_trans<with_text_row<int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int8_text) { return relation_trans<with_text_row<int64_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int4_uuid) { return relation_trans<with_uuid_row<int32_t>>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int8_uuid) { return relation_trans<with_uuid_row<int64_t>>(fcinfo); }

BATMAP_FUNCTION(batmap_relation_merge) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = any_relation_argument(fcinfo, 1);
  if (holds_texts(other) || (!PG_ARGISNULL(0) && holds_texts(any_relation_argument(fcinfo, 0))))
    PG_RETURN_POINTER(merge_texts(fcinfo, other));
  PG_RETURN_POINTER(relation_merge(fcinfo, other, 0));
}

BATMAP_FUNCTION(batmap_relation_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  struct varlena* const state = any_relation_argument(fcinfo, 0);
  struct varlena* const finished = relation_finished(state);
  PG_RETURN_POINTER(finished);
}
