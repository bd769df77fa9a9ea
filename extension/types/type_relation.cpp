// Type batmap_relation: text and binary form, and conversion back to rows. The text form is "r1:" and
// the bytes in base64. Bytes from outside are validated in full. See kernels/relation/flat_relation.h and, for text
// items, kernels/relation/text_relation.h for the formats.
#include <algorithm>
#include <span>
#include <string_view>

#include "core/polled.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/flat_value.h"
#include "extension/types/relation_datum.h"
#include "extension/types/text_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

void validate(struct varlena* value) {
  const std::span<const std::byte> bytes = flat_bytes(value);
  if (!has_text_items(bytes)) {
    guarded([&] { flat_validate(bytes); });
    return;
  }
  guarded([&] {
    MemoryMeter meter(memory_limit_bytes(), session_memory());
    text_relation_validate(bytes, meter, backend_cancel_token());
  });
  for (ItemTexts texts(text_relation_texts(bytes)); texts.next();) {  // which are all there
    CHECK_FOR_INTERRUPTS();
    check_encoding(texts.text());
  }
}

/// The distinct pairs of a relation, sorted. Lives in the context of its call.
struct SortedPairs {
  /// @param bytes  of a finished relation of integer items
  explicit SortedPairs(const std::byte* bytes)
      : meter(memory_limit_bytes(), session_memory()), pairs(meter, flat_header(bytes).rows()) {
    const CancelToken cancel = backend_cancel_token();
    size_t at = 0;
    for (const ChunkView& chunk : flat_chunks(bytes)) {
      cancel.throw_if_requested();
      decode_chunk(chunk, pairs.data() + at);
      at += chunk.rows;
    }
    auto less = [](const TidItem& x, const TidItem& y) { return x.tid != y.tid ? x.tid < y.tid : x.item < y.item; };
    std::sort(pairs.begin(), pairs.end(), polled(cancel, less));
    auto same = [](const TidItem& x, const TidItem& y) { return x.tid == y.tid && x.item == y.item; };
    count = static_cast<size_t>(std::unique(pairs.begin(), pairs.end(), same) - pairs.begin());
  }

  MemoryMeter meter;
  Buffer<TidItem> pairs;
  size_t count;
};

}  // namespace

const FlatType kRelationType = {"batmap_relation", "r1:", "Build relations with batmap_relation_agg(tid, item).",
                                relation_allocate, [](std::span<const std::byte> bytes) {
                                  return has_text_items(bytes) ? is_text_relation(bytes) : is_flat_relation(bytes);
                                }};

const FlatType kIntegerRelationType = {kRelationType.name,
                                       kRelationType.prefix,
                                       kRelationType.hint,
                                       relation_allocate,
                                       is_flat_relation,
                                       [](std::span<const std::byte> bytes) {
                                         if (has_text_items(bytes) && is_text_relation(bytes))
                                           raise_text_items("The _of forms of the functions take it.");
                                       }};

void raise_text_items(const char* hint) {
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("the items of the relation are text"), errhint("%s", hint)));
  pg_unreachable();
}

void raise_integer_items(const char* hint) {
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("the items of the relation are integers"), errhint("%s", hint)));
  pg_unreachable();
}

void raise_relation_too_large() {
  ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap_relation would be larger than 1 GB"),
                  errhint("Give the query itself to batmap_pairs: it has no such limit.")));
  pg_unreachable();
}

struct varlena* relation_allocate(size_t capacity) {
  if (capacity > MaxAllocSize - VARHDRSZ) raise_relation_too_large();
  auto* const value = static_cast<struct varlena*>(palloc(capacity + VARHDRSZ));
  SET_VARSIZE(value, capacity + VARHDRSZ);
  return value;
}

std::span<const std::string_view> relation_texts(struct varlena* value, MemoryMeter& meter) {
  const std::span<const std::byte> bytes = flat_bytes(value);
  if (!guarded([&] { return has_numbers_of_texts(bytes); })) raise_unsound(kRelationType);
  const size_t count = text_relation_header(bytes.data()).texts;
  const size_t array_bytes = Max(count, 1) * sizeof(std::string_view);
  guarded([&] { meter.charge(array_bytes); });
  auto* const texts = static_cast<std::string_view*>(MemoryContextAllocHuge(CurrentMemoryContext, array_bytes));
  guarded([&] { read_texts(text_relation_texts(bytes), {texts, count}, backend_cancel_token()); });
  return {texts, count};
}

