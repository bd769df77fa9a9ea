// Table functions batmap_rules and batmap_rules_of: arguments, input, and the rows of the answer.
#include "extension/srf_rules.h"

#include <array>
#include <vector>

#include "extension/backend.h"
#include "extension/boundary.h"
#include "extension/context_owned.h"
#include "extension/item_lists.h"
#include "extension/last_run.h"
#include "extension/pair_stream.h"
#include "extension/progress.h"
#include "extension/query_source.h"
#include "extension/relation_datum.h"
#include "extension/settings.h"
#include "itemsets/rules.h"
#include "support/pair_measure.h"

#include "extension/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call; lives in the memory context of the call. Rows stay in memory.
struct RuleCall {
  explicit RuleCall(MemoryContext)
      : meter(memory_limit_bytes()), options{.threads = 1, .memory = &meter, .cancel = backend_cancel_token()} {
    query.itemsets.kernel = &select_mask_kernel(settings.cpu_kernel);
  }

  MemoryMeter meter;
  ProgressReport progress;
  ExecutionOptions options;
  RuleQuery query;
  std::optional<PairLog> log;
  std::optional<RuleRun> run;
  RuleBatch batch;
  size_t handed_over = 0;  // of the batch
};

// Positions of the arguments after the input, which is one argument, or two in the _of form.
enum Argument {
  kMinSupport,
  kMinCount,
  kMinConfidence,
  kMinLift,
  kMaxLhs,
  kMaxRhs,
  kLhsInclude,
  kLhsExclude,
  kRhsInclude,
  kRhsExclude,
  kExclude,
  kMaxResults,
  kArguments
};

/// The lists among the arguments, and where they go.
struct List {
  Argument argument;
  const char* name;
  std::optional<std::vector<int64_t>>& to;
};

std::array<List, 5> lists_of(RuleQuery& query) {
  return {{{kLhsInclude, "lhs_include", query.lhs_include},
           {kLhsExclude, "lhs_exclude", query.lhs_exclude},
           {kRhsInclude, "rhs_include", query.rhs_include},
           {kRhsExclude, "rhs_exclude", query.rhs_exclude},
           {kExclude, "exclude", query.itemsets.exclude}}};
}

/// Everything but the lists of the _of form, whose values mean nothing before the rows are read.
void read_arguments(FunctionCallInfo fcinfo, int first, bool integer_lists, RuleQuery& query) {
  const auto has = [&](Argument argument) { return !PG_ARGISNULL(first + argument); };
  if (has(kMinSupport)) query.itemsets.min_support = PG_GETARG_FLOAT8(first + kMinSupport);
  if (has(kMinCount)) query.itemsets.min_count = PG_GETARG_INT64(first + kMinCount);
  if (has(kMinConfidence)) query.min_confidence = PG_GETARG_FLOAT8(first + kMinConfidence);
  if (has(kMinLift)) query.min_lift = PG_GETARG_FLOAT8(first + kMinLift);
  if (has(kMaxLhs)) query.max_lhs = PG_GETARG_INT32(first + kMaxLhs);
  if (has(kMaxRhs)) query.max_rhs = PG_GETARG_INT32(first + kMaxRhs);
  if (has(kMaxResults)) query.max_results = PG_GETARG_INT64(first + kMaxResults);
  if (integer_lists)
    for (const List& list : lists_of(query))
      if (has(list.argument)) set_list(list.to, PG_GETARG_ARRAYTYPE_P(first + list.argument), list.name);
  guarded([&] { query.check(); });
}

/// The rows of one call: opened, then filled from its input, then pulled.
class RuleStream final : public RowStream {
 public:
  RuleStream(const char* operation, RuleCall* call, MemoryContext row) : operation_(operation), call_(call), row_(row) {
    INSTR_TIME_SET_CURRENT(clock_);
  }

  RuleCall& call() const { return *call_; }

  /// Finds the itemsets, once the rows have been read; from then on rules can be pulled.
  /// @param kind  how the rows came: a word for batmap_last_run()
  /// @param rows  gives the chunks; runs inside guarded
  template <typename Rows>
  void start(const char* kind, const QueryInput& input, Rows rows) {
    kind_ = kind;
    rows_read_ = input.rows_read;
    read_ms_ = lap_ms(clock_);
    arrays_.emplace(input.items);
    const std::span<const uint32_t> ranks =
        input.items == nullptr ? std::span<const uint32_t>() : std::span(input.item_rank, input.items->count);
    call_->progress.phase(Phase::kGrouping, rows_read_);
    guarded([&] {
      call_->run.emplace(rows(), ranks, call_->query, call_->options);
      call_->log.reset();
    });
    count_ms_ += lap_ms(clock_) - call_->run->report().group_ms;
  }

  bool next(Datum* values) override {
    while (call_->handed_over == call_->batch.rows.size())
      if (!next_batch()) return false;
    put(call_->batch.rows[call_->handed_over++], values);
    return true;
  }

  void finish() override {
    describe(last_run);
    call_->progress.finish();
  }

  void explain(ExplainState* state) override {
    LastRun run;
    describe(run);
    explain_run(run, state);
  }

