// The SQL type batmap_itemset_counts: access to its bytes in a varlena. See kernels/itemsets/counts/itemset_counts.h.
#pragma once

#include "itemsets/counts/itemset_counts.h"

#include "extension/types/summed_type.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const SummedType kSummedItemsetCounts;

/// An argument of the type, finished. It may lie in memory of the caller.
inline struct varlena* itemset_counts_argument(FunctionCallInfo fcinfo, int argument) {
  return summed_argument(kSummedItemsetCounts, fcinfo, argument);
}

}  // namespace batmap::pg
