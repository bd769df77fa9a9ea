// The SQL type batmap_pair_counts: access to its bytes in a varlena, and functions that make
// values. See kernels/pairs/counts/pair_counts.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "pairs/counts/pair_counts.h"

#include "extension/server/backend.h"
#include "extension/server/context_owned.h"
#include "extension/server/flat_value.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const FlatType kPairCountsType;

inline std::byte* counts_bytes(struct varlena* value) { return reinterpret_cast<std::byte*>(VARDATA(value)); }
inline size_t counts_capacity(const struct varlena* value) { return VARSIZE(value) - VARHDRSZ; }

/// An argument of the type, only read.
inline struct varlena* counts_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kPairCountsType, fcinfo, argument);
}

/// The items of finished pair counts must be texts, or integers. Those without items pass as either.
/// @param hint  what to use instead @raises 42804
void check_counts_items(struct varlena* counts, bool texts, const char* hint);

/// Two values or states can be added up if their items are of one kind. @raises 42804
void check_same_items(struct varlena* left, struct varlena* right);

/// The texts of finished pair counts, ascending. They point into it; the array is in the current context.
/// @raises 53200 past the limit of the meter
std::span<const std::string_view> counts_texts(struct varlena* finished, MemoryMeter& meter);

/// A new value with `capacity` bytes, uninitialised, in the current context.
/// @raises 54000 if that is too large for an SQL value
struct varlena* counts_allocate(size_t capacity);

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
struct varlena* counts_made(Make make, Capacity capacity) {
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap pair counts", ALLOCSET_SMALL_SIZES);
  CountsWork* const work = ContextOwned<CountsWork>::reserve(context)->emplace();
  guarded([&] { make(*work); });
  struct varlena* const value = counts_allocate(capacity(work->bytes.size()));
  memcpy(VARDATA(value), work->bytes.begin(), work->bytes.size());
  MemoryContextDelete(context);
  return value;
}
template <typename Make>
struct varlena* counts_made(Make make) {
  return counts_made(make, [](size_t bytes) { return bytes; });
}

/// The finished form. A state is summed and its free space is dropped; any other argument is returned
/// as it is.
struct varlena* counts_finished(struct varlena* value);

}  // namespace batmap::pg
