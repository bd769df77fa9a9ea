// GIN index over the elements of sets; its keys are int8. The index alone answers && and @>; for <@ and = the
// set itself is checked again.
//
// The server visits the keys of a query one by one and does not check for a cancel meanwhile. So a query has
// at most kMaxQueryKeys keys. For a larger set, @> and = search a part of its elements, && and <@ read the
// whole index, and all four check the set itself.
#include <algorithm>

#include "extension/server/backend.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "set/set_decode.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// Strategy numbers of batmap_gin_ops.
enum GinStrategy : StrategyNumber {
  kOverlaps = 1,
  kContains = 2,
  kContained = 3,
  kEqual = 4,
  kContainsElement = 5,
};

constexpr int32 kMaxQueryKeys = 4096;

/// Keeps kMaxQueryKeys of the keys, evenly spaced.
void thin_out(Datum* keys, int32* count) {
  const int64 all = *count;
  for (int64 k = 0; k < kMaxQueryKeys; ++k) keys[k] = keys[k * all / kMaxQueryKeys];
  *count = kMaxQueryKeys;
}

/// Whether the keys select more sets than the query itself.
bool is_cut(StrategyNumber strategy, int32 count) {
  return (strategy == kOverlaps && count == 0) || (strategy == kContains && count == kMaxQueryKeys);
}

Datum* element_keys(SetView set, int32* count) {
  SetWork* const work = open_work();
  guarded([&] { decode(set, work->elements, work->options); });
  const size_t size = work->elements.size();
  if (size > MaxAllocSize / sizeof(Datum))
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap of %zu elements is too large for a GIN index", size),
             errhint("Index the sets of at most %zu elements: CREATE INDEX ... WHERE batmap_cardinality(...) <= %zu.",
                     MaxAllocSize / sizeof(Datum), MaxAllocSize / sizeof(Datum))));
  auto* const keys = static_cast<Datum*>(palloc(sizeof(Datum) * std::max<size_t>(size, 1)));
  for (size_t i = 0; i < size; ++i) keys[i] = Int64GetDatum(static_cast<int64>(work->elements[i]));
  *count = static_cast<int32>(size);
  close_work(work);
  return keys;
}

}  // namespace

BATMAP_FUNCTION(batmap_gin_extract_value) {
  auto* const count = reinterpret_cast<int32*>(PG_GETARG_POINTER(1));
  PG_RETURN_POINTER(element_keys(set_argument(fcinfo, 0), count));
}

BATMAP_FUNCTION(batmap_gin_extract_query) {
  auto* const count = reinterpret_cast<int32*>(PG_GETARG_POINTER(1));
  const StrategyNumber strategy = PG_GETARG_UINT16(2);
  auto* const search_mode = reinterpret_cast<int32*>(PG_GETARG_POINTER(6));
  if (strategy == kContainsElement) {
    auto* const key = static_cast<Datum*>(palloc(sizeof(Datum)));
    *key = PG_GETARG_DATUM(0);
    *count = 1;
    PG_RETURN_POINTER(key);
  }
  Datum* const keys = element_keys(set_argument(fcinfo, 0), count);
  // Every set contains the empty set. The empty set is contained in every set and equal to itself.
  if (strategy == kContains && *count == 0) *search_mode = GIN_SEARCH_MODE_ALL;
  if (strategy == kContained || (strategy == kEqual && *count == 0)) *search_mode = GIN_SEARCH_MODE_INCLUDE_EMPTY;
  if (*count <= kMaxQueryKeys) PG_RETURN_POINTER(keys);
  if (strategy == kContains || strategy == kEqual) {
    thin_out(keys, count);
  } else {
    *count = 0;
    *search_mode = GIN_SEARCH_MODE_ALL;
  }
  PG_RETURN_POINTER(keys);
}

BATMAP_FUNCTION(batmap_gin_consistent) {
  const bool* const present = reinterpret_cast<bool*>(PG_GETARG_POINTER(0));
  const StrategyNumber strategy = PG_GETARG_UINT16(1);
  const int32 count = PG_GETARG_INT32(3);
  auto* const recheck = reinterpret_cast<bool*>(PG_GETARG_POINTER(5));
  *recheck = strategy == kContained || strategy == kEqual || is_cut(strategy, count);
  if (strategy == kContained || count == 0) PG_RETURN_BOOL(true);
  const bool any = strategy == kOverlaps;
  for (int32 i = 0; i < count; ++i)
    if (present[i] == any) PG_RETURN_BOOL(any);
  PG_RETURN_BOOL(!any);
}

BATMAP_FUNCTION(batmap_gin_triconsistent) {
  const auto* const present = reinterpret_cast<GinTernaryValue*>(PG_GETARG_POINTER(0));
  const StrategyNumber strategy = PG_GETARG_UINT16(1);
  const int32 count = PG_GETARG_INT32(3);
  if (strategy == kContained || (strategy == kOverlaps && count == 0)) PG_RETURN_GIN_TERNARY_VALUE(GIN_MAYBE);
  const bool any = strategy == kOverlaps;
  const GinTernaryValue decisive = any ? GIN_TRUE : GIN_FALSE;
  GinTernaryValue answer = strategy == kEqual || is_cut(strategy, count) ? GIN_MAYBE : any ? GIN_FALSE : GIN_TRUE;
  for (int32 i = 0; i < count; ++i) {
    if (present[i] == decisive) PG_RETURN_GIN_TERNARY_VALUE(decisive);
    if (present[i] == GIN_MAYBE) answer = GIN_MAYBE;
  }
  PG_RETURN_GIN_TERNARY_VALUE(answer);
}
