// Aggregates that build a batmap_relation of text items: transitions for text and uuid, and merging. The state is a
// relation of text items with room to grow (kernels/relation/text_relation.h), changed in place while there is room, as
// in agg_relation.cpp.
#include "extension/aggregates/agg_relation.h"
#include "extension/input/arguments.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/flat_value.h"
#include "extension/types/relation_datum.h"
#include "extension/types/text_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr TextRelationRoom kFirstTextRoom{64, kFirstTextSlots, kFlatHeaderBytes + kFlatSlack + 4 * sizeof(TidItem)};

struct varlena* new_text_state() {
  struct varlena* const state = relation_allocate(kFirstTextRoom.bytes());
  text_relation_init(flat_bytes(state), kFirstTextRoom);
  return state;
}

/// A state of a relation, with room for so many more bytes of texts and rows, and for a text.
struct varlena* with_text_room(struct varlena* value, size_t text_bytes, size_t rows) {
  const TextRelationRoom now = text_relation_room(flat_bytes(value));
  const TextRelationRoom needed = text_relation_needed(flat_bytes(value), text_bytes, 1, rows);
  const auto grown = [](size_t has, size_t needs) { return has >= needs ? has : grown_capacity(needs, needs / 4); };
  if (now.texts >= needed.texts && now.slots >= needed.slots && now.relation >= needed.relation)
    raise_unsound(kRelationType);
  TextRelationRoom room{grown(now.texts, needed.texts), Max(now.slots, needed.slots), grown(now.relation, needed.relation)};
  if (room.bytes() > MaxAllocSize - VARHDRSZ) room = {needed.texts, room.slots, needed.relation};
  struct varlena* const state = relation_allocate(room.bytes());
  guarded([&] { text_relation_copy(flat_bytes(value), flat_bytes(state), room, backend_cancel_token()); });
  return state;
}

[[noreturn]] void raise_mixed_items() {
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("a relation of integer items and one of text items have no union"),
           errhint("Cast the integers to text: batmap_relation_agg(tid, item::text).")));
  pg_unreachable();
}

}  // namespace

struct varlena* text_state(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(0)) return new_text_state();
  struct varlena* const state = flat_state(kRelationType, fcinfo);
  if (holds_texts(state)) return state;
  if (relation_row_count(state) > 0) raise_mixed_items();
  return new_text_state();
}

struct varlena* append_text_row(struct varlena* state, int64_t tid, std::string_view text) {
  if (text_relation_append(flat_bytes(state), tid, text)) return state;
  state = with_text_room(state, text_bytes_at_most(text.size()), 1);
  text_relation_append(flat_bytes(state), tid, text);
  return state;
}

struct varlena* merge_texts(FunctionCallInfo fcinfo, struct varlena* other) {
  if (!holds_texts(other)) {
    if (relation_row_count(other) > 0) raise_mixed_items();
    return any_relation_argument(fcinfo, 0);
  }
  if (PG_ARGISNULL(0)) return reinterpret_cast<struct varlena*>(PG_DETOAST_DATUM_COPY(PointerGetDatum(other)));
  struct varlena* state = text_state(fcinfo);
  const std::span<const std::byte> bytes = flat_bytes(other);
  const size_t count = text_relation_header(bytes.data()).texts;
  const auto working_memory = [&](size_t size) {
    return MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * size);
  };
  const std::span texts(static_cast<std::string_view*>(working_memory(sizeof(std::string_view))), count);
  const std::span numbers(static_cast<uint32_t*>(working_memory(sizeof(uint32_t))), count);
  const CancelToken cancel = backend_cancel_token();
  auto* const merge = static_cast<TextRelationMerge*>(palloc(sizeof(TextRelationMerge)));
  guarded([&] { new (merge) TextRelationMerge(bytes, texts, numbers, cancel); });
  while (!guarded([&] { return merge->into(flat_bytes(state), cancel); }))
    state = with_text_room(state, merge->next_text_bytes(), kChunkRows);
  pfree(merge);
  pfree(texts.data());
  pfree(numbers.data());
  return AggCheckCallContext(fcinfo, nullptr) != 0 ? state : relation_finished(state);
}

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

namespace {

template <typename Tid>
Datum text_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1) || PG_ARGISNULL(2)) return unchanged_state(fcinfo);
  const std::string_view item = text_argument(fcinfo, 2);
  PG_RETURN_POINTER(append_text_row(text_state(fcinfo), integer_argument<Tid>(fcinfo, 1), item));
}

/// Items are the canonical text of the uuid.
template <typename Tid>
Datum uuid_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1) || PG_ARGISNULL(2)) return unchanged_state(fcinfo);
  const UuidText item(PG_GETARG_UUID_P(2));
  PG_RETURN_POINTER(append_text_row(text_state(fcinfo), integer_argument<Tid>(fcinfo, 1), item.view()));
}

}  // namespace

BATMAP_FUNCTION(batmap_relation_trans_int4_text) { return text_trans<int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int8_text) { return text_trans<int64_t>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int4_uuid) { return uuid_trans<int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_relation_trans_int8_uuid) { return uuid_trans<int64_t>(fcinfo); }
