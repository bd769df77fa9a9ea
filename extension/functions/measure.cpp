// batmap_measure: computes one measure from four counts.
#include "measures/pair_measure.h"

#include <cmath>

#include "extension/server/boundary.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

BATMAP_FUNCTION(batmap_measure) {
  const char* const name = text_to_cstring(PG_GETARG_TEXT_PP(0));
  const int64 both = PG_GETARG_INT64(1);
  const int64 lhs = PG_GETARG_INT64(2);
  const int64 rhs = PG_GETARG_INT64(3);
  const int64 total = PG_GETARG_INT64(4);
  if (both < 0 || both > Min(lhs, rhs) || Max(lhs, rhs) > total || lhs - both > total - rhs)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("no transactions have counts " INT64_FORMAT ", " INT64_FORMAT ", " INT64_FORMAT " of " INT64_FORMAT,
                    both, lhs, rhs, total),
             errhint("n_both is part of n_lhs and of n_rhs, and both are part of n_total.")));
  const double value = guarded([&] {
    return pair_measure(parse_pair_measure(name, MeasureUse::kValue), {.both = static_cast<double>(both),
                                                                       .a = static_cast<double>(lhs),
                                                                       .b = static_cast<double>(rhs),
                                                                       .total = static_cast<double>(total)});
  });
  if (std::isnan(value)) PG_RETURN_NULL();
  PG_RETURN_FLOAT8(value);
}
