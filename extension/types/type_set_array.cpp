// Makes sets from arrays and ranges of integers, and arrays and rows from sets; reads and writes
// portable Roaring bytes.
#include <cstring>
#include <limits>
#include <span>

#include "compact/roaring_format.h"
#include "extension/server/backend.h"
#include "extension/server/context_owned.h"
#include "extension/server/settings.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "set/set_decode.h"
#include "set/set_operations.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// Makes a set of an int2[], int4[] or int8[], as a typmod declares it.
Datum set_from_array(FunctionCallInfo fcinfo, Typmod typmod) {
  ArrayType* const array = PG_GETARG_ARRAYTYPE_P(0);
  SetWork* const work = open_work(2 * size_t{VARSIZE(array)});
  struct varlena* const value = elements_at_typmod(work, read_array(work, array), typmod);
  close_work(work);
  PG_RETURN_POINTER(value);
}

template <typename Integer>
Datum set_to_array(FunctionCallInfo fcinfo, Oid element_type) {
  const SetView set = set_argument(fcinfo, 0);
  const uint64_t count = set.cardinality();
  if (count == 0) PG_RETURN_ARRAYTYPE_P(construct_empty_array(element_type));
  const uint64_t bytes = ARR_OVERHEAD_NONULLS(1) + count * sizeof(Integer);
  if (bytes > MaxAllocSize)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
             errmsg("array of " UINT64_FORMAT " elements would be larger than 1 GB", count), errhint("Use batmap_unnest.")));
  SetWork* const work = open_work();
  auto* const array = static_cast<ArrayType*>(palloc(bytes));
  SET_VARSIZE(array, bytes);
  array->ndim = 1;
  array->dataoffset = 0;
  array->elemtype = element_type;
  ARR_DIMS(array)[0] = static_cast<int>(count);
  ARR_LBOUND(array)[0] = 1;
  auto* out = reinterpret_cast<Integer*>(ARR_DATA_PTR(array));
  uint64_t last = 0;
  guarded([&] {
    AscendingReader reader(set, work->options);
    uint64_t chunk[kChunkElements];
    while (const size_t read = reader.next(chunk)) {
      for (size_t i = 0; i < read; ++i) *out++ = static_cast<Integer>(chunk[i]);
      last = chunk[read - 1];
    }
  });
  if (last > static_cast<uint64_t>(std::numeric_limits<Integer>::max()))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("element " UINT64_FORMAT " is out of range for type integer", last), errhint("Cast to int8[].")));
  close_work(work);
  PG_RETURN_ARRAYTYPE_P(array);
}

Datum set_from_roaring(FunctionCallInfo fcinfo, RoaringForm form) {
  const std::span<const std::byte> bytes = set_bytes(PG_GETARG_VARLENA_PP(0));
  SetWork* const work = open_work(bytes.size());
  guarded_input(ERRCODE_INVALID_BINARY_REPRESENTATION,
                [&] { read_roaring(bytes, form, *selected_set_kernel().compact, work->compact, work->options); });
  struct varlena* const value = compact_value(work);
  close_work(work);
  PG_RETURN_POINTER(value);
}

Datum set_to_roaring(FunctionCallInfo fcinfo, RoaringForm form) {
  const SetView set = set_argument(fcinfo, 0);
  SetWork* const work = open_work(set.bytes());
  guarded_input(ERRCODE_INVALID_BINARY_REPRESENTATION, [&] {
    GrowingBuffer<std::byte> room(work->meter);
    write_roaring(as_compact(set, room, work->options).compact(), form, work->bytes, work->options);
  });
  struct varlena* const result = allocate_value(work->bytes.size());
  memcpy(VARDATA(result), work->bytes.begin(), work->bytes.size());
  close_work(work);
  PG_RETURN_POINTER(result);
}

/// The elements of a set, one by one.
class SetElements {
 public:
  SetElements(SetView set, const ExecutionOptions& options) : reader_(set, options) {}
  /// @return whether there is one more
  bool next(uint64_t* element) {
    if (at_ == count_) {
      guarded([this] { count_ = reader_.next(chunk_); });
      at_ = 0;
    }
    if (count_ == 0) return false;
    *element = chunk_[at_++];
    return true;
  }

 private:
  AscendingReader reader_;
  size_t at_ = 0;
  size_t count_ = 0;
  uint64_t chunk_[kChunkElements];
};

/// @raises 54000 beyond what an entry of a jsonb can tell, as the server does
void check_jsonb_size(size_t bytes) {
  if (bytes > JENTRY_OFFLENMASK)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("total size of jsonb array elements exceeds the maximum of %d bytes", JENTRY_OFFLENMASK),
                    errhint("Use batmap_unnest.")));
}

}  // namespace

