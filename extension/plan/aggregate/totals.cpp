// Adds values up. See totals.h.
#include "extension/plan/aggregate/totals.h"

#include <algorithm>

#include "extension/server/numeric.h"

#include "extension/server/pg.h"

namespace batmap::pg {

void add_values(AggregateKind kind, Total& total, RowBlock::Column column, size_t rows) {
  const auto* const first = static_cast<const char*>(column.first);
  const auto value = [&](size_t row) { return *reinterpret_cast<const int64*>(first + row * column.stride); };
  // The compiler keeps what is local in registers.
  int64 extreme = total.rows == 0 ? value(0) : total.extreme;
  __int128 sum = 0;
  switch (kind) {
    case AggregateKind::kCount: break;
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
      for (size_t row = 0; row < rows; ++row) sum += value(row);
      break;
    case AggregateKind::kMin:
      for (size_t row = 0; row < rows; ++row) extreme = std::min(extreme, value(row));
      break;
    case AggregateKind::kMax:
      for (size_t row = 0; row < rows; ++row) extreme = std::max(extreme, value(row));
      break;
  }
  total.rows += rows;
  total.extreme = extreme;
  total.sum += sum;
}

void add_values(AggregateKind kind, Total* totals, size_t step, RowBlock::Column column, const uint32_t* groups,
                size_t rows) {
  const auto* const first = static_cast<const char*>(column.first);
  const auto each = [&](auto add) {
    for (size_t row = 0; row < rows; ++row) {
      Total& total = totals[groups[row] * step];
      add(total, *reinterpret_cast<const int64*>(first + row * column.stride));
      ++total.rows;
    }
  };
  switch (kind) {
    case AggregateKind::kCount: each([](Total&, int64) {}); break;
    case AggregateKind::kSum:
    case AggregateKind::kAvg: each([](Total& total, int64 value) { total.sum += value; }); break;
    case AggregateKind::kMin:
      each([](Total& total, int64 value) {
        total.extreme = total.rows == 0 ? value : std::min<int64>(total.extreme, value);
      });
      break;
    case AggregateKind::kMax:
      each([](Total& total, int64 value) {
        total.extreme = total.rows == 0 ? value : std::max<int64>(total.extreme, value);
      });
      break;
  }
}

Datum result_of(AggregateKind kind, const Total& total, bool& is_null) {
  is_null = kind != AggregateKind::kCount && total.rows == 0;
  if (is_null) return 0;
  const auto rows = static_cast<int64>(total.rows);
  switch (kind) {
    case AggregateKind::kCount: return Int64GetDatum(rows);
    case AggregateKind::kSum: return numeric_of(total.sum, 0);
    case AggregateKind::kAvg: return DirectFunctionCall2(numeric_div, numeric_of(total.sum, 0), numeric_of(rows, 0));
    case AggregateKind::kMin:
    case AggregateKind::kMax: return Int64GetDatum(total.extreme);
  }
  pg_unreachable();
}

}  // namespace batmap::pg
