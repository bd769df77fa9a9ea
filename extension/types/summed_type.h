// Shared by the types whose values add up: pair counts, join counts, itemset counts. Their states are a finished value, then values
// behind it that are not added yet, then room; adding waits until it is worth it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "core/summed_values.h"
#include "core/thread_team.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/flat_value.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What such types have in common: 8 bytes of their own, then these two.
struct SumSizes {
  uint64_t bytes;   // of the first value, header included
  uint64_t behind;  // of the values behind it

  size_t used() const { return bytes + behind; }
};
inline SumSizes sum_sizes(const std::byte* value) {
  SumSizes sizes;
  memcpy(&sizes, value + 8, sizeof sizes);
  return sizes;
}

struct SummedType {
  const FlatType& type;
  /// Appends the sum of values or states to `out`, as a finished value. Runs inside guarded.
  void (*add)(std::span<const std::byte* const> values, GrowingBuffer<std::byte>& out, const ExecutionOptions& options);
  /// Copies a value or a state behind a state that has room for it.
  void (*append)(std::byte* state, const std::byte* other);
  /// Checks untrusted bytes in full: throws Error unless they are a finished value. Runs inside guarded.
  void (*validate)(std::span<const std::byte> bytes, const ExecutionOptions& options);
};

inline std::byte* value_bytes(struct varlena* value) { return reinterpret_cast<std::byte*>(VARDATA(value)); }
inline size_t value_capacity(const struct varlena* value) { return VARSIZE(value) - VARHDRSZ; }

/// Engine objects of one call.
struct CountsWork {
  CountsWork()
      : meter(memory_limit_bytes(), session_memory()),
        options{.threads = thread_count(),
                .memory = &meter,
                .cancel = backend_cancel_token(),
                .helpers = session_threads(),
                .pool = thread_count() > 1 ? new_thread_pool(session_threads()) : nullptr},
        bytes(meter) {}

  MemoryMeter meter;
  ExecutionOptions options;
  GrowingBuffer<std::byte> bytes;
};

/// Makes a value in the current context.
/// @param make      appends a finished value to the bytes of a CountsWork; runs inside guarded
/// @param capacity  bytes to allocate for a value of a given size
template <typename Make, typename Capacity>
struct varlena* made_value(const FlatType& type, Make make, Capacity capacity) {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap counts", ALLOCSET_SMALL_SIZES);
  CountsWork* const work = ContextOwned<CountsWork>::reserve(context)->emplace();
  guarded([&] { make(*work); });
  struct varlena* const value = type.allocate(capacity(work->bytes.size()));
  memcpy(VARDATA(value), work->bytes.begin(), work->bytes.size());
  MemoryContextDelete(context);
  return value;
}
template <typename Make>
struct varlena* made_value(const FlatType& type, Make make) {
  return made_value(type, make, [](size_t bytes) { return bytes; });
}

/// The finished form. A state is summed and its free space is dropped; any other argument is returned as it is.
struct varlena* sum_finished(const SummedType& type, struct varlena* value);

/// A value from outside, validated. @raises 22P03 if it is none
struct varlena* summed_validated(const SummedType& type, struct varlena* value);

/// An argument of the type, finished. It may lie in memory of the caller.
inline struct varlena* summed_argument(const SummedType& type, FunctionCallInfo fcinfo, int argument) {
  return sum_finished(type, flat_argument(type.type, fcinfo, argument));
}

/// The same for a stream: a value in the current context, where it lives as long as the stream.
struct varlena* summed_copy(const SummedType& type, FunctionCallInfo fcinfo, int argument);

/// The sum of two values or states, as a finished value.
struct varlena* sum_of_two(const SummedType& type, struct varlena* left, struct varlena* right);

/// The transition of sum(): argument 0 is the state, argument 1 a value or a state, not NULL.
/// @param state  argument 0 as flat_state() gives it; nullptr if that is NULL
Datum sum_transition(const SummedType& type, struct varlena* state, struct varlena* other);

// The bodies of the SQL functions of such a type: input and output as text and as a message, the operator +, the transition
// and the final function of sum().
Datum summed_in(const SummedType& type, FunctionCallInfo fcinfo);
Datum summed_out(const SummedType& type, FunctionCallInfo fcinfo);
Datum summed_recv(const SummedType& type, FunctionCallInfo fcinfo);
Datum summed_send(const SummedType& type, FunctionCallInfo fcinfo);
Datum summed_add(const SummedType& type, FunctionCallInfo fcinfo);
Datum summed_merge(const SummedType& type, FunctionCallInfo fcinfo);
Datum summed_final(const SummedType& type, FunctionCallInfo fcinfo);

/// The header of argument 0; the bytes after it are not fetched.
/// @param is_sound  checks it against the size of the whole value
template <typename Header>
Header summed_header_argument(const SummedType& type, FunctionCallInfo fcinfo,
                              bool (*is_sound)(std::span<const std::byte> first, size_t size)) {
  const Datum value = PG_GETARG_DATUM(0);
  struct varlena* const slice = PG_DETOAST_DATUM_SLICE(value, 0, sizeof(Header));
  const std::span<const std::byte> first{reinterpret_cast<const std::byte*>(VARDATA_ANY(slice)), VARSIZE_ANY_EXHDR(slice)};
  if (!is_sound(first, toast_raw_datum_size(value) - VARHDRSZ)) raise_unsound(type.type);
  const Header header = header_of<Header>(first.data());
  return header.behind == 0 ? header : header_of<Header>(value_bytes(summed_argument(type, fcinfo, 0)));
}

/// A new value with `capacity` bytes, uninitialised, in the current context.
/// @raises 54000 with this hint if that is too large for an SQL value
struct varlena* value_allocate(const char* type, const char* hint, size_t capacity);

}  // namespace batmap::pg
