// Set algebra on stored sets. The elements of the result are appended to `out`, ascending. The width of a
// result is the larger of the two widths. Cost: decode both sets and merge once; set_and decodes only the
// smaller set, and looks up its elements in the other. Source: standard.
#pragma once

#include "core/options.h"
#include "set/set_view.h"

namespace batmap {

/// @throws (all four) Error{kMemoryLimit}, Error{kCancelled}
void set_and(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options);
void set_or(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options);
void set_andnot(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options);
void set_xor(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options);

}  // namespace batmap
