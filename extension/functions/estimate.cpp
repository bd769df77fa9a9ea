// batmap_estimate: predicts the time, the memory and the answer of batmap_pairs for each method,
// without running it.
#include <cstdio>
#include <initializer_list>

#include "extension/input/query_source.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/settings.h"
#include "pairs/pair_forecast.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct EstimateCall {
  EstimateCall()
      : meter(memory_limit_bytes(), session_memory()),
        options{.threads = thread_count(), .memory = &meter, .cancel = backend_cancel_token(), .helpers = session_threads()},
        log(options) {
    query.kernels = selected_kernels();
    progress.start("batmap_estimate");
  }

  MemoryMeter meter;
  ExecutionOptions options;
  RowLog log;
  ProgressReport progress;
  PairQuery query;
};

void describe(const PairForecast& forecast, PairMethod method, char* text, size_t size) {
  const PairEstimate& chosen = forecast.choice.estimates[static_cast<size_t>(forecast.choice.method)];
  const PairEstimate& estimate = forecast.choice.estimates[static_cast<size_t>(method)];
  if (method == forecast.choice.method)
    snprintf(text, size, estimate.fits ? "the fastest that fits" : "nothing fits; this needs the least memory");
  else if (!estimate.fits)
    snprintf(text, size, "does not fit batmap.memory_limit");
  else
    snprintf(text, size, "%.3g times the time of %s", estimate.milliseconds / chosen.milliseconds,
             pair_method_name(forecast.choice.method));
}

}  // namespace

BATMAP_FUNCTION(batmap_estimate) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (PG_ARGISNULL(0)) ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap estimate", ALLOCSET_DEFAULT_SIZES);
  EstimateCall& call = *ContextOwned<EstimateCall>::reserve(context)->emplace();
  if (!PG_ARGISNULL(1)) call.query.min_count = PG_GETARG_INT64(1);
  if (!PG_ARGISNULL(2)) call.query.min_support = PG_GETARG_FLOAT8(2);
  guarded([&] { call.query.check(); });

  QueryInput input{&call.log, &call.progress, InvalidOid, nullptr, nullptr, 0, false};
  read_query(text_to_cstring(PG_GETARG_TEXT_PP(0)), input, call.meter, context);
  PairForecast* const forecast = ContextOwned<PairForecast>::reserve(context)->emplace();
  guarded([&] { *forecast = forecast_pairs(call.log.chunks(), call.query, call.options); });

  for (const PairMethodName& entry : kPairMethodNames) {
    if (forecast->items_kept == 0) break;
    const PairEstimate& estimate = forecast->choice.estimates[static_cast<size_t>(entry.method)];
    char reason[128];
    describe(*forecast, entry.method, reason, sizeof reason);
    Datum values[12];
    int at = 0;
    values[at++] = CStringGetTextDatum(entry.name);
    values[at++] = CStringGetTextDatum("cpu");
    values[at++] = BoolGetDatum(entry.method == forecast->choice.method);
    values[at++] = Float8GetDatum(estimate.milliseconds);
    values[at++] = Int64GetDatum(static_cast<int64>(estimate.bytes));
    values[at++] = CStringGetTextDatum(reason);
    values[at++] = Float8GetDatum(forecast->pairs);
    for (const uint64_t number :
         {forecast->rows_read, forecast->transactions, forecast->items, forecast->items_kept, forecast->pair_instances})
      values[at++] = Int64GetDatum(static_cast<int64>(number));
    Assert(at == 12);
    const bool nulls[12] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, const_cast<bool*>(nulls));
  }
  MemoryContextDelete(context);
  return Datum{0};
}
