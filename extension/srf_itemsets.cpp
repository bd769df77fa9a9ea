// Table functions batmap_itemsets, batmap_itemsets_of and batmap_itemset_spectrum: arguments, input, and the rows of the
// answer.
#include "extension/srf_itemsets.h"

#include <algorithm>
#include <cstdio>
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
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"

#include "extension/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call; lives in the memory context of the call. Rows stay in memory.
struct ItemsetCall {
  explicit ItemsetCall(MemoryContext)
      : meter(memory_limit_bytes()), options{.threads = thread_count(), .memory = &meter, .cancel = backend_cancel_token()} {
    query.kernel = &select_mask_kernel(settings.cpu_kernel);
    query.bits = selected_kernels().bits;
  }

  MemoryMeter meter;
  ProgressReport progress;
  ExecutionOptions options;
  ItemsetQuery query;
  std::optional<PairLog> log;
  std::optional<ItemsetRun> run;
  std::optional<ItemsetStream> stream;                 // ends before the run
  std::optional<GrowingBuffer<SpectrumRow>> spectrum;  // instead of a stream
  std::vector<ItemsetStep> batch;
  size_t handed_over = 0;       // of the batch
  std::vector<int64_t> prefix;  // the itemset of the last step
  std::vector<int64_t> ascending;
};

// Positions of the arguments after the input, which is one argument, or two in the _of form. A spectrum has no others than
// those before kTopK.
enum Argument {
  kMinSupport,
  kMinCount,
  kMinLength,
  kMaxLength,
  kTarget,
  kInclude,
  kExclude,
  kMaxSupport,
  kTopK,
  kMaxResults,
  kTimeout,
  kAlgorithm,
  kArguments
};

struct Arguments {
  FunctionCallInfo fcinfo;
  int first;

  bool has(Argument argument) const { return first + argument < PG_NARGS() && !PG_ARGISNULL(first + argument); }
  int64_t int8(Argument argument) const { return PG_GETARG_INT64(first + argument); }
  int64_t int4(Argument argument) const { return PG_GETARG_INT32(first + argument); }
  double float8(Argument argument) const { return PG_GETARG_FLOAT8(first + argument); }
  char* string(Argument argument) const { return TextDatumGetCString(PG_GETARG_DATUM(first + argument)); }
  ArrayType* array(Argument argument) const { return PG_GETARG_ARRAYTYPE_P(first + argument); }
  /// Rounded up; months of thirty days, as in extract(epoch).
  int64_t milliseconds(Argument argument) const {
    const Interval* const span = PG_GETARG_INTERVAL_P(first + argument);
    const int64_t days = int64_t{span->month} * DAYS_PER_MONTH + span->day;
    const int64_t part = span->time / 1000 + (span->time % 1000 > 0 ? 1 : 0);
    return days * (SECS_PER_DAY * int64_t{1000}) + part;
  }
};

/// Everything but the lists of the _of form, whose values mean nothing before the rows are read.
void read_arguments(const Arguments& arguments, bool integer_lists, ItemsetQuery& query) {
  if (arguments.has(kMinSupport)) query.min_support = arguments.float8(kMinSupport);
  if (arguments.has(kMinCount)) query.min_count = arguments.int8(kMinCount);
  if (arguments.has(kMinLength)) query.min_length = arguments.int4(kMinLength);
  if (arguments.has(kMaxLength)) query.max_length = arguments.int4(kMaxLength);
  if (arguments.has(kMaxSupport)) query.max_support = arguments.float8(kMaxSupport);
  if (arguments.has(kTopK)) query.top_k = arguments.int8(kTopK);
  if (arguments.has(kMaxResults)) query.max_results = arguments.int8(kMaxResults);
  if (arguments.has(kTimeout)) query.timeout_ms = arguments.milliseconds(kTimeout);
  if (integer_lists && arguments.has(kInclude)) set_list(query.include, arguments.array(kInclude), "include");
  if (integer_lists && arguments.has(kExclude)) set_list(query.exclude, arguments.array(kExclude), "exclude");
  const char* const target = arguments.has(kTarget) ? arguments.string(kTarget) : "all";
  const char* const algorithm = arguments.has(kAlgorithm) ? arguments.string(kAlgorithm) : "auto";
  guarded([&] {
    query.target = parse_itemset_target(target);
    query.algorithm = parse_itemset_algorithm(algorithm);
    query.check();
  });
}

