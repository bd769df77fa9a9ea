// The SQL type batmap_join_counts. See kernels/pairs/counts/pair_counts.h, which has the bytes.
#pragma once

#include "pairs/counts/pair_counts.h"

#include "extension/types/summed_type.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const SummedType kSummedJoinCounts;

}  // namespace batmap::pg
