// The SQL function batmap_last_run(). See last_run.h.
#include "extension/server/last_run.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

std::optional<RunRecord> last_run;
TimestampTz last_run_statement;  // when the statement of the client began that it was in

// Of the last statement that had any.
struct {
  TimestampTz statement;
  int64_t runs;
} truncated;

int64_t truncated_runs() { return truncated.statement == last_run_statement ? truncated.runs : 0; }

// What EXPLAIN calls the input of a run.
struct InputNames {
  const char* transactions;
  const char* items;
  const char* items_kept;
  const char* occurrences;
};

constexpr InputNames kRows{"Transactions", "Items", "Items Kept", "Rows Kept"};
constexpr InputNames kSets{"Distinct Elements", "Sets", "Sets Kept", "Elements Kept"};
constexpr InputNames kEvents{"Streams", "Distinct Events", "Distinct Events Kept", "Events Kept"};

// What it calls the answers of a run, and its input.
struct RunNames {
  const char* answers;
  InputNames input;
};

RunNames names_of(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::kPairs: return {"Pairs", kRows};
    case AnswerKind::kSetPairs: return {"Pairs", kSets};
    case AnswerKind::kItemsets: return {"Itemsets", kRows};
    case AnswerKind::kRules: return {"Rules", kRows};
    case AnswerKind::kRecommendations: return {"Items Recommended", kRows};
    case AnswerKind::kEpisodes: return {"Episodes", kEvents};
    case AnswerKind::kOccurrences: return {"Occurrences", kEvents};
    case AnswerKind::kSimilarSets: break;
  }
  return {"Similar Sets", kSets};
}

}  // namespace

void keep_run(const RunRecord& record) {
  last_run = record;
  last_run_statement = GetCurrentStatementStartTimestamp();
}

void count_truncated_run() {
  const TimestampTz statement = GetCurrentStatementStartTimestamp();
  if (truncated.statement != statement) truncated = {statement, 0};
  ++truncated.runs;
}

void explain_run(const RunRecord& run, ExplainState* state) {
  ExplainPropertyText("Method", run.method.c_str(), state);
  if (!run.kernel.empty()) ExplainPropertyText("Kernel", run.kernel.c_str(), state);
  ExplainPropertyText("Device", run.device.c_str(), state);
  if (state->verbose) ExplainPropertyText("Reason", run.reason.c_str(), state);
  ExplainPropertyText("Input", run.input, state);
  const auto explain_number = [&](const char* name, const char* unit, uint64_t value) {
    ExplainPropertyInteger(name, unit, static_cast<int64_t>(value), state);
  };
  const auto [answers, input] = names_of(run.answers);
  const bool is_of_sets = run.answers == AnswerKind::kSetPairs || run.answers == AnswerKind::kSimilarSets;
  const bool has_transactions = !is_of_sets || run.transactions > 0;  // sets: only where their elements become rows
  explain_number("Rows Read", nullptr, run.rows_read);
  if (has_transactions) explain_number(input.transactions, nullptr, run.transactions);
  explain_number(input.items, nullptr, run.items);
  explain_number(input.items_kept, nullptr, run.items_kept);
  explain_number(input.occurrences, nullptr, run.occurrences);
  if (run.answers == AnswerKind::kPairs || (is_of_sets && has_transactions))
    explain_number("Pair Instances", nullptr, run.pair_instances);
  explain_number(answers, nullptr, run.results);
  if (run.file_bytes > 0) explain_number("Temporary Files", "kB", (run.file_bytes + 1023) / 1024);
  if (!state->timing) return;
  const struct {
    const char* name;
    double ms;
  } phases[] = {{"Read Time", run.read_ms},
                {"Group Time", run.group_ms},
                {"Count Time", run.count_ms},
                {"Answer Time", run.answer_ms}};
  for (const auto& phase : phases) ExplainPropertyFloat(phase.name, "ms", phase.ms, 3, state);
  explain_number("Peak Memory", "kB", (run.peak_memory + 1023) / 1024);
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_last_run) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (!batmap::pg::last_run) return Datum{0};
  const batmap::RunRecord& run = *batmap::pg::last_run;

  Datum values[21];
  bool nulls[21] = {};
  int at = 0;
  for (const char* const text :
       {run.operation, run.method.c_str(), run.kernel.c_str(), run.device.c_str(), run.reason.c_str(), run.input}) {
    nulls[at] = text[0] == '\0';
    values[at] = nulls[at] ? Datum{0} : CStringGetTextDatum(text);
    ++at;
  }
  values[at++] = Int32GetDatum(run.threads);
  for (const uint64_t number :
       {run.rows_read, run.transactions, run.items, run.items_kept, run.occurrences, run.pair_instances, run.results})
    values[at++] = Int64GetDatum(static_cast<int64_t>(number));
  values[at++] = BoolGetDatum(run.truncated());
  values[at++] = Int64GetDatum(batmap::pg::truncated_runs());
  for (const double number : {run.read_ms, run.group_ms, run.count_ms, run.answer_ms}) values[at++] = Float8GetDatum(number);
  values[at++] = Int64GetDatum(static_cast<int64_t>(run.peak_memory));
  Assert(at == 21);
  tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_last_run_levels) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (!batmap::pg::last_run) return Datum{0};
  const std::vector<batmap::RunLevel>& levels = batmap::pg::last_run->levels;
  for (size_t k = 0; k < std::min(levels.size(), batmap::pg::kMaxLevels); ++k) {
    const batmap::RunLevel& level = levels[k];
    Datum values[] = {Int32GetDatum(static_cast<int32_t>(k + 1)),
                      Int64GetDatum(static_cast<int64_t>(level.candidates.value_or(0))),
                      Int64GetDatum(static_cast<int64_t>(level.frequent)), Float8GetDatum(level.ms.value_or(0))};
    bool nulls[] = {false, !level.candidates, false, !level.ms};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  return Datum{0};
}
