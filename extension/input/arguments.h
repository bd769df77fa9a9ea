// Arguments of functions: integers of any width, and those of a table function. An index is the number of an
// argument after the input, from 0.
#pragma once

#include <cstdint>
#include <optional>

#include "extension/server/pg.h"

namespace batmap::pg {

/// An int2, int4 or int8 argument that is not NULL.
template <typename Integer>
int64_t integer_argument(FunctionCallInfo fcinfo, int argument) {
  static_assert(sizeof(Integer) == 2 || sizeof(Integer) == 4 || sizeof(Integer) == 8);
  if constexpr (sizeof(Integer) == 2) return PG_GETARG_INT16(argument);
  if constexpr (sizeof(Integer) == 4) return PG_GETARG_INT32(argument);
  return PG_GETARG_INT64(argument);
}

/// Access returns an empty optional for a NULL and for an argument that this form of the function
/// does not have.
struct Arguments {
  FunctionCallInfo fcinfo;
  int first;          // the argument at index 0
  int end = INT_MAX;  // the arguments from this index on are none of these

  bool has(int index) const { return index < end && first + index < PG_NARGS() && !PG_ARGISNULL(first + index); }
  /// @raises 22004 if there is no value
  void require(int index, const char* name) const {
    if (!has(index)) ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be NULL", name)));
  }
  Datum datum(int index) const { return PG_GETARG_DATUM(first + index); }

  std::optional<bool> boolean(int index) const {
    return get<bool>(index, [](Datum value) { return DatumGetBool(value); });
  }
  std::optional<int64_t> int4(int index) const {
    return get<int64_t>(index, [](Datum value) { return DatumGetInt32(value); });
  }
  std::optional<int64_t> int8(int index) const {
    return get<int64_t>(index, [](Datum value) { return DatumGetInt64(value); });
  }
  std::optional<double> float8(int index) const {
    return get<double>(index, [](Datum value) { return DatumGetFloat8(value); });
  }
  /// A number of transactions: an int8, or a float8 in a form that names two columns.
  /// @raises 22023 if a float8 is no whole number
  std::optional<int64_t> min_count(int index) const;
  /// A share of the transactions. 1 was perhaps meant as a number of them, so there is a NOTICE.
  std::optional<double> min_support(int index) const {
    const std::optional<double> share = float8(index);
    if (share == 1.0)
      ereport(NOTICE, (errmsg("min_support = 1 asks for what all transactions hold"),
                       errhint("min_support is a fraction; a number of transactions is min_count.")));
    return share;
  }
  /// A copy in the current memory context, or `otherwise` itself if there is no value.
  const char* string(int index, const char* otherwise) const {
    return has(index) ? TextDatumGetCString(datum(index)) : otherwise;
  }
  ArrayType* array(int index) const { return DatumGetArrayTypeP(datum(index)); }
  /// An interval in milliseconds, rounded up. A month has 30 days.
  std::optional<int64_t> milliseconds(int index) const {
    return get<int64_t>(index, [](Datum value) {
      const Interval* const span = DatumGetIntervalP(value);
      const int64_t days = int64_t{span->month} * DAYS_PER_MONTH + span->day;
      const int64_t part = span->time / 1000 + (span->time % 1000 > 0 ? 1 : 0);
      return days * (SECS_PER_DAY * int64_t{1000}) + part;
    });
  }

 private:
  template <typename Value, typename Convert>
  std::optional<Value> get(int index, Convert convert) const {
    return has(index) ? std::optional<Value>(convert(datum(index))) : std::nullopt;
  }
};

}  // namespace batmap::pg
