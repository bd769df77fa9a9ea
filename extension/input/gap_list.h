// The argument `gaps` of the functions of episodes: gaps (low, high] of integers, numbers or intervals. It is
// an array of two elements, or an array of such rows. A NULL high means no upper bound.
#pragma once

#include <span>
#include <vector>

#include "episodes/episode.h"
#include "extension/input/event_source.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct GapList {
  TimeKind kind;
  Oid type;  // of the elements
  int rows;
  Datum* bounds;  // [rows x 2]
  bool* nulls;    // [rows x 2]
};

/// @raises 42804 unless of integers, numbers or intervals; 2202E unless rows of two; 22004 for a NULL low
GapList read_gaps(ArrayType* array);

/// A gap in ticks. @param high  nullptr: no bound
/// @raises 22003 for an end that does not fit; 22023 for an interval of months, a negative end, or a high end below the low one
Gap gap_between(TimeKind kind, Oid type, Datum low, const Datum* high);
Gap gap_of(const GapList& gaps, int row);

/// Appends all gaps in ticks. @raises the same
void append_gaps(const GapList& gaps, std::vector<Gap>& ticks);

/// Drops gaps that repeat an earlier one, because they make no other episodes. Called in guarded.
/// @param list  what the gaps were read from; nullptr: nobody asks for it any more
void keep_distinct(std::vector<Gap>& gaps, GapList* list = nullptr);

/// One bound in ticks. @param what  for the errors @raises the same
int64_t gap_bound(TimeKind kind, Oid type, Datum bound, const char* what = "a gap");

/// For errors: a bound as it was given, in the current memory context.
char* distance_text(Oid type, Datum distance);

/// The low or the high ends of some rows as an array of the type of the gaps, in the current memory context.
/// @param side  0: low, 1: high
Datum gap_array(const GapList& gaps, std::span<const int32_t> rows, int side);

}  // namespace batmap::pg
