// Set algebra on stored sets. Results are elements, ascending, appended to `out`; the width of a result is the larger of the
// two widths. Cost: both sets decoded (set_and: the smaller only), then one merge.
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
