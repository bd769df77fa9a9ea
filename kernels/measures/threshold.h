// Converts a fraction of the transactions to a count, exactly. Source: ours.
#pragma once

#include <cstdint>

namespace batmap {

/// The smallest count c with c >= fraction * total. `fraction` stands for the shortest decimal number that
/// prints as this double: 0.07 of 100 is 7, not 8, although the double nearest to 0.07 is larger. A double
/// that is the quotient of a count and the total stands for that count: 2.0 / 11 of 11 is 2.
/// @param fraction  in (0, 1]
/// @return at least 1
uint64_t count_of_fraction(double fraction, uint64_t total);

/// The largest count c with c <= fraction * total, in the same sense. @return may be 0
uint64_t most_of_fraction(double fraction, uint64_t total);

}  // namespace batmap
