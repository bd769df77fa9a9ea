// Operators and counts over sets. Operators on two sets keep their arguments for the calling expression
// (set_argument.h). Functions that need only cardinalities read only headers.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>

#include "extension/server/backend.h"
#include "extension/server/settings.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_likeness.h"
#include "extension/types/set_slice.h"
#include "set/set_intersect.h"
#include "set/set_operations.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

Datum combine(FunctionCallInfo fcinfo, SetCombination operation) {
  const SetPair sets = set_arguments(fcinfo);
  SetWork* const work = open_work(sets.a.bytes() + sets.b.bytes());
  guarded([&] { combine_sets(sets.a, sets.b, operation, *selected_set_kernel().compact, work->compact, work->options); });
  struct varlena* const value = compact_value(work);
  close_work(work);
  PG_RETURN_POINTER(value);
}

/// The sizes of two sets and of their intersection.
struct Counts {
  uint64_t a, b, both;
  uint64_t either() const { return a + b - both; }
};

Counts counts_of(FunctionCallInfo fcinfo) {
  const SetPair sets = counted_arguments(fcinfo);
  const uint64_t both =
      guarded([&] { return and_cardinality(sets.a, sets.b, selected_set_kernel(), backend_cancel_token()); });
  return {sets.a.cardinality(), sets.b.cardinality(), both};
}

int64 signed_count(uint64_t count) { return static_cast<int64>(count); }

/// A ratio of counts. Two empty sets are equal, so their ratio is 1.
float8 ratio(float8 numerator, float8 denominator) { return denominator == 0 ? 1.0 : numerator / denominator; }

float8 jaccard(const Counts& c) { return ratio(static_cast<float8>(c.both), static_cast<float8>(c.either())); }

Datum end_of(FunctionCallInfo fcinfo, SetEnd end) {
  const std::optional<uint64_t> element = sliced_end(PG_GETARG_DATUM(0), end);
  if (!element) PG_RETURN_NULL();
  PG_RETURN_INT64(signed_count(*element));
}

/// The set with x added or removed.
Datum change_element(FunctionCallInfo fcinfo, bool add) {
  const int64 argument = PG_GETARG_INT64(1);
  if (!add && (argument < 0 || static_cast<uint64_t>(argument) >> kMaxWidth != 0)) PG_RETURN_DATUM(PG_GETARG_DATUM(0));
  const uint64_t x = checked_element(argument);
  const SetView set = set_argument(fcinfo, 0);
  if (set.contains(x) == add) PG_RETURN_DATUM(PG_GETARG_DATUM(0));
  SetWork* const work = open_work(set.bytes());
  guarded([&] {
    work->compact.add_elements(std::span<const uint64_t>(&x, 1));
    const size_t bytes = work->compact.bytes();
    std::byte* const one = work->bytes.room_for_all(bytes);
    work->compact.write(one);
    combine_sets(set, SetView::open({one, bytes}), add ? SetCombination::kOr : SetCombination::kAndNot,
                 *selected_set_kernel().compact, work->compact, work->options);
  });
  struct varlena* const value = compact_value(work);
  close_work(work);
  PG_RETURN_POINTER(value);
}

}  // namespace

BATMAP_FUNCTION(batmap_and) { return combine(fcinfo, SetCombination::kAnd); }
BATMAP_FUNCTION(batmap_or) { return combine(fcinfo, SetCombination::kOr); }
BATMAP_FUNCTION(batmap_andnot) { return combine(fcinfo, SetCombination::kAndNot); }
BATMAP_FUNCTION(batmap_xor) { return combine(fcinfo, SetCombination::kXor); }
BATMAP_FUNCTION(batmap_add) { return change_element(fcinfo, true); }
BATMAP_FUNCTION(batmap_remove) { return change_element(fcinfo, false); }

BATMAP_FUNCTION(batmap_overlaps) {
  const SetPair sets = counted_arguments(fcinfo);
  PG_RETURN_BOOL(guarded([&] { return intersects(sets.a, sets.b, selected_set_kernel(), backend_cancel_token()); }));
}
BATMAP_FUNCTION(batmap_contains) {
  const SetPair sets = counted_arguments(fcinfo);
  PG_RETURN_BOOL(guarded([&] { return is_subset(sets.b, sets.a, selected_set_kernel(), backend_cancel_token()); }));
}
BATMAP_FUNCTION(batmap_contained) {
  const SetPair sets = counted_arguments(fcinfo);
  PG_RETURN_BOOL(guarded([&] { return is_subset(sets.a, sets.b, selected_set_kernel(), backend_cancel_token()); }));
}
BATMAP_FUNCTION(batmap_contains_element) { PG_RETURN_BOOL(set_argument_contains(fcinfo, 0, PG_GETARG_INT64(1))); }
BATMAP_FUNCTION(batmap_element_contained) { PG_RETURN_BOOL(set_argument_contains(fcinfo, 1, PG_GETARG_INT64(0))); }

