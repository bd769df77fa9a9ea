// Statistics of a batmap column, which ANALYZE writes and the selectivity functions read. Slot MCELEM has
// the most common elements. Slot DECHIST has the histogram of cardinalities; as for arrays, its last number
// is the mean.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// The operator int8 = int8, which has no name in the headers of the server.
inline constexpr Oid kInt8Equal = 410;

/// The numbers in slot MCELEM after the frequencies of the elements. The first three are those of the server.
enum ElementNumber { kMinFrequency, kGreatestFrequency, kNullFrequency, kOtherFrequency, kOtherElements, kElementNumbers };

/// What the statistics say about the elements of a column.
struct ElementStatistics {
  bool known;
  double null_fraction;
  int common_count;
  const Datum* common;        // ascending int8
  const float4* frequencies;  // fraction of sets that hold the element
  double other_frequency;     // mean frequency of elements not in `common`
  double other_count;         // number of such elements in the sample
  double mean_cardinality;
  int cardinality_count;
  const float4* cardinalities;  // histogram bounds: ascending, evenly spaced in rank

  double frequency(int64 element) const;
  double distinct_elements() const { return common_count + other_count; }
};

/// Reads the statistics. Their memory belongs to the current context.
ElementStatistics element_statistics(VariableStatData* variable, Oid operator_function);

}  // namespace batmap::pg
