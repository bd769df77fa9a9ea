// Shared by the types whose values add up: pair counts, itemset counts. Their states are a finished value, then values
// behind it that are not added yet, then room; adding waits until it is worth it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/options.h"
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
};

inline std::byte* value_bytes(struct varlena* value) { return reinterpret_cast<std::byte*>(VARDATA(value)); }
inline size_t value_capacity(const struct varlena* value) { return VARSIZE(value) - VARHDRSZ; }

/// Engine objects of one call.
struct CountsWork {
  CountsWork()
      : meter(memory_limit_bytes(), session_memory()),
        options{.threads = thread_count(), .memory = &meter, .cancel = backend_cancel_token(), .helpers = session_threads()},
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

/// The sum of two values or states, as a finished value.
struct varlena* sum_of_two(const SummedType& type, struct varlena* left, struct varlena* right);

/// The transition of sum(): argument 0 is the state, argument 1 a value or a state, not NULL.
/// @param state  argument 0 as flat_state() gives it; nullptr if that is NULL
Datum sum_transition(const SummedType& type, struct varlena* state, struct varlena* other);

/// A new value with `capacity` bytes, uninitialised, in the current context.
/// @raises 54000 with this hint if that is too large for an SQL value
struct varlena* value_allocate(const char* type, const char* hint, size_t capacity);

}  // namespace batmap::pg
