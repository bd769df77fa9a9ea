// Does a relation have the same row twice? What decides between counting transactions and counting rows where a join
// multiplies repeated rows (bag semantics, as in SQL).
//
// Cost: one scattered write and one look-up a row; at most 4 bytes a row, 4 a tid, and 4 an item and thread while it runs.
// Source: ours.
#pragma once

#include "core/options.h"
#include "relation/encoded_relation.h"

namespace batmap {

/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
bool has_repeated_rows(const EncodedRelation& relation, const ExecutionOptions& options);

}  // namespace batmap
