// Shared by the functions of type batmap. See set_datum.h.
#include "extension/types/set_datum.h"

#include <optional>
#include <utility>

#include "core/sort_elements.h"
#include "set/set_decode.h"
#include "set/set_operations.h"

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
      compact(options),
      encoder(options) {}

SetWork* open_work() {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap set", ALLOCSET_SMALL_SIZES);
  return ContextOwned<SetWork>::reserve(context)->emplace(context);
}

namespace {

/// What an idle session may keep, charged to batmap.max_memory. Results of half of it are made there: a buffer that grows
/// takes up to twice what it holds.
constexpr size_t kKeptBytes = size_t{64} << 10;
SetWork* kept_work = nullptr;

void drop_kept_work() {
  SetWork* const work = std::exchange(kept_work, nullptr);
  if (work != nullptr) MemoryContextDelete(work->context);
}

}  // namespace

SetWork* open_work(size_t bytes) {
  if (bytes > kKeptBytes / 2) return open_work();
  if (kept_work != nullptr && kept_work->meter.limit() != memory_limit_bytes()) drop_kept_work();
  if (kept_work == nullptr) {
    SetWork* const made = open_work();  // in the caller's context, which ends if it fails
    MemoryContextSetParent(made->context, TopMemoryContext);
    kept_work = made;
  }
  kept_work->elements.shrink(0);
  kept_work->text.shrink(0);
  kept_work->bytes.shrink(0);
  kept_work->compact.clear();
  return kept_work;
}

void close_work(SetWork* work) {
  if (work != kept_work)
    MemoryContextDelete(work->context);
  else if (work->meter.current() > kKeptBytes)
    drop_kept_work();
}

struct varlena* allocate_value(uint64_t bytes) {
  if (bytes > MaxAllocSize - VARHDRSZ)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap would be larger than 1 GB"),
                    errdetail("It would take " UINT64_FORMAT " bytes.", bytes)));
  auto* const value = static_cast<struct varlena*>(palloc(bytes + VARHDRSZ));
  SET_VARSIZE(value, bytes + VARHDRSZ);
  return value;
}

struct varlena* compact_value(SetWork* work) {
  const size_t bytes = guarded([&] { return work->compact.bytes(); });
  struct varlena* const value = allocate_value(bytes);
  guarded([&] { work->compact.write(reinterpret_cast<std::byte*>(VARDATA(value))); });
  return value;
}

namespace {

struct varlena* compact_elements(SetWork* work, std::span<const uint64_t> elements) {
  guarded([&] {
    work->compact.clear();
    work->compact.add_elements(elements);
  });
  return compact_value(work);
}

/// @param width  all elements are below 2^width
struct varlena* prepared_elements(SetWork* work, std::span<const uint64_t> elements, int width) {
  const size_t bytes = guarded([&] { return work->encoder.prepare(elements, width); });
  struct varlena* const value = allocate_value(bytes);
  guarded([&] { work->encoder.write(reinterpret_cast<std::byte*>(VARDATA(value))); });
  return value;
}

// A typmod above this is kDeclared + N. One up to kMaxWidth is a width. This bit is added for the prepared form.
constexpr int32 kDeclared = 64;
constexpr int32 kPreparedBit = 1 << 30;

bool is_power_of_two(int64 x) { return (x & (x - 1)) == 0; }

void check_range(uint64_t largest, const Typmod& typmod) {
  if (typmod.width >= 0 && largest >= typmod.universe) raise_element_out_of_range(largest, typmod.universe);
}

}  // namespace

int32 typmod_of_universe(int64 universe, bool prepared) {
  const int width = declared_universe(universe).width;
  const bool as_width = is_power_of_two(universe) || universe >= kPreparedBit - kDeclared;
  return (as_width ? width : static_cast<int32>(kDeclared + universe)) | (prepared ? kPreparedBit : 0);
}

int64 universe_of_typmod(int32 typmod) { return static_cast<int64>(read_typmod(typmod).universe); }

Typmod read_typmod(int32 typmod) {
  if (typmod < 0) return {};
  const bool prepared = (typmod & kPreparedBit) != 0;
  const int32 size = typmod & ~kPreparedBit;
  if (size > kDeclared) return declared_universe(size - kDeclared, prepared);
  if (size > kMaxWidth)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("type modifier %d of type batmap is not valid", typmod)));
  return {size, prepared, universe_of(size)};
}

