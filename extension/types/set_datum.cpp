// Shared by the functions of type batmap. See set_datum.h.
#include "extension/types/set_datum.h"

#include "extension/server/backend.h"
#include "extension/server/context_owned.h"

#include "extension/server/pg.h"

namespace batmap::pg {

SetWork::SetWork(MemoryContext owner)
    : context(owner),
      meter(memory_limit_bytes(), session_memory()),
      options{1, &meter, backend_cancel_token()},
      elements(meter),
      text(meter),
      bytes(meter),
      encoder(options) {}

SetWork* open_work() {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap set", ALLOCSET_SMALL_SIZES);
  return ContextOwned<SetWork>::reserve(context)->emplace(context);
}

void close_work(SetWork* work) { MemoryContextDelete(work->context); }

struct varlena* allocate_value(uint64_t bytes) {
  if (bytes > MaxAllocSize - VARHDRSZ)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap would be larger than 1 GB"),
                    errdetail("It would take " UINT64_FORMAT " bytes.", bytes)));
  auto* const value = static_cast<struct varlena*>(palloc(bytes + VARHDRSZ));
  SET_VARSIZE(value, bytes + VARHDRSZ);
  return value;
}

struct varlena* encode_set(SetWork* work, std::span<const uint64_t> elements, int width) {
  const size_t bytes = guarded([&] { return work->encoder.prepare(elements, width); });
  struct varlena* const value = allocate_value(bytes);
  guarded([&] { work->encoder.write(reinterpret_cast<std::byte*>(VARDATA(value))); });
  return value;
}

namespace {

// A typmod above this is kDeclared + N. One up to kMaxWidth is a width.
constexpr int32 kDeclared = 64;

bool is_power_of_two(int64 x) { return (x & (x - 1)) == 0; }

}  // namespace

int32 typmod_of_universe(int64 universe) {
  const int width = width_of_universe(universe);
  return is_power_of_two(universe) || universe > INT32_MAX - kDeclared ? width : static_cast<int32>(kDeclared + universe);
}

int64 universe_of_typmod(int32 typmod) {
  if (typmod > kDeclared) return typmod - kDeclared;
  return static_cast<int64>(universe_of(declared_width(typmod)));
}

int declared_width(int32 typmod) {
  if (typmod > kDeclared) return width_for(static_cast<uint64_t>(typmod - kDeclared));
  if (typmod < 0 || typmod > kMaxWidth)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("type modifier %d of type batmap is not valid", typmod)));
  return typmod;
}

int width_of_typmod(int32 typmod, std::span<const uint64_t> sorted) {
  const uint64_t largest = sorted.empty() ? 0 : sorted.back();
  if (typmod < 0) return undeclared_width(largest);
  const int width = declared_width(typmod);
  if (largest >> width != 0) raise_element_out_of_range(largest, width);
  return width;
}

int width_of_universe(int64 universe) {
  if (universe < 1 || static_cast<uint64_t>(universe) > universe_of(kMaxWidth))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("universe of a batmap must be between 1 and " UINT64_FORMAT ", not " INT64_FORMAT,
                           universe_of(kMaxWidth), universe)));
  return width_for(static_cast<uint64_t>(universe));
}

uint64_t checked_element(int64 element) {
  if (element < 0 || static_cast<uint64_t>(element) >> kMaxWidth != 0)
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("element " INT64_FORMAT " is out of range for type %s", element, "batmap"),
                    errhint("Elements are between 0 and " UINT64_FORMAT ".", universe_of(kMaxWidth) - 1)));
  return static_cast<uint64_t>(element);
}

void raise_element_out_of_range(uint64_t element, int width) {
  ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                  errmsg("element " UINT64_FORMAT " is out of range for type batmap(" UINT64_FORMAT ")", element,
                         universe_of(width)),
                  errhint("Declare a larger universe: batmap(N) holds numbers below N.")));
  pg_unreachable();
}

namespace {

template <typename Integer>
void copy_elements(SetWork* work, const ArrayType* array, size_t count) {
  uint64_t* const out = guarded([&] { return work->elements.room(count); });
  const char* const data = ARR_DATA_PTR(array);
  for (size_t i = 0; i < count; ++i) {
    Integer element;
    memcpy(&element, data + i * sizeof element, sizeof element);
    out[i] = checked_element(element);
  }
  work->elements.add(count);
}

}  // namespace

void read_array(SetWork* work, ArrayType* array) {
  if (array_contains_nulls(array))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("an array with NULL elements is not a batmap"),
                    errhint("Use array_remove(..., NULL).")));
  const auto count = static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
  work->elements.shrink(0);
  switch (ARR_ELEMTYPE(array)) {
    case INT2OID: copy_elements<int16>(work, array, count); break;
    case INT4OID: copy_elements<int32>(work, array, count); break;
    default: copy_elements<int64>(work, array, count); break;
  }
  guarded([&] { sort_distinct(work->elements, work->options); });
}

}  // namespace batmap::pg
