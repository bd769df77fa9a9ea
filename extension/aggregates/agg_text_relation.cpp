// States of the aggregates over rows with text items: appending and merging. A state is a relation of text items with
// room to grow (kernels/relation/text_relation.h), changed in place while there is room, as in agg_relation.cpp.
#include <span>
#include <string_view>

#include "extension/aggregates/agg_relation.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/flat_value.h"
#include "extension/types/relation_datum.h"
#include "extension/types/text_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr size_t kLargestState = MaxAllocSize - VARHDRSZ;
constexpr TextRelationRoom kFirstTextRoom{64, kFirstTextSlots, kFlatHeaderBytes + kFlatSlack + 4 * sizeof(TidItem)};

struct varlena* new_text_state() {
  struct varlena* const state = relation_allocate(kFirstTextRoom.bytes());
  text_relation_init(flat_bytes(state), kFirstTextRoom, pg_prng_uint32(&pg_global_prng_state));
  return state;
}

/// A state of a relation, with room for so many more bytes of texts and rows, and for a text. Near 1 GB each copy takes
/// about a second, so one that would leave little room is refused.
struct varlena* with_text_room(struct varlena* value, size_t text_bytes, size_t rows) {
  const TextRelationRoom now = text_relation_room(flat_bytes(value));
  const TextRelationRoom needed = text_relation_needed(flat_bytes(value), text_bytes, 1, rows);
  const auto grown = [](size_t has, size_t needs) { return has >= needs ? has : grown_capacity(needs, needs / 4); };
  if (now.texts >= needed.texts && now.slots >= needed.slots && now.relation >= needed.relation)
    raise_unsound(kRelationType);
  const TextRelationRoom wanted{grown(now.texts, needed.texts), Max(now.slots, needed.slots),
                                grown(now.relation, needed.relation)};
  if (needed.bytes() > kLargestState - kLargestState / 1024) raise_relation_too_large();
  const TextRelationRoom room = text_relation_room_within(needed, wanted, kLargestState);
  struct varlena* const state = relation_allocate(room.bytes());
  const uint32_t seed = pg_prng_uint32(&pg_global_prng_state);
  guarded([&] { text_relation_copy(flat_bytes(value), flat_bytes(state), room, backend_cancel_token(), seed); });
  return state;
}

/// A merge with its working memory. Lives in the context of its call.
struct TextsToMerge {
  TextsToMerge(std::span<const std::byte> other, const CancelToken& cancel)
      : meter(memory_limit_bytes(), session_memory()),
        texts(meter, text_relation_header(other.data()).texts),
        numbers(meter, texts.size()),
        merge(other, texts.span(), numbers.span(), cancel) {}

  MemoryMeter meter;
  Buffer<std::string_view> texts;
  Buffer<uint32_t> numbers;
  TextRelationMerge merge;
};

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
  const CancelToken cancel = backend_cancel_token();
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap merge", ALLOCSET_SMALL_SIZES);
  TextRelationMerge& merge = ContextOwned<TextsToMerge>::reserve(context)->emplace(flat_bytes(other), cancel)->merge;
  while (!guarded([&] { return merge.into(flat_bytes(state), cancel); })) {
    struct varlena* const superseded = state;
    state = with_text_room(superseded, merge.next_text_bytes(), kChunkRows);
    if (PointerGetDatum(superseded) != PG_GETARG_DATUM(0)) pfree(superseded);  // the caller owns its argument
  }
  MemoryContextDelete(context);
  return AggCheckCallContext(fcinfo, nullptr) != 0 ? state : relation_finished(state);
}

}  // namespace batmap::pg
