// Set algebra on stored sets of either form; the result is compact. Cost: that of compact/compact_operations.h; a
// prepared set is decoded and made compact before.
#pragma once

#include "compact/compact_operations.h"
#include "set/set_view.h"

namespace batmap {

/// Appends the elements of a set to a compact one. @throws Error{kMemoryLimit, kCancelled}
void add_set(SetView set, CompactWriter& out, const ExecutionOptions& options);

/// The bytes of a set in compact form: those of the set itself, or of a new value in `room`.
/// @throws Error{kMemoryLimit, kCancelled, kTooLarge}
SetView as_compact(SetView set, GrowingBuffer<std::byte>& room, const ExecutionOptions& options);

/// Replaces what `out` has by the result. @throws Error{kMemoryLimit, kCancelled, kTooLarge}
void combine_sets(SetView a, SetView b, SetCombination operation, const CompactKernel& kernel, CompactWriter& out,
                  const ExecutionOptions& options);

}  // namespace batmap
