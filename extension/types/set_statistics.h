// Statistics of a batmap column, as ANALYZE writes and the selectivity functions read them: slot MCELEM with the most common
// elements and slot DECHIST with the histogram of cardinalities (as for arrays: its last number is the mean).
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// The operator int8 = int8, which the server's headers give no name.
inline constexpr Oid kInt8Equal = 410;

/// Numbers in slot MCELEM behind the frequencies of the elements. The first three are the server's.
enum ElementNumber { kLeastFrequency, kGreatestFrequency, kNullFrequency, kOtherFrequency, kOtherElements, kElementNumbers };

/// What is known of a column's elements.
struct ElementStatistics {
  bool known;
  double null_fraction;
  int common_count;
  const Datum* common;        // ascending int8
  const float4* frequencies;  // of sets that hold the element
  double other_frequency;     // mean of those not in `common`
  double other_count;         // how many such elements the sample had
  double mean_cardinality;
  int cardinality_count;
  const float4* cardinalities;  // ascending, evenly spaced in rank

  double frequency(int64 element) const;
  double distinct_elements() const { return common_count + other_count; }
};

/// Reads them; memory stays with the current context.
ElementStatistics element_statistics(VariableStatData* variable, Oid operator_function);

}  // namespace batmap::pg
