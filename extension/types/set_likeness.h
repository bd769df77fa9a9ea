// Which sets are like each other: those whose Jaccard index is at least batmap.similarity_threshold.
#pragma once

#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

double similarity_threshold();

/// How many elements of a set of this cardinality a set must have to reach a Jaccard index, whatever its own cardinality.
/// @return at most `cardinality`
uint64_t min_common_elements(uint64_t cardinality, double threshold);

/// Is this the function of the operator <%> of two sets?
bool is_jaccard_distance(Oid function);

}  // namespace batmap::pg
