// The SQL function batmap_last_run(). See last_run.h.
#include "extension/server/last_run.h"

#include <cstring>
#include <initializer_list>

#include "extension/server/pg.h"

namespace batmap::pg {

LastRun last_run;

void explain_run(const LastRun& run, ExplainState* state) {
  ExplainPropertyText("Method", run.method, state);
  if (run.kernel[0] != '\0') ExplainPropertyText("Kernel", run.kernel, state);
  ExplainPropertyText("Device", run.device[0] == '\0' ? "cpu" : run.device, state);
  if (state->verbose) ExplainPropertyText("Reason", run.reason, state);
  ExplainPropertyText("Input", run.input, state);
  const struct {
    const char* name;
    int64_t value;
  } counts[] = {{"Rows Read", run.rows_read},
                {"Transactions", run.transactions},
                {"Items", run.items},
                {"Items Kept", run.items_kept},
                {"Rows Kept", run.occurrences}};
  for (const auto& count : counts) ExplainPropertyInteger(count.name, nullptr, count.value, state);
  if (strcmp(run.results_are, "Pairs") == 0) ExplainPropertyInteger("Pair Instances", nullptr, run.pair_instances, state);
  ExplainPropertyInteger(run.results_are, nullptr, run.results, state);
  if (run.file_bytes > 0) ExplainPropertyInteger("Temporary Files", "kB", (run.file_bytes + 1023) / 1024, state);
  if (!state->timing) return;
  const struct {
    const char* name;
    double ms;
  } phases[] = {{"Read Time", run.read_ms},
                {"Group Time", run.group_ms},
                {"Count Time", run.count_ms},
                {"Answer Time", run.answer_ms}};
  for (const auto& phase : phases) ExplainPropertyFloat(phase.name, "ms", phase.ms, 3, state);
  ExplainPropertyInteger("Peak Memory", "kB", (run.peak_memory + 1023) / 1024, state);
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_last_run) {
  using batmap::pg::last_run;
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (!last_run.any) return Datum{0};

  Datum values[20];
  bool nulls[20] = {};
  int at = 0;
  auto add_text = [&](const char* text) {
    nulls[at] = text[0] == '\0';
    values[at] = nulls[at] ? Datum{0} : CStringGetTextDatum(text);
    ++at;
  };
  add_text(last_run.operation);
  add_text(last_run.method);
  add_text(last_run.kernel);
  add_text(last_run.device[0] == '\0' ? "cpu" : last_run.device);
  add_text(last_run.reason);
  add_text(last_run.input);
  values[at++] = Int32GetDatum(last_run.threads);
  for (const int64_t number : {last_run.rows_read, last_run.transactions, last_run.items, last_run.items_kept,
                               last_run.occurrences, last_run.pair_instances, last_run.results})
    values[at++] = Int64GetDatum(number);
  values[at++] = BoolGetDatum(last_run.truncated);
  for (const double number : {last_run.read_ms, last_run.group_ms, last_run.count_ms, last_run.answer_ms})
    values[at++] = Float8GetDatum(number);
  values[at++] = Int64GetDatum(last_run.peak_memory);
  Assert(at == 20);
  tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_last_run_levels) {
  using batmap::pg::last_run;
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  for (int k = 0; k < last_run.level_count; ++k) {
    const batmap::pg::LastLevel& level = last_run.levels[k];
    Datum values[] = {Int32GetDatum(k + 1), Int64GetDatum(level.candidates), Int64GetDatum(level.frequent),
                      Float8GetDatum(level.milliseconds)};
    bool nulls[] = {false, level.candidates < 0, false, level.milliseconds < 0};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  return Datum{0};
}
