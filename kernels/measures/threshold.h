// Thresholds that a query gives as a count or as a fraction of the transactions. A fraction is converted exactly. Source: ours.
#pragma once

#include <cstdint>
#include <optional>

namespace batmap {

/// The smallest count c with c >= fraction * total. `fraction` stands for the shortest decimal number that
/// prints as this double: 0.07 of 100 is 7, not 8, although the double nearest to 0.07 is larger. A double
/// that is the quotient of a count and the total stands for that count: 2.0 / 11 of 11 is 2.
/// @param fraction  in (0, 1]
/// @return at least 1
uint64_t count_of_fraction(double fraction, uint64_t total);

/// The largest count c with c <= fraction * total, in the same sense. @return may be 0
uint64_t max_count_of_fraction(double fraction, uint64_t total);

/// The least support of an answer, in transactions.
/// @param min_count, min_support  as in a query: at most one of them; neither means 1
inline uint64_t min_count_among(uint64_t transactions, const std::optional<int64_t>& min_count,
                                const std::optional<double>& min_support) {
  return min_support ? count_of_fraction(*min_support, transactions) : static_cast<uint64_t>(min_count.value_or(1));
}

}  // namespace batmap
