// GIN index over the elements of sets; its keys are int8. The index alone answers && and @>; for <@, = and % the
// set itself is checked again.
//
// For % the index looks for sets that have enough elements of the query: with a threshold t, a set like a query of n elements
// has at least t * n of them, whatever its own size. The server knows how often each element occurs. From what
// batmap_gin_triconsistent says it concludes that only the lists of the n - t * n + 1 rarest elements need to be read in full
// (prefix filter); in the others it looks up what these lists gave.
//
// The server visits the keys of a query one by one and does not check for a cancel meanwhile. So a query has
// at most kMaxQueryKeys keys. For a larger set, @>, = and % search a part of its elements, && and <@ read the
// whole index, and all five check the set itself.
#include <algorithm>
#include <cmath>

#include "extension/server/backend.h"
#include "extension/server/settings.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_gin.h"
#include "extension/types/set_likeness.h"
#include "set/set_decode.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// What a query with % tells the functions that check a set: a pointer to it is the extra data of each key.
struct LikenessKeys {
  int32 min_present;  // so many keys of the query must be there
};

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
  const size_t size = set.cardinality();
  if (size > MaxAllocSize / sizeof(Datum))
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("batmap of %zu elements is too large for a GIN index", size),
             errhint("Index the sets of at most %zu elements: CREATE INDEX ... WHERE batmap_cardinality(...) <= %zu.",
                     MaxAllocSize / sizeof(Datum), MaxAllocSize / sizeof(Datum))));
  SetWork* const work = open_work();
  guarded([&] { decode(set, work->elements, work->options); });
  auto* const keys = static_cast<Datum*>(palloc(sizeof(Datum) * std::max<size_t>(size, 1)));
  for (size_t i = 0; i < size; ++i) keys[i] = Int64GetDatum(static_cast<int64>(work->elements[i]));
  *count = static_cast<int32>(size);
  close_work(work);
  return keys;
}

}  // namespace

namespace {

/// For a query with %: chooses the keys, and says how many of them a set must have. None are left if any set may be like the
/// query.
void likeness_keys(Datum* keys, int32* count, Pointer** extra, int32* search_mode) {
  const int32 all = *count;
  if (all > kMaxQueryKeys) thin_out(keys, count);
  // The elements that are no keys may all be there.
  const int64 min_present =
      static_cast<int64>(min_common_elements(static_cast<uint64_t>(all), similarity_threshold())) - (all - *count);
  if (all > 0 && min_present > 0) {
    auto* const query = static_cast<LikenessKeys*>(palloc(sizeof(LikenessKeys)));
    query->min_present = static_cast<int32>(min_present);
    *extra = static_cast<Pointer*>(palloc(sizeof(Pointer) * static_cast<Size>(*count)));
    std::fill_n(*extra, *count, reinterpret_cast<Pointer>(query));
    return;
  }
  // The empty set is like itself only, unless every set is like every other.
  *search_mode = all == 0 && similarity_threshold() > 0 ? GIN_SEARCH_MODE_INCLUDE_EMPTY : GIN_SEARCH_MODE_ALL;
  *count = 0;
}

int32 min_present(const Pointer* extra) { return reinterpret_cast<const LikenessKeys*>(extra[0])->min_present; }

}  // namespace

namespace batmap::pg {

double similarity_threshold() { return settings.similarity_threshold; }

uint64_t min_common_elements(uint64_t cardinality, double threshold) {
  const auto size = static_cast<double>(cardinality);
  auto common = static_cast<uint64_t>(std::ceil(threshold * size));
  // The product was rounded. What counts is the quotient, as batmap_jaccard() computes it.
  while (common > 0 && static_cast<double>(common - 1) / size >= threshold) --common;
  while (common < cardinality && static_cast<double>(common) / size < threshold) ++common;
  return common;
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_gin_extract_value) {
  auto* const count = reinterpret_cast<int32*>(PG_GETARG_POINTER(1));
  PG_RETURN_POINTER(element_keys(set_argument(fcinfo, 0), count));
}

BATMAP_FUNCTION(batmap_gin_extract_query) {
  auto* const count = reinterpret_cast<int32*>(PG_GETARG_POINTER(1));
  const StrategyNumber strategy = PG_GETARG_UINT16(2);
  auto* const extra = reinterpret_cast<Pointer**>(PG_GETARG_POINTER(4));
  auto* const search_mode = reinterpret_cast<int32*>(PG_GETARG_POINTER(6));
  if (strategy == kContainsElement) {
    auto* const key = static_cast<Datum*>(palloc(sizeof(Datum)));
    *key = PG_GETARG_DATUM(0);
    *count = 1;
    PG_RETURN_POINTER(key);
  }
  Datum* const keys = element_keys(set_argument(fcinfo, 0), count);
  if (strategy == kLike) {
    likeness_keys(keys, count, extra, search_mode);
    PG_RETURN_POINTER(keys);
  }
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
  *recheck = strategy == kLike || strategy == kContained || strategy == kEqual || is_cut(strategy, count);
  if (strategy == kContained || count == 0) PG_RETURN_BOOL(true);
  if (strategy == kLike)
    PG_RETURN_BOOL(std::count(present, present + count, true) >=
                   min_present(reinterpret_cast<Pointer*>(PG_GETARG_POINTER(4))));
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
  if (strategy == kLike) {
    if (count == 0) PG_RETURN_GIN_TERNARY_VALUE(GIN_MAYBE);
    const auto possible = count - std::count(present, present + count, GIN_FALSE);
    PG_RETURN_GIN_TERNARY_VALUE(possible >= min_present(reinterpret_cast<Pointer*>(PG_GETARG_POINTER(4))) ? GIN_MAYBE
                                                                                                          : GIN_FALSE);
  }
  const bool any = strategy == kOverlaps;
  const GinTernaryValue decisive = any ? GIN_TRUE : GIN_FALSE;
  GinTernaryValue answer = strategy == kEqual || is_cut(strategy, count) ? GIN_MAYBE : any ? GIN_FALSE : GIN_TRUE;
  for (int32 i = 0; i < count; ++i) {
    if (present[i] == decisive) PG_RETURN_GIN_TERNARY_VALUE(decisive);
    if (present[i] == GIN_MAYBE) answer = GIN_MAYBE;
  }
  PG_RETURN_GIN_TERNARY_VALUE(answer);
}

namespace batmap::pg {

bool is_set_index(Oid consistent) {
  FmgrInfo info;
  fmgr_info(consistent, &info);
  return info.fn_addr == batmap_gin_consistent;
}

}  // namespace batmap::pg
