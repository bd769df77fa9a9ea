// States of sum(), and what all such types do alike. See summed_type.h.
#include "extension/types/summed_type.h"

#include <array>

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Whether to add up now what lies behind the first value, if `more` bytes join it: yes from half the length of the first value
/// on. So every byte is added to longer values only a few times.
bool is_worth_adding(const SumSizes& sizes, size_t more) {
  constexpr uint64_t kMin = 32 << 10;
  return sizes.behind + more >= (sizes.bytes / 2 < kMin ? kMin : sizes.bytes / 2);
}

size_t grown(size_t needed) { return grown_capacity(needed, needed / 2); }

}  // namespace

struct varlena* sum_finished(const SummedType& type, struct varlena* value) {
  const std::byte* const bytes = value_bytes(value);
  const SumSizes sizes = sum_sizes(bytes);
  if (sizes.behind == 0 && sizes.bytes == value_capacity(value)) return value;
  return made_value(type.type, [&](CountsWork& work) { type.add({&bytes, 1}, work.bytes, work.options); });
}

struct varlena* sum_of_two(const SummedType& type, struct varlena* left, struct varlena* right) {
  const std::array<const std::byte*, 2> values{value_bytes(left), value_bytes(right)};
  return made_value(type.type, [&](CountsWork& work) { type.add(values, work.bytes, work.options); });
}

Datum sum_transition(const SummedType& type, struct varlena* state, struct varlena* other) {
  const size_t more = sum_sizes(value_bytes(other)).used();
  if (state == nullptr) {
    state = type.type.allocate(more);
    memcpy(value_bytes(state), value_bytes(other), more);
    PG_RETURN_POINTER(state);
  }
  const SumSizes sizes = sum_sizes(value_bytes(state));
  const size_t used = sizes.used();
  if (value_capacity(state) < used + more) {
    if (is_worth_adding(sizes, more) || used + more > MaxAllocSize - VARHDRSZ) {
      const std::array<const std::byte*, 2> values{value_bytes(state), value_bytes(other)};
      PG_RETURN_POINTER(made_value(
          type.type, [&](CountsWork& work) { type.add(values, work.bytes, work.options); }, grown));
    }
    struct varlena* const larger = type.type.allocate(grown(used + more));
    memcpy(value_bytes(larger), value_bytes(state), used);
    state = larger;
  }
  type.append(value_bytes(state), value_bytes(other));
  PG_RETURN_POINTER(state);
}

struct varlena* summed_validated(const SummedType& type, struct varlena* value) {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap counts", ALLOCSET_SMALL_SIZES);
  const CountsWork* const work = ContextOwned<CountsWork>::reserve(context)->emplace();
  guarded([&] { type.validate({value_bytes(value), value_capacity(value)}, work->options); });
  MemoryContextDelete(context);
  return value;
}

struct varlena* summed_copy(const SummedType& type, FunctionCallInfo fcinfo, int argument) {
  // An argument that is neither toasted nor a state may not live as long as the stream.
  auto* const given = reinterpret_cast<struct varlena*>(PG_GETARG_POINTER(argument));
  struct varlena* const value = summed_argument(type, fcinfo, argument);
  return value == given ? PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(argument)) : value;
}

Datum summed_in(const SummedType& type, FunctionCallInfo fcinfo) {
  PG_RETURN_POINTER(summed_validated(type, flat_of_text(type.type, PG_GETARG_CSTRING(0))));
}

Datum summed_out(const SummedType& type, FunctionCallInfo fcinfo) {
  struct varlena* const value = summed_argument(type, fcinfo, 0);
  PG_RETURN_CSTRING(flat_to_text(type.type, {value_bytes(value), value_capacity(value)}));
}

Datum summed_recv(const SummedType& type, FunctionCallInfo fcinfo) {
  PG_RETURN_POINTER(summed_validated(type, flat_of_message(type.type, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)))));
}

Datum summed_send(const SummedType& type, FunctionCallInfo fcinfo) { return sent(summed_argument(type, fcinfo, 0)); }

Datum summed_add(const SummedType& type, FunctionCallInfo fcinfo) {
  struct varlena* const left = flat_argument(type.type, fcinfo, 0);
  struct varlena* const right = flat_argument(type.type, fcinfo, 1);
  PG_RETURN_POINTER(sum_of_two(type, left, right));
}

Datum summed_merge(const SummedType& type, FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = flat_argument(type.type, fcinfo, 1);
  return sum_transition(type, PG_ARGISNULL(0) ? nullptr : flat_state(type.type, fcinfo), other);
}

Datum summed_final(const SummedType& type, FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  PG_RETURN_POINTER(summed_argument(type, fcinfo, 0));
}

struct varlena* value_allocate(const char* type, const char* hint, size_t capacity) {
  if (capacity > MaxAllocSize - VARHDRSZ)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("%s would be larger than 1 GB", type), errhint("%s", hint)));
  auto* const value = static_cast<struct varlena*>(palloc(capacity + VARHDRSZ));
  SET_VARSIZE(value, capacity + VARHDRSZ);
  return value;
}

}  // namespace batmap::pg