/// The rows of one call: opened, then filled from its input, then pulled.
class ItemsetRowStream final : public RowStream {
 public:
  ItemsetRowStream(const char* operation, ItemsetCall* call, MemoryContext row)
      : operation_(operation), call_(call), row_(row) {
    INSTR_TIME_SET_CURRENT(clock_);
  }

  ItemsetCall& call() const { return *call_; }

  /// Groups the rows, once they have been read.
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
    INSTR_TIME_SET_CURRENT(clock_);
  }
  void start_search() {
    guarded([&] { call_->stream.emplace(*call_->run, call_->options); });
  }
  void start_spectrum() {
    guarded([&] { call_->spectrum.emplace(call_->run->spectrum()); });
    count_ms_ += lap_ms(clock_);
    results_ = call_->spectrum->size();
  }

  bool next(Datum* values) override {
    for (;;) {
      if (call_->handed_over == call_->batch.size() && !next_batch()) return false;
      const ItemsetStep& step = call_->batch[call_->handed_over++];
      call_->prefix.resize(step.length - 1);
      call_->prefix.push_back(call_->run->value(step.item));
      if (step.support == 0) continue;
      ++results_;
      put(step, values);
      return true;
    }
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
  void put(const ItemsetStep& step, Datum* values) {
    MemoryContextReset(row_);
    const MemoryContext caller = MemoryContextSwitchTo(row_);
    std::vector<int64_t>& items = call_->ascending;
    items.assign(call_->prefix.begin(), call_->prefix.end());
    std::sort(items.begin(), items.end());
    values[0] = arrays_->make(items);
    const uint64_t total = call_->run->report().transactions;
    values[1] = Int32GetDatum(static_cast<int32_t>(step.length));
    values[2] = Int64GetDatum(step.support);
    values[3] = Float8GetDatum(static_cast<double>(step.support) / static_cast<double>(total));
    values[4] = Int64GetDatum(static_cast<int64_t>(total));
    MemoryContextSwitchTo(caller);
  }

  bool next_batch() {
    CHECK_FOR_INTERRUPTS();
    answer_ms_ += lap_ms(clock_);
    call_->handed_over = 0;
    ItemsetStream& stream = *call_->stream;
    const bool more = guarded([&] { return stream.next(call_->batch); });
    call_->progress.tasks(stream.tasks_done(), stream.tasks(), stream.results());
    count_ms_ += lap_ms(clock_);
    if (more) return true;
    truncated_ = stream.truncated() != Truncation::kNone;
    if (truncated_) {
      finish();
      if (stream.truncated() == Truncation::kTimeout)
        report_timeout(*call_->query.timeout_ms);
      else
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
    snprintf(run.reason, sizeof run.reason, "%llu distinct transactions, threshold %llu",
             static_cast<unsigned long long>(report.distinct_transactions),
             static_cast<unsigned long long>(report.threshold));
    strlcpy(run.input, kind_, sizeof run.input);
    run.threads = call_->options.threads;
    run.rows_read = static_cast<int64_t>(rows_read_);
    run.transactions = static_cast<int64_t>(report.transactions);
    run.items = static_cast<int64_t>(report.items);
    run.items_kept = static_cast<int64_t>(report.items_kept);
    run.occurrences = static_cast<int64_t>(report.occurrences);
    run.results = static_cast<int64_t>(results_);
    run.truncated = truncated_;
    run.read_ms = read_ms_;
    run.group_ms = report.group_ms;
    run.count_ms = count_ms_;
    run.answer_ms = answer_ms_;
    run.peak_memory = static_cast<int64_t>(call_->meter.peak());
  }

  const char* operation_;
  const char* kind_ = "";
  ItemsetCall* call_;
  MemoryContext row_;                 // of the values of one row
  std::optional<ItemArrays> arrays_;  // once the rows are there
  uint64_t rows_read_ = 0;
  uint64_t results_ = 0;
  bool truncated_ = false;
  double read_ms_ = 0;
  double count_ms_ = 0;
  double answer_ms_ = 0;  // between a batch and the wish for the next
  instr_time clock_;
};

ItemsetRowStream* new_stream(const char* operation, MemoryContext context) {
  ItemsetCall* const call = ContextOwned<ItemsetCall>::reserve(context)->emplace(context);
  call->progress.start(operation);
  const MemoryContext row = AllocSetContextCreate(context, "batmap row", ALLOCSET_SMALL_SIZES);
  return new (MemoryContextAlloc(context, sizeof(ItemsetRowStream))) ItemsetRowStream(operation, call, row);
}

/// The stream of a call over query text, its rows grouped.
ItemsetRowStream* open_query(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int query_argument,
                             Oid item_type) {
  ItemsetRowStream* const stream = new_stream(operation, context);
  ItemsetCall& call = stream->call();
  const Arguments arguments{fcinfo, query_argument + 1};
  if (PG_ARGISNULL(query_argument))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  const bool of_type = OidIsValid(item_type);
  read_arguments(arguments, !of_type, call.query);
  char* const query = text_to_cstring(PG_GETARG_TEXT_PP(query_argument));
  Elements include{};
  Elements exclude{};
  // Before any row is read: a bad list should not cost a run.
  if (of_type && arguments.has(kInclude)) include = items_of_text(arguments.array(kInclude), "include", item_type);
  if (of_type && arguments.has(kExclude)) exclude = items_of_text(arguments.array(kExclude), "exclude", item_type);
  guarded([&] { call.log.emplace(call.options); });
  QueryInput input{&*call.log, fcinfo->flinfo->fn_oid, &call.progress, item_type, nullptr, nullptr, 0, false};
  read_query(query, input, call.meter, context);
  if (of_type && arguments.has(kInclude)) set_ranks(call.query.include, include, input);
  if (of_type && arguments.has(kExclude)) set_ranks(call.query.exclude, exclude, input);
  stream->start(input.in_parallel ? "parallel aggregate" : "stream", input, [&] { return call.log->chunks(); });
  return stream;
}

/// The same over a relation. @return nullptr for NULL, a relation over no rows
ItemsetRowStream* open_relation(FunctionCallInfo fcinfo, MemoryContext context, const char* operation) {
  ItemsetRowStream* const stream = new_stream(operation, context);
  read_arguments({fcinfo, 1}, true, stream->call().query);
  if (PG_ARGISNULL(0)) return nullptr;
  const MemoryContext copies = AllocSetContextCreate(context, "batmap relation", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(copies);
  const std::byte* const bytes = relation_bytes(relation_finished(relation_argument(fcinfo, 0)));
  MemoryContextSwitchTo(caller);
  QueryInput input{};
  input.rows_read = flat_header(bytes).rows();
  stream->start("relation", input, [&] { return flat_chunks(bytes); });
  MemoryContextDelete(copies);  // the rows are grouped now
  return stream;
}

RowStream* searching(ItemsetRowStream* stream) {
  if (stream != nullptr) stream->start_search();
  return stream;
}

/// Fills the tuplestore of the call with a spectrum.
template <typename Open>
void give_spectrum(FunctionCallInfo fcinfo, Open open) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap run", ALLOCSET_DEFAULT_SIZES);
  if (ItemsetRowStream* const stream = open(context); stream != nullptr) {
    stream->start_spectrum();
    const GrowingBuffer<SpectrumRow>& rows = *stream->call().spectrum;
    const auto total = static_cast<double>(stream->call().run->report().transactions);
    for (size_t k = 0; k < rows.size(); ++k) {
      CHECK_FOR_INTERRUPTS();
      Datum values[] = {Int32GetDatum(static_cast<int32_t>(rows[k].length)), Int64GetDatum(rows[k].support),
                        Float8GetDatum(static_cast<double>(rows[k].support) / total),
                        Int64GetDatum(static_cast<int64_t>(rows[k].itemsets))};
      bool nulls[4] = {};
      tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
    stream->finish();
  }
  MemoryContextDelete(context);
}

}  // namespace

namespace batmap::pg {

RowStream* open_itemsets_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return searching(open_query(fcinfo, context, "batmap_itemsets", 0, InvalidOid));
}

RowStream* open_itemsets_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return searching(open_query(fcinfo, context, "batmap_itemsets_of", 1, item_type_argument(fcinfo)));
}

RowStream* open_itemsets_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  return searching(open_relation(fcinfo, context, "batmap_itemsets"));
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_itemsets_query) {
  materialize(fcinfo, open_itemsets_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemsets_of_query) {
  materialize(fcinfo, open_itemsets_of_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemsets_relation) {
  materialize(fcinfo, open_itemsets_relation);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemset_spectrum_query) {
  give_spectrum(
      fcinfo, [&](MemoryContext context) { return open_query(fcinfo, context, "batmap_itemset_spectrum", 0, InvalidOid); });
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemset_spectrum_relation) {
  give_spectrum(fcinfo, [&](MemoryContext context) { return open_relation(fcinfo, context, "batmap_itemset_spectrum"); });
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemsets_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kTopK, kArguments - kMaxResults));
}
