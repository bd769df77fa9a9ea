// batmap_estimate: predicts the time, the memory and the answer of batmap_pairs for each method,
// without running it.
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>

#include "core/run_record.h"
#include "extension/server/server_files.h"
#include "extension/streams/table_input.h"
#include "pairs/pair_forecast.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct ForecastCall : RunCall {
  explicit ForecastCall(MemoryContext context) : RunCall(thread_count()), files(context) {
    options.files = &files;
    options.work_bytes = run_work_bytes();
    query.kernels = selected_kernels();
  }

  ServerFiles files;
  PairQuery query;
  std::optional<RowLog> log;
  PairForecast forecast;
  std::string described;  // where the rows are, if in files
};

/// @param files  where the rows are; empty if they are in memory
void describe(const PairForecast& forecast, const char* files, PairMethod method, char* text, size_t size) {
  const PairEstimate& chosen = forecast.choice.estimates[static_cast<size_t>(forecast.choice.method)];
  const PairEstimate& estimate = forecast.choice.estimates[static_cast<size_t>(method)];
  if (method == forecast.choice.method)
    snprintf(text, size, "%s%s", estimate.fits ? "the fastest that fits" : "nothing fits; this needs the least memory",
             files);
  else if (!estimate.fits)
    snprintf(text, size, "does not fit batmap.memory_limit");
  else
    snprintf(text, size, "%.3g times the time of %s", estimate.milliseconds / chosen.milliseconds,
             pair_method_name(forecast.choice.method));
}

/// One row for each method.
class ForecastStream final : public RowStream {
 public:
  using Call = ForecastCall;

  ForecastStream(const char*, ForecastCall* call, MemoryContext) : call_(call) {}

  ForecastCall& call() const { return *call_; }

  RowStream* run(const PairQuery& query, const InputRows& rows) {
    guarded([&] {
      const RowPartitions* const files = rows.log->partitions();
      call_->forecast = files != nullptr ? forecast_pairs(*files, query, call_->options)
                                         : forecast_pairs(rows.chunks(), query, call_->options);
      call_->log.reset();
      if (files != nullptr) call_->described = "; " + rows_in_files(call_->forecast.file_bytes, call_->forecast.parts);
    });
    call_->files.close_all();
    return this;
  }

  bool next(Datum* values) override {
    const PairForecast& forecast = call_->forecast;
    if (forecast.items_kept == 0 || method_ == std::size(kPairMethodNames)) return false;
    const PairMethodName& entry = kPairMethodNames[method_++];
    const PairEstimate& estimate = forecast.choice.estimates[static_cast<size_t>(entry.method)];
    char reason[160];
    describe(forecast, call_->described.c_str(), entry.method, reason, sizeof reason);
    int at = 0;
    values[at++] = CStringGetTextDatum(entry.name);
    values[at++] = CStringGetTextDatum("cpu");
    values[at++] = BoolGetDatum(entry.method == forecast.choice.method);
    values[at++] = Float8GetDatum(estimate.milliseconds);
    values[at++] = Int64GetDatum(static_cast<int64>(estimate.bytes));
    values[at++] = CStringGetTextDatum(reason);
    values[at++] = Float8GetDatum(forecast.pairs);
    values[at++] = Float8GetDatum(forecast.standard_error);
    for (const uint64_t number :
         {forecast.rows_read, forecast.transactions, forecast.items, forecast.items_kept, forecast.pair_instances})
      values[at++] = Int64GetDatum(static_cast<int64>(number));
    Assert(at == 13);
    return true;
  }

  void finish() override { call_->progress.finish(); }  // this is no run: batmap_last_run() keeps its record
  void explain(ExplainState* state) override {
    ExplainPropertyUInteger("Rows Read", nullptr, call_->forecast.rows_read, state);
  }

 private:
  ForecastCall* call_;
  size_t method_ = 0;  // of the next row
};

const PairQuery& read_arguments(const Arguments& arguments, PairQuery& query) {
  query.min_count = arguments.int8(0);
  query.min_support = arguments.min_support(1);
  guarded([&] { query.check(); });
  return query;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_estimate) {
  const TableInput input = query_input(fcinfo, context, "batmap_estimate", 0, {4, true}, ANYELEMENTOID);
  auto* const stream = new_stream<ForecastStream>(input.operation, context);
  const PairQuery& query = read_arguments(input.arguments(), stream->call().query);
  const std::optional<InputRows> rows = read_rows(input, stream->call(), stream->call().log, {});
  return stream->run(query, *rows);
}
