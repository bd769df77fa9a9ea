// Conversion between arrays and gaps. See gap_list.h.
#include "extension/input/gap_list.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "extension/server/boundary.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// @param what  "a gap", or the name of an argument that is one distance
int hint_at_bound(const char* what) {
  return strcmp(what, "a gap") == 0 ? errhint("A NULL high end stands for no bound.")
                                    : errhint("Give a distance of two times, up to the longest stream.");
}

int64_t microseconds(const Interval* gap, const char* what) {
  if (const int sign = infinity_of(gap); sign != 0) return sign > 0 ? Gap::kUnbounded : INT64_MIN;
  if (gap->month != 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must not have months, whose length differs", what),
                    errhint("Give days; a day is 24 hours.")));
  int64_t sum;
  if (pg_mul_s64_overflow(gap->day, USECS_PER_DAY, &sum) || pg_add_s64_overflow(sum, gap->time, &sum))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("%s is out of range", what), hint_at_bound(what)));
  return sum;
}

int64_t millionths(double gap, const char* what) {
  if (std::isnan(gap))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must not be NaN", what), hint_at_bound(what)));
  const double rounded = std::nearbyint(gap * 1e6);
  if (rounded >= 0x1p63) return Gap::kUnbounded;
  return rounded <= -0x1p63 ? INT64_MIN : static_cast<int64_t>(rounded);
}

double as_double(Oid type, Datum bound) {
  switch (getBaseType(type)) {
    case FLOAT4OID: return static_cast<double>(DatumGetFloat4(bound));
    case NUMERICOID: return DatumGetFloat8(DirectFunctionCall1(numeric_float8, bound));
    default: return DatumGetFloat8(bound);
  }
}

}  // namespace

GapList read_gaps(ArrayType* array) {
  GapList gaps{};
  gaps.type = ARR_ELEMTYPE(array);
  gaps.kind = time_kind(gaps.type, "gaps must be integers, numbers or intervals");
  const int dimensions = ARR_NDIM(array);
  if (dimensions < 1 || dimensions > 2 || ARR_DIMS(array)[dimensions - 1] != 2)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("gaps must be rows of two elements, (low, high]"),
                    errhint("Give ARRAY[low, high], or ARRAY[[low, high], [low, high]].")));
  int16 length;
  bool by_value;
  char alignment;
  int count;
  get_typlenbyvalalign(gaps.type, &length, &by_value, &alignment);
  deconstruct_array(array, gaps.type, length, by_value, alignment, &gaps.bounds, &gaps.nulls, &count);
  gaps.rows = count / 2;
  for (int k = 0; k < gaps.rows; ++k)
    if (gaps.nulls[2 * k])
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the low end of a gap must not be NULL"),
                      errhint("A NULL high end stands for no bound.")));
  return gaps;
}

int64_t gap_bound(TimeKind kind, Oid type, Datum bound, const char* what) {
  switch (kind) {
    case TimeKind::kInteger: return own_key(key_kind(type), bound);
    case TimeKind::kFloat: return millionths(as_double(type, bound), what);
    case TimeKind::kTimestamp: break;
  }
  return microseconds(DatumGetIntervalP(bound), what);
}

char* distance_text(Oid type, Datum distance) {
  Oid output;
  bool is_varlena;
  getTypeOutputInfo(type, &output, &is_varlena);
  return OidOutputFunctionCall(output, distance);
}

// The engine checks the ends, too, but knows only ticks.
Gap gap_between(TimeKind kind, Oid type, Datum low, const Datum* high) {
  const Gap gap{gap_bound(kind, type, low), high == nullptr ? Gap::kUnbounded : gap_bound(kind, type, *high)};
  if (gap.low < 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the low end of a gap must be at least 0, not %s", distance_text(type, low))));
  if (gap.high < gap.low)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the high end of a gap must be at least its low end %s, not %s", distance_text(type, low),
                           distance_text(type, *high))));
  return gap;
}

Gap gap_of(const GapList& gaps, int row) {
  const Datum* const low = gaps.bounds + 2 * row;
  return gap_between(gaps.kind, gaps.type, *low, gaps.nulls[2 * row + 1] ? nullptr : low + 1);
}

void append_gaps(const GapList& gaps, std::vector<Gap>& ticks) {
  for (int row = 0; row < gaps.rows; ++row) {
    const Gap gap = gap_of(gaps, row);
    guarded([&] { ticks.push_back(gap); });
  }
}

void keep_distinct(std::vector<Gap>& gaps, GapList* list) {
  std::set<std::pair<int64_t, int64_t>> seen;
  size_t kept = 0;
  for (size_t row = 0; row < gaps.size(); ++row) {
    const Gap gap = gaps[row];
    if (!seen.emplace(gap.low, gap.high).second) continue;
    gaps[kept] = gap;
    if (list != nullptr) {
      std::copy_n(list->bounds + 2 * row, 2, list->bounds + 2 * kept);
      std::copy_n(list->nulls + 2 * row, 2, list->nulls + 2 * kept);
    }
    ++kept;
  }
  gaps.resize(kept);
  if (list != nullptr) list->rows = static_cast<int>(kept);
}

Datum gap_array(const GapList& gaps, std::span<const int32_t> rows, int side) {
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(gaps.type, &length, &by_value, &alignment);
  auto* const elements = static_cast<Datum*>(palloc((rows.size() + 1) * sizeof(Datum)));
  auto* const nulls = static_cast<bool*>(palloc(rows.size() + 1));
  for (size_t k = 0; k < rows.size(); ++k) {
    elements[k] = gaps.bounds[2 * rows[k] + side];
    nulls[k] = gaps.nulls[2 * rows[k] + side];
  }
  if (rows.empty()) return PointerGetDatum(construct_empty_array(gaps.type));
  int size = static_cast<int>(rows.size());
  int first = 1;
  return PointerGetDatum(construct_md_array(elements, nulls, 1, &size, &first, gaps.type, length, by_value, alignment));
}

}  // namespace batmap::pg