BATMAP_FUNCTION(batmap_from_array) { return set_from_array(fcinfo, read_typmod(PG_GETARG_INT32(1))); }
BATMAP_FUNCTION(batmap_from_array_universe) { return set_from_array(fcinfo, declared_universe(PG_GETARG_INT64(1))); }
BATMAP_FUNCTION(batmap_to_int4_array) { return set_to_array<int32>(fcinfo, INT4OID); }
BATMAP_FUNCTION(batmap_to_int8_array) { return set_to_array<int64>(fcinfo, INT8OID); }

/// Not by way of the server's functions, which do not look for interrupts. The form is that of utils/jsonb.h: a header, an
/// entry for each element, the elements. An entry has the length of its element with the padding before it; every
/// JB_OFFSET_STRIDE'th has the end of its element instead.
BATMAP_FUNCTION(batmap_to_jsonb) {
  const SetView set = set_argument(fcinfo, 0);
  const uint64_t count = set.cardinality();
  check_jsonb_size(count * sizeof(JEntry));
  const size_t first = VARHDRSZ + offsetof(JsonbContainer, children) + count * sizeof(JEntry);
  StringInfoData bytes;
  initStringInfo(&bytes);
  enlargeStringInfo(&bytes, static_cast<int>(first));
  bytes.len = static_cast<int>(first);
  const auto container = [&] { return reinterpret_cast<JsonbContainer*>(bytes.data + VARHDRSZ); };
  SetWork* const work = open_work();
  SetElements* const elements = ContextOwned<SetElements>::reserve(work->context)->emplace(set, work->options);
  uint64_t element = 0;
  for (uint64_t i = 0; elements->next(&element); ++i) {
    const int before = bytes.len;
    Numeric number = int64_to_numeric(static_cast<int64>(element));
    appendStringInfoSpaces(&bytes, static_cast<int>(INTALIGN(before)) - before);
    memset(bytes.data + before, 0, static_cast<size_t>(bytes.len - before));
    appendBinaryStringInfo(&bytes, reinterpret_cast<char*>(number), static_cast<int>(VARSIZE_ANY(number)));
    pfree(number);
    check_jsonb_size(static_cast<size_t>(bytes.len) - VARHDRSZ);
    const auto end = static_cast<uint32>(bytes.len - first);
    const auto length = static_cast<uint32>(bytes.len - before);
    container()->children[i] = JENTRY_ISNUMERIC | (i % JB_OFFSET_STRIDE == 0 ? JENTRY_HAS_OFF | end : length);
  }
  close_work(work);
  container()->header = JB_FARRAY | static_cast<uint32>(count);
  SET_VARSIZE(bytes.data, bytes.len);
  PG_RETURN_JSONB_P(reinterpret_cast<Jsonb*>(bytes.data));
}

BATMAP_FUNCTION(batmap_from_roaring) { return set_from_roaring(fcinfo, RoaringForm::k32); }
BATMAP_FUNCTION(batmap_from_roaring64) { return set_from_roaring(fcinfo, RoaringForm::k64); }
BATMAP_FUNCTION(batmap_to_roaring) { return set_to_roaring(fcinfo, RoaringForm::k32); }
BATMAP_FUNCTION(batmap_to_roaring64) { return set_to_roaring(fcinfo, RoaringForm::k64); }

BATMAP_FUNCTION(batmap_range) {
  const int64 low = PG_GETARG_INT64(0);
  const int64 high = PG_GETARG_INT64(1);
  SetWork* const work = open_work();
  if (low < high) {
    const uint64_t first = checked_element(low);
    const uint64_t last = checked_element(high - 1);
    // Too large a range is refused before its blocks are written: each takes 8 bytes or more.
    if ((last - first) / kBlockSpan > MaxAllocSize / 8)
      ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap would be larger than 1 GB")));
    guarded([&] { work->compact.add_range(first, last); });
  }
  struct varlena* const value = compact_value(work);
  close_work(work);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_set_unnest) {
  FuncCallContext* call;
  if (SRF_IS_FIRSTCALL()) {
    call = SRF_FIRSTCALL_INIT();
    const MemoryContext caller = MemoryContextSwitchTo(call->multi_call_memory_ctx);
    const SetView set = set_argument(fcinfo, 0);
    SetWork* const work = open_work();
    call->user_fctx = ContextOwned<SetElements>::reserve(work->context)->emplace(set, work->options);
    MemoryContextSwitchTo(caller);
  }
  call = SRF_PERCALL_SETUP();
  uint64_t element = 0;
  if (static_cast<SetElements*>(call->user_fctx)->next(&element))
    SRF_RETURN_NEXT(call, Int64GetDatum(static_cast<int64>(element)));
  SRF_RETURN_DONE(call);
}
