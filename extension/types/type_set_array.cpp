// Makes sets from arrays and ranges of integers, and arrays and rows from sets; reads and writes
// portable Roaring bytes.
#include <cstring>
#include <limits>

#include "compact/roaring_format.h"
#include "extension/server/backend.h"
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
  SetWork* const work = open_work();
  read_array(work, PG_GETARG_ARRAYTYPE_P(0));
  struct varlena* const value = elements_at_typmod(work, typmod);
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
  guarded([&] { decode(set, work->elements, work->options); });
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<Integer>::max());
  if (const uint64_t last = work->elements[count - 1]; last > kMax)
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("element " UINT64_FORMAT " is out of range for type integer", last), errhint("Cast to int8[].")));
  auto* const array = static_cast<ArrayType*>(palloc(bytes));
  SET_VARSIZE(array, bytes);
  array->ndim = 1;
  array->dataoffset = 0;
  array->elemtype = element_type;
  ARR_DIMS(array)[0] = static_cast<int>(count);
  ARR_LBOUND(array)[0] = 1;
  auto* const out = reinterpret_cast<Integer*>(ARR_DATA_PTR(array));
  for (uint64_t i = 0; i < count; ++i) out[i] = static_cast<Integer>(work->elements[i]);
  close_work(work);
  PG_RETURN_ARRAYTYPE_P(array);
}

Datum set_from_roaring(FunctionCallInfo fcinfo, RoaringForm form) {
  const std::span<const std::byte> bytes = set_bytes(PG_GETARG_VARLENA_PP(0));
  SetWork* const work = open_work();
  guarded_input(ERRCODE_INVALID_BINARY_REPRESENTATION,
                [&] { read_roaring(bytes, form, *selected_set_kernel().compact, work->compact, work->options); });
  struct varlena* const value = compact_value(work);
  close_work(work);
  PG_RETURN_POINTER(value);
}

Datum set_to_roaring(FunctionCallInfo fcinfo, RoaringForm form) {
  const SetView set = set_argument(fcinfo, 0);
  SetWork* const work = open_work();
  guarded_input(ERRCODE_INVALID_BINARY_REPRESENTATION, [&] {
    GrowingBuffer<std::byte> room(work->meter);
    write_roaring(as_compact(set, room, work->options).compact(), form, work->bytes, work->options);
  });
  struct varlena* const result = allocate_value(work->bytes.size());
  memcpy(VARDATA(result), work->bytes.begin(), work->bytes.size());
  close_work(work);
  PG_RETURN_POINTER(result);
}

/// @raises 54000 beyond what an entry of a jsonb can tell, as the server does
void check_jsonb_size(size_t bytes) {
  if (bytes > JENTRY_OFFLENMASK)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("total size of jsonb array elements exceeds the maximum of %d bytes", JENTRY_OFFLENMASK),
                    errhint("Use batmap_unnest.")));
}

}  // namespace

BATMAP_FUNCTION(batmap_from_array) { return set_from_array(fcinfo, read_typmod(PG_GETARG_INT32(1))); }
BATMAP_FUNCTION(batmap_from_array_universe) {
  return set_from_array(fcinfo, {width_of_universe(PG_GETARG_INT64(1)), false});
}
BATMAP_FUNCTION(batmap_to_int4_array) { return set_to_array<int32>(fcinfo, INT4OID); }
BATMAP_FUNCTION(batmap_to_int8_array) { return set_to_array<int64>(fcinfo, INT8OID); }

/// Not by way of the server's functions, which do not look for interrupts. The form is that of utils/jsonb.h: a header, an
/// entry for each element, the elements. An entry has the length of its element with the padding before it; every
/// JB_OFFSET_STRIDE'th has the end of its element instead.
BATMAP_FUNCTION(batmap_to_jsonb) {
  ArrayType* const array = DatumGetArrayTypeP(set_to_array<int64>(fcinfo, INT8OID));
  const auto* const elements = reinterpret_cast<const int64*>(ARR_DATA_PTR(array));
  const auto count = static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
  const size_t first = VARHDRSZ + offsetof(JsonbContainer, children) + count * sizeof(JEntry);
  StringInfoData bytes;
  initStringInfo(&bytes);
  check_jsonb_size(count * sizeof(JEntry));
  enlargeStringInfo(&bytes, static_cast<int>(first));
  bytes.len = static_cast<int>(first);
  for (size_t i = 0; i < count; ++i) {
    if (i % 4096 == 0) CHECK_FOR_INTERRUPTS();
    const int before = bytes.len;
    Numeric number = int64_to_numeric(elements[i]);
    appendStringInfoSpaces(&bytes, static_cast<int>(INTALIGN(before)) - before);
    memset(bytes.data + before, 0, static_cast<size_t>(bytes.len - before));
    appendBinaryStringInfo(&bytes, reinterpret_cast<char*>(number), static_cast<int>(VARSIZE_ANY(number)));
    pfree(number);
    check_jsonb_size(static_cast<size_t>(bytes.len) - VARHDRSZ);
    auto* const entries = reinterpret_cast<JsonbContainer*>(bytes.data + VARHDRSZ)->children;
    entries[i] = JENTRY_ISNUMERIC | (i % JB_OFFSET_STRIDE == 0 ? JENTRY_HAS_OFF | (bytes.len - first) : bytes.len - before);
  }
  reinterpret_cast<JsonbContainer*>(bytes.data + VARHDRSZ)->header = JB_FARRAY | static_cast<uint32>(count);
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
    guarded([&] { decode(set, work->elements, work->options); });
    call->user_fctx = work;
    call->max_calls = work->elements.size();
    MemoryContextSwitchTo(caller);
  }
  call = SRF_PERCALL_SETUP();
  const auto* const work = static_cast<const SetWork*>(call->user_fctx);
  if (call->call_cntr < call->max_calls) {
    // Computed before the macro, which increments call_cntr before it evaluates its argument.
    const Datum element = Int64GetDatum(static_cast<int64>(work->elements[call->call_cntr]));
    SRF_RETURN_NEXT(call, element);
  }
  SRF_RETURN_DONE(call);
}
