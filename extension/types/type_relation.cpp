// Type batmap_relation: text and binary form, and conversion back to rows. The text form is "r1:" and
// the bytes in base64. Bytes from outside are validated in full. See kernels/relation/flat_relation.h
// for the format.
#include <algorithm>

#include "core/polled.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/flat_value.h"
#include "extension/types/relation_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

void validate(struct varlena* value) {
  guarded([&] { flat_validate({relation_bytes(value), relation_capacity(value)}); });
}

/// The distinct pairs of a relation, sorted. Lives in the context of its call.
struct SortedPairs {
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
                                relation_allocate, is_flat_relation};

struct varlena* relation_allocate(size_t capacity) {
  if (capacity > MaxAllocSize - VARHDRSZ)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap_relation would be larger than 1 GB"),
                    errhint("Give the query itself to batmap_pairs: it has no such limit.")));
  auto* const value = static_cast<struct varlena*>(palloc(capacity + VARHDRSZ));
  SET_VARSIZE(value, capacity + VARHDRSZ);
  return value;
}

struct varlena* relation_finished(struct varlena* value) {
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
  struct varlena* const value = relation_finished(relation_argument(fcinfo, 0));
  PG_RETURN_CSTRING(flat_to_text(kRelationType, {relation_bytes(value), relation_capacity(value)}));
}

BATMAP_FUNCTION(batmap_relation_recv) {
  struct varlena* const value = flat_of_message(kRelationType, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)));
  validate(value);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_relation_send) {
  return sent(relation_finished(relation_argument(fcinfo, 0)));
}

BATMAP_FUNCTION(batmap_relation_unnest) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap unnest", ALLOCSET_SMALL_SIZES);
  struct varlena* const value = relation_finished(relation_argument(fcinfo, 0));
  auto* const owned = ContextOwned<SortedPairs>::reserve(context);
  const SortedPairs* const sorted = owned->emplace(relation_bytes(value));
  for (size_t k = 0; k < sorted->count; ++k) {
    if (k % 4096 == 0) CHECK_FOR_INTERRUPTS();
    Datum values[2] = {Int64GetDatum(sorted->pairs[k].tid), Int64GetDatum(sorted->pairs[k].item)};
    bool nulls[2] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  MemoryContextDelete(context);
  return Datum{0};
}