 private:
  void put(const RuleRow& row, Datum* values) {
    MemoryContextReset(row_);
    const MemoryContext caller = MemoryContextSwitchTo(row_);
    const int64_t* const items = call_->batch.items.data() + row.begin;
    const uint64_t total = call_->run->report().transactions;
    values[0] = arrays_->make({items, row.lhs_length});
    values[1] = arrays_->make({items + row.lhs_length, row.rhs_length});
    values[2] = Int64GetDatum(row.support);
    values[3] = Int64GetDatum(row.lhs_support);
    values[4] = Int64GetDatum(row.rhs_support);
    values[5] = Int64GetDatum(static_cast<int64_t>(total));
    const PairCounts counts{.both = static_cast<double>(row.support),
                            .a = static_cast<double>(row.lhs_support),
                            .b = static_cast<double>(row.rhs_support),
                            .total = static_cast<double>(total)};
    int column = 6;
    for (const PairMeasure measure : {PairMeasure::kSupport, PairMeasure::kConfidence, PairMeasure::kLift,
                                      PairMeasure::kLeverage, PairMeasure::kConviction})
      values[column++] = Float8GetDatum(pair_measure(measure, counts));
    MemoryContextSwitchTo(caller);
  }

  bool next_batch() {
    CHECK_FOR_INTERRUPTS();
    answer_ms_ += lap_ms(clock_);
    call_->handed_over = 0;
    RuleRun& run = *call_->run;
    const bool more = guarded([&] { return run.next(call_->batch); });
    count_ms_ += lap_ms(clock_);
    if (more) return true;
    if (run.truncated()) {
      finish();
      report_truncation(*call_->query.max_results);
    }
    return false;
  }

  void describe(LastRun& run) const {
    const ItemsetReport& report = call_->run->report();
    run = {};
    run.any = true;
    strlcpy(run.operation, operation_, sizeof run.operation);
    strlcpy(run.method, report.method.c_str(), sizeof run.method);
    strlcpy(run.kernel, report.kernel.c_str(), sizeof run.kernel);
    strlcpy(run.input, kind_, sizeof run.input);
    run.threads = call_->options.threads;
    run.rows_read = static_cast<int64_t>(rows_read_);
    run.transactions = static_cast<int64_t>(report.transactions);
    run.items = static_cast<int64_t>(report.items);
    run.items_kept = static_cast<int64_t>(report.items_kept);
    run.occurrences = static_cast<int64_t>(report.occurrences);
    run.results = static_cast<int64_t>(call_->run->results() - (call_->batch.rows.size() - call_->handed_over));
    run.truncated = call_->run->truncated();
    run.read_ms = read_ms_;
    run.group_ms = report.group_ms;
    run.count_ms = count_ms_;
    run.answer_ms = answer_ms_;
    run.peak_memory = static_cast<int64_t>(call_->meter.peak());
  }

  const char* operation_;
  const char* kind_ = "";
  RuleCall* call_;
  MemoryContext row_;                 // of the values of one row
  std::optional<ItemArrays> arrays_;  // once the rows are there
  uint64_t rows_read_ = 0;
  double read_ms_ = 0;
  double count_ms_ = 0;
  double answer_ms_ = 0;  // between a batch and the wish for the next
  instr_time clock_;
};

RuleStream* new_stream(const char* operation, MemoryContext context) {
  RuleCall* const call = ContextOwned<RuleCall>::reserve(context)->emplace(context);
  call->progress.start(operation);
  const MemoryContext row = AllocSetContextCreate(context, "batmap row", ALLOCSET_SMALL_SIZES);
  return new (MemoryContextAlloc(context, sizeof(RuleStream))) RuleStream(operation, call, row);
}

RowStream* open_query(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int query_argument,
                      Oid item_type) {
  RuleStream* const stream = new_stream(operation, context);
  RuleCall& call = stream->call();
  const int first = query_argument + 1;
  if (PG_ARGISNULL(query_argument))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  const bool of_type = OidIsValid(item_type);
  read_arguments(fcinfo, first, !of_type, call.query);
  char* const query = text_to_cstring(PG_GETARG_TEXT_PP(query_argument));
  // Before any row is read: a bad list should not cost a run.
  Elements elements[kArguments] = {};
  if (of_type)
    for (const List& list : lists_of(call.query))
      if (!PG_ARGISNULL(first + list.argument))
        elements[list.argument] = items_of_text(PG_GETARG_ARRAYTYPE_P(first + list.argument), list.name, item_type);
  guarded([&] { call.log.emplace(call.options); });
  QueryInput input{&*call.log, fcinfo->flinfo->fn_oid, &call.progress, item_type, nullptr, nullptr, 0, false};
  read_query(query, input, call.meter, context);
  if (of_type)
    for (const List& list : lists_of(call.query))
      if (!PG_ARGISNULL(first + list.argument)) set_ranks(list.to, elements[list.argument], input);
  stream->start(input.in_parallel ? "parallel aggregate" : "stream", input, [&] { return call.log->chunks(); });
  return stream;
}

}  // namespace

namespace batmap::pg {

RowStream* open_rules_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query(fcinfo, context, "batmap_rules", 0, InvalidOid);
}

RowStream* open_rules_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query(fcinfo, context, "batmap_rules_of", 1, item_type_argument(fcinfo));
}

RowStream* open_rules_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  RuleStream* const stream = new_stream("batmap_rules", context);
  read_arguments(fcinfo, 1, true, stream->call().query);
  if (PG_ARGISNULL(0)) return nullptr;  // a relation over no rows: batmap_relation_agg gives NULL
  const MemoryContext copies = AllocSetContextCreate(context, "batmap relation", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(copies);
  const std::byte* const bytes = relation_bytes(relation_finished(relation_argument(fcinfo, 0)));
  MemoryContextSwitchTo(caller);
  QueryInput input{};
  input.rows_read = flat_header(bytes).rows();
  stream->start("relation", input, [&] { return flat_chunks(bytes); });
  MemoryContextDelete(copies);  // the itemsets are found now
  return stream;
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_rules_query) {
  materialize(fcinfo, open_rules_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_rules_of_query) {
  materialize(fcinfo, open_rules_of_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_rules_relation) {
  materialize(fcinfo, open_rules_relation);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_rules_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kMaxResults, kArguments - kMaxResults));
}
