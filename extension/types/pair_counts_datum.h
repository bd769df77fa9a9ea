// The SQL type batmap_pair_counts: access to its bytes in a varlena, and functions that make
// values. See kernels/pairs/counts/pair_counts.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "pairs/counts/pair_counts.h"

#include "extension/server/flat_value.h"
#include "extension/types/summed_type.h"

#include "extension/server/pg.h"

namespace batmap::pg {

extern const FlatType kPairCountsType;

inline std::byte* counts_bytes(struct varlena* value) { return value_bytes(value); }
inline size_t counts_capacity(const struct varlena* value) { return value_capacity(value); }

/// An argument of the type, only read.
inline struct varlena* counts_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kPairCountsType, fcinfo, argument);
}

/// The items of finished pair counts must be texts, or integers. Those without items pass as either.
/// @param hint  what to use instead @raises 42804
void check_counts_items(struct varlena* counts, bool texts, const char* hint);

/// Two values or states can be added up if their items are of one kind. @raises 42804
void check_same_items(struct varlena* left, struct varlena* right);

/// The texts of finished pair counts, ascending. They point into it; the array is in the current context.
/// @raises 53200 past the limit of the meter
std::span<const std::string_view> counts_texts(struct varlena* finished, MemoryMeter& meter);

/// A value from outside, validated. @raises 22P03 if it is none; 22021
struct varlena* counts_validated(struct varlena* value);

/// A new value with `capacity` bytes, uninitialised, in the current context.
/// @raises 54000 if that is too large for an SQL value
struct varlena* counts_allocate(size_t capacity);

extern const SummedType kSummedPairCounts;

/// Makes a value in the current context. See made_value().
template <typename... Make>
struct varlena* counts_made(Make... make) {
  return made_value(kPairCountsType, make...);
}

/// The finished form.
inline struct varlena* counts_finished(struct varlena* value) { return sum_finished(kSummedPairCounts, value); }

}  // namespace batmap::pg
