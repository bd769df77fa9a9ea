// What a plan node must know of the GIN index over the elements of sets (opclass_set_gin.cpp).
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Strategy numbers of batmap_gin_ops.
enum GinStrategy : StrategyNumber {
  kOverlaps = 1,
  kContains = 2,
  kContained = 3,
  kEqual = 4,
  kContainsElement = 5,
  kLike = 6,
};

/// The largest query that is searched for element by element.
inline constexpr int32 kMaxQueryKeys = 4096;

/// Is this the consistent function of batmap_gin_ops?
bool is_set_index(Oid consistent);

}  // namespace batmap::pg