BATMAP_FUNCTION(batmap_cardinality) { PG_RETURN_INT64(signed_count(set_header(fcinfo, 0).cardinality())); }
BATMAP_FUNCTION(batmap_is_empty) { PG_RETURN_BOOL(set_header(fcinfo, 0).empty()); }
BATMAP_FUNCTION(batmap_universe) { PG_RETURN_INT64(signed_count(set_header(fcinfo, 0).universe())); }

BATMAP_FUNCTION(batmap_min) { return end_of(fcinfo, SetEnd::kMin); }
BATMAP_FUNCTION(batmap_max) { return end_of(fcinfo, SetEnd::kMax); }

BATMAP_FUNCTION(batmap_and_cardinality) { PG_RETURN_INT64(signed_count(counts_of(fcinfo).both)); }
BATMAP_FUNCTION(batmap_or_cardinality) { PG_RETURN_INT64(signed_count(counts_of(fcinfo).either())); }
BATMAP_FUNCTION(batmap_xor_cardinality) {
  const Counts c = counts_of(fcinfo);
  PG_RETURN_INT64(signed_count(c.either() - c.both));
}
BATMAP_FUNCTION(batmap_andnot_cardinality) {
  const Counts c = counts_of(fcinfo);
  PG_RETURN_INT64(signed_count(c.a - c.both));
}

BATMAP_FUNCTION(batmap_and_cardinality_array) {
  ArrayType* const array = PG_GETARG_ARRAYTYPE_P(0);
  if (array_contains_nulls(array)) PG_RETURN_NULL();
  Datum* values;
  int count;
  deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &values, nullptr, &count);
  if (count == 0) PG_RETURN_NULL();
  auto* const sets = static_cast<SetView*>(palloc(sizeof(SetView) * static_cast<size_t>(count)));
  for (int i = 0; i < count; ++i) sets[i] = set_of_datum(values[i]);
  const std::span<const SetView> all(sets, static_cast<size_t>(count));
  const uint64_t common = guarded([&] { return and_cardinality(all, selected_set_kernel(), backend_cancel_token()); });
  PG_RETURN_INT64(signed_count(common));
}

BATMAP_FUNCTION(batmap_jaccard) { PG_RETURN_FLOAT8(jaccard(counts_of(fcinfo))); }
BATMAP_FUNCTION(batmap_jaccard_distance) { PG_RETURN_FLOAT8(1.0 - jaccard(counts_of(fcinfo))); }
BATMAP_FUNCTION(batmap_similar) { PG_RETURN_BOOL(jaccard(counts_of(fcinfo)) >= similarity_threshold()); }

namespace batmap::pg {

bool is_jaccard_distance(Oid function) {
  FmgrInfo info;
  fmgr_info(function, &info);
  return info.fn_addr == batmap_jaccard_distance;
}

}  // namespace batmap::pg

// Nothing to tell the planner. But it calls this before it looks for paths, so that the library is loaded and the plan node of
// the nearest sets is there, even if no other function of the extension was called in the session.
BATMAP_FUNCTION(batmap_distance_support) { PG_RETURN_POINTER(NULL); }

BATMAP_FUNCTION(batmap_dice) {
  const Counts c = counts_of(fcinfo);
  PG_RETURN_FLOAT8(ratio(2.0 * static_cast<float8>(c.both), static_cast<float8>(c.a + c.b)));
}
BATMAP_FUNCTION(batmap_cosine) {
  const Counts c = counts_of(fcinfo);
  if (c.a == 0 && c.b == 0) PG_RETURN_FLOAT8(1.0);
  if (c.both == 0) PG_RETURN_FLOAT8(0.0);
  // The root of the product, not the product of the roots: the root of a square is exact, so equal sets give
  // 1, and no value exceeds 1.
  PG_RETURN_FLOAT8(static_cast<float8>(c.both) / std::sqrt(static_cast<float8>(c.a) * static_cast<float8>(c.b)));
}
BATMAP_FUNCTION(batmap_overlap) {
  const Counts c = counts_of(fcinfo);
  if (c.a == 0 || c.b == 0) PG_RETURN_FLOAT8(c.a == c.b ? 1.0 : 0.0);
  PG_RETURN_FLOAT8(static_cast<float8>(c.both) / static_cast<float8>(std::min(c.a, c.b)));
}

BATMAP_FUNCTION(batmap_stats) {
  TupleDesc shape;
  if (get_call_result_type(fcinfo, nullptr, &shape) != TYPEFUNC_COMPOSITE) elog(ERROR, "return type must be a row type");
  const SetView set = set_header(fcinfo, 0);
  const char* name = "compact";
  if (set.container() == Container::kArray) name = "array";
  if (set.container() == Container::kBatmap) name = "batmap";
  if (set.container() == Container::kBitmap) name = "bitmap";
  Datum values[] = {CStringGetTextDatum(name),
                    Int64GetDatum(signed_count(set.universe())),
                    Int64GetDatum(signed_count(set.cardinality())),
                    Int64GetDatum(signed_count(set.bytes())),
                    Int64GetDatum(signed_count(set.slots())),
                    Int64GetDatum(signed_count(set.stash()))};
  bool nulls[std::size(values)] = {};
  PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(shape), values, nulls)));
}