namespace {

struct varlena* finished_of_texts(struct varlena* value) {
  const std::span<const std::byte> bytes = flat_bytes(value);
  if (is_finished_text_relation(bytes)) return value;
  struct varlena* const finished = relation_allocate(guarded([&] { return text_relation_finished_capacity(bytes); }));
  const size_t used = guarded([&] {
    MemoryMeter meter(memory_limit_bytes(), session_memory());
    return text_relation_finish(bytes, relation_bytes(finished), meter, backend_cancel_token());
  });
  SET_VARSIZE(finished, used + VARHDRSZ);
  return finished;
}

}  // namespace

FinishedTexts finished_texts(FunctionCallInfo fcinfo, int argument, MemoryContext context, const char* hint) {
  struct varlena* value = any_relation_argument(fcinfo, argument);
  const bool texts = holds_texts(value);
  if (!texts && relation_row_count(value) > 0) raise_integer_items(hint);
  value = relation_finished(value);
  if (!texts) return {flat_rows(value), nullptr};
  const MemoryContext caller = MemoryContextSwitchTo(context);
  MemoryMeter* const meter = call_meter(context);
  const Datum* const values = text_values(relation_texts(value, *meter), context, *meter);
  MemoryContextSwitchTo(caller);
  return {flat_rows(value), values};
}

struct varlena* relation_finished(struct varlena* value) {
  if (holds_texts(value)) return finished_of_texts(value);
  const FlatHeader header = flat_header(relation_bytes(value));
  if (header.open_rows == 0 && flat_used(header) == relation_capacity(value)) return value;
  struct varlena* const finished = relation_allocate(flat_finished_capacity(header));
  const size_t used = flat_finish(relation_bytes(value), relation_bytes(finished));
  SET_VARSIZE(finished, used + VARHDRSZ);
  return finished;
}

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

BATMAP_FUNCTION(batmap_relation_in) {
  struct varlena* const value = flat_of_text(kRelationType, PG_GETARG_CSTRING(0));
  validate(value);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_relation_out) {
  struct varlena* const value = relation_finished(any_relation_argument(fcinfo, 0));
  PG_RETURN_CSTRING(flat_to_text(kRelationType, {relation_bytes(value), relation_capacity(value)}));
}

BATMAP_FUNCTION(batmap_relation_recv) {
  struct varlena* const value = flat_of_message(kRelationType, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)));
  validate(value);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_relation_send) { return sent(relation_finished(any_relation_argument(fcinfo, 0))); }

namespace {

/// The distinct pairs of a finished relation as the rows of a call.
/// @param texts  of the items; nullptr: items are integers
Datum put_pairs(FunctionCallInfo fcinfo, const std::byte* flat, const Datum* texts) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap unnest", ALLOCSET_SMALL_SIZES);
  auto* const owned = ContextOwned<SortedPairs>::reserve(context);
  const SortedPairs* const sorted = owned->emplace(flat);
  for (size_t k = 0; k < sorted->count; ++k) {
    if (k % 4096 == 0) CHECK_FOR_INTERRUPTS();
    const TidItem& pair = sorted->pairs[k];
    Datum values[2] = {Int64GetDatum(pair.tid), texts == nullptr ? Int64GetDatum(pair.item) : texts[pair.item]};
    bool nulls[2] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  MemoryContextDelete(context);
  return Datum{0};
}

}  // namespace

BATMAP_FUNCTION(batmap_relation_unnest) {
  struct varlena* const value = any_relation_argument(fcinfo, 0);
  if (holds_texts(value)) raise_text_items("Use batmap_unnest_of.");
  return put_pairs(fcinfo, relation_bytes(relation_finished(value)), nullptr);
}

BATMAP_FUNCTION(batmap_relation_unnest_of) {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap unnest", ALLOCSET_SMALL_SIZES);
  const FinishedTexts relation = finished_texts(fcinfo, 0, context, "Use batmap_unnest.");
  put_pairs(fcinfo, relation.rows, relation.texts);
  MemoryContextDelete(context);
  return Datum{0};
}
