// Whether a relation has the same row twice. A join multiplies repeated rows (bag semantics, as in SQL):
// without any, counting transactions is enough; with some, rows must be counted.
//
// Cost: one look-up a row if rows arrive by tid, else one more and a scattered write; while it runs, at most
// 4 bytes a row, 4 a tid, and 4 an item and thread. Source: ours.
#pragma once

#include "core/options.h"
#include "relation/encoded_relation.h"

namespace batmap {

/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
bool has_repeated_rows(const EncodedRelation& relation, const ExecutionOptions& options);

}  // namespace batmap