struct varlena* at_typmod(struct varlena* value, Typmod typmod) {
  if (typmod.width < 0) return value;
  const SetView set = open_set(set_bytes(value));
  const bool has_form = set.is_compact() ? !typmod.prepared : typmod.prepared && set.width() == typmod.width;
  if (universe_of(set.width()) > typmod.universe) {
    const std::optional<uint64_t> largest = guarded([&] { return set_max(set, backend_cancel_token()); });
    if (largest) check_range(*largest, typmod);
  }
  if (has_form) return value;
  SetWork* const work = open_work();
  struct varlena* result;
  if (typmod.prepared) {
    guarded([&] { decode(set, work->elements, work->options); });
    result = prepared_elements(work, work->elements.span(), typmod.width);
  } else {
    guarded([&] { add_set(set, work->compact, work->options); });
    result = compact_value(work);
  }
  close_work(work);
  return result;
}

struct varlena* elements_at_typmod(SetWork* work, std::span<const uint64_t> elements, Typmod typmod) {
  if (!elements.empty()) check_range(elements.back(), typmod);
  return typmod.prepared ? prepared_elements(work, elements, typmod.width) : compact_elements(work, elements);
}

Typmod declared_universe(int64 universe, bool prepared) {
  if (universe < 1 || static_cast<uint64_t>(universe) > universe_of(kMaxWidth))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("universe of a batmap must be between 1 and " UINT64_FORMAT ", not " INT64_FORMAT,
                           universe_of(kMaxWidth), universe)));
  const auto size = static_cast<uint64_t>(universe);
  return {width_for(size), prepared, size};
}

uint64_t checked_element(int64 element) {
  if (element < 0 || static_cast<uint64_t>(element) >> kMaxWidth != 0)
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("element " INT64_FORMAT " is out of range for type %s", element, "batmap"),
                    errhint("Elements are integers from 0 to " UINT64_FORMAT ".", universe_of(kMaxWidth) - 1)));
  return static_cast<uint64_t>(element);
}

void raise_element_out_of_range(uint64_t element, uint64_t universe) {
  ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                  errmsg("element " UINT64_FORMAT " is out of range for type batmap(" UINT64_FORMAT ")", element, universe),
                  errhint("Declare a larger universe: batmap(N) holds numbers below N.")));
  pg_unreachable();
}

namespace {

template <typename Integer>
void copy_elements(SetWork* work, const ArrayType* array, size_t count) {
  constexpr size_t kPart = 16384;  // between looks at interrupts: the memory is new, and each page costs a fault
  uint64_t* const out = guarded([&] { return work->elements.room(count); });
  const char* const data = ARR_DATA_PTR(array);
  for (size_t i = 0; i < count; ++i) {
    if (i % kPart == 0) CHECK_FOR_INTERRUPTS();
    Integer element;
    memcpy(&element, data + i * sizeof element, sizeof element);
    out[i] = checked_element(element);
  }
  work->elements.add(count);
}

/// The elements of an int8[] without a copy, if they are ascending and distinct, and elements of a set. Else nothing.
std::span<const uint64_t> elements_in_place(const ArrayType* array, size_t count) {
  const std::span<const uint64_t> elements(reinterpret_cast<const uint64_t*>(ARR_DATA_PTR(array)), count);
  if (count == 0 || elements.back() >= universe_of(kMaxWidth)) return {};
  return guarded([&] { return ascending_front(elements, backend_cancel_token()); }) == count ? elements
                                                                                             : std::span<const uint64_t>();
}

}  // namespace

std::span<const uint64_t> read_array(SetWork* work, const ArrayType* array) {
  if (array_contains_nulls(const_cast<ArrayType*>(array)))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("an array with NULL elements is not a batmap"),
                    errhint("Use array_remove(..., NULL).")));
  const auto count = static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)));
  if (ARR_ELEMTYPE(array) == INT8OID) {
    const std::span<const uint64_t> elements = elements_in_place(array, count);
    if (!elements.empty()) return elements;
  }
  work->elements.shrink(0);
  switch (ARR_ELEMTYPE(array)) {
    case INT2OID: copy_elements<int16>(work, array, count); break;
    case INT4OID: copy_elements<int32>(work, array, count); break;
    default: copy_elements<int64>(work, array, count); break;
  }
  guarded([&] { sort_distinct(work->elements, work->options); });
  return work->elements.span();
}

}  // namespace batmap::pg
