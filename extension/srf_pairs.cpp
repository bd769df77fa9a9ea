// Table functions batmap_pairs and batmap_pairs_of: arguments, input, and the rows of the answer.
#include "extension/srf_pairs.h"

#include <string>
#include <vector>

#include "extension/backend.h"
#include "extension/boundary.h"
#include "extension/context_owned.h"
#include "extension/last_run.h"
#include "extension/query_source.h"
#include "extension/relation_datum.h"
#include "extension/settings.h"
#include "support/pair_run.h"

#include "extension/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call; lives in the memory context of the call.
struct PairCall {
  PairCall() : meter(memory_limit_bytes()), options{thread_count(), &meter, backend_cancel_token()} {
    query.kernel = &selected_kernel();
    query.set_kernel = &selected_set_kernel();
  }

  MemoryMeter meter;
  ExecutionOptions options;
  PairQuery query;
  std::optional<PairLog> log;
  std::optional<PairRun> run;
  std::vector<PairRow> batch;
  size_t handed_over = 0;  // of the batch
};

// Positions of the arguments after the input, which is one argument, or two in the _of form.
enum Argument { kMinCount, kMinSupport, kTopK, kPerItemTopK, kInclude, kExclude, kMaxResults, kMethod, kArguments };

struct Arguments {
  FunctionCallInfo fcinfo;
  int first;

  bool has(Argument argument) const { return !PG_ARGISNULL(first + argument); }
  int64_t int8(Argument argument) const { return PG_GETARG_INT64(first + argument); }
  int64_t int4(Argument argument) const { return PG_GETARG_INT32(first + argument); }
  double float8(Argument argument) const { return PG_GETARG_FLOAT8(first + argument); }
  char* string(Argument argument) const { return TextDatumGetCString(PG_GETARG_DATUM(first + argument)); }
  ArrayType* array(Argument argument) const { return PG_GETARG_ARRAYTYPE_P(first + argument); }
};

struct Elements {
  Datum* values;
  int count;
};

/// The elements of an include or exclude list. @raises 22004 for a NULL element
Elements elements_of(ArrayType* array, const char* name) {
  Elements elements;
  bool* nulls;
  int16 length;
  bool by_value;
  char alignment;
  get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
  deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &elements.values, &nulls, &elements.count);
  for (int k = 0; k < elements.count; ++k)
    if (nulls[k]) ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not contain NULL", name)));
  return elements;
}

void set_list(std::optional<std::vector<int64_t>>& list, ArrayType* array, const char* name) {
  const Elements elements = elements_of(array, name);
  guarded([&] {
    list.emplace();
    for (int k = 0; k < elements.count; ++k) list->push_back(DatumGetInt64(elements.values[k]));
  });
}

/// Everything but the lists of the _of form, whose values mean nothing before the rows are read.
void read_arguments(const Arguments& arguments, bool integer_lists, PairCall& call) {
  PairQuery& query = call.query;
  if (arguments.has(kMinCount)) query.min_count = arguments.int8(kMinCount);
  if (arguments.has(kMinSupport)) query.min_support = arguments.float8(kMinSupport);
  if (arguments.has(kTopK)) query.top_k = arguments.int8(kTopK);
  if (arguments.has(kPerItemTopK)) query.per_item_top_k = arguments.int4(kPerItemTopK);
  if (arguments.has(kMaxResults)) query.max_results = arguments.int8(kMaxResults);
  if (integer_lists && arguments.has(kInclude)) set_list(query.include, arguments.array(kInclude), "include");
  if (integer_lists && arguments.has(kExclude)) set_list(query.exclude, arguments.array(kExclude), "exclude");
  const char* const method = arguments.has(kMethod) ? arguments.string(kMethod) : "auto";
  guarded([&] {
    query.method = parse_pair_method(method);
    query.check();
  });
}

/// A list of the _of form: items in text form, as values of the item type. Empty and without values where not given.
Elements items_of_text(const Arguments& arguments, Argument argument, const char* name, Oid item_type) {
  if (!arguments.has(argument)) return {nullptr, 0};
  Elements items = elements_of(arguments.array(argument), name);
  Oid function;
  Oid parameter;
  getTypeInputInfo(item_type, &function, &parameter);
  for (int k = 0; k < items.count; ++k)
    items.values[k] = OidInputFunctionCall(function, TextDatumGetCString(items.values[k]), parameter, -1);
  return items;
}

/// Items to their ranks in the answer; those that do not occur are left out.
void set_ranks(std::optional<std::vector<int64_t>>& list, const Elements& items, const QueryInput& input) {
  guarded([&] { list.emplace(); });
  for (int k = 0; k < items.count; ++k) {
    uint32_t id;
    if (dictionary_find(*input.items, items.values[k], id)) guarded([&] { list->push_back(input.item_rank[id]); });
  }
}

/// Since `start`, which becomes now.
double lap_ms(instr_time& start) {
  instr_time now;
  INSTR_TIME_SET_CURRENT(now);
  instr_time lap = now;
  INSTR_TIME_SUBTRACT(lap, start);
  start = now;
  return INSTR_TIME_GET_MILLISEC(lap);
}

void report_truncation(int64_t max_results) {
  const bool is_error = settings.on_truncation == static_cast<int>(OnTruncation::kError);
  ereport(is_error ? ERROR : WARNING,
          (errcode(is_error ? ERRCODE_PROGRAM_LIMIT_EXCEEDED : ERRCODE_WARNING),
           errmsg("answer cut off after max_results = %lld rows", static_cast<long long>(max_results)),
           errhint("Raise max_results or the threshold.")));
}

/// The rows of one call: opened, then filled from its input, then pulled.
class PairStream final : public RowStream {
 public:
  PairStream(const char* operation, PairCall* call, MemoryContext context)
      : operation_(operation), call_(call), context_(context) {
    INSTR_TIME_SET_CURRENT(clock_);
  }

  PairCall& call() { return *call_; }

  /// Groups the rows, once they have been read; from then on rows can be pulled.
  /// @param kind    how the rows came: a word for batmap_last_run()
  /// @param chunks  makes the chunks; runs inside guarded
  template <typename Chunks>
  void start(const char* kind, const QueryInput& input, Chunks chunks) {
    kind_ = kind;
    input_ = input;
    read_ms_ = lap_ms(clock_);
    const std::span<const uint32_t> ranks =
        input.items == nullptr ? std::span<const uint32_t>() : std::span(input.item_rank, input.items->count);
    guarded([&] {
      call_->run.emplace(chunks(), ranks, call_->query, call_->options);
      call_->log.reset();
    });
    total_ = static_cast<int64_t>(call_->run->report().transactions);
    INSTR_TIME_SET_CURRENT(clock_);
  }

  bool next(Datum* values) override {
    if (call_->handed_over == call_->batch.size() && !next_batch()) return false;
    const PairRow& row = call_->batch[call_->handed_over++];
    const Dictionary* const items = input_.items;
    values[0] = items == nullptr ? Int64GetDatum(row.item_a) : items->values[row.item_a];
    values[1] = items == nullptr ? Int64GetDatum(row.item_b) : items->values[row.item_b];
    values[2] = Int64GetDatum(static_cast<int64_t>(row.support));
    values[3] = Int64GetDatum(static_cast<int64_t>(row.support_a));
    values[4] = Int64GetDatum(static_cast<int64_t>(row.support_b));
    values[5] = Int64GetDatum(total_);
    return true;
  }

  void finish() override { describe(last_run); }

  void explain(ExplainState* state) override {
    LastRun run;
    describe(run);
    explain_run(run, state);
  }

 private:
  bool next_batch() {
    do {
      CHECK_FOR_INTERRUPTS();
      answer_ms_ += lap_ms(clock_);
      call_->handed_over = 0;
      const bool more = guarded([&] { return call_->run->next(call_->batch); });
      INSTR_TIME_SET_CURRENT(clock_);
      if (more) continue;
      if (call_->run->report().truncated) {
        finish();
        report_truncation(*call_->query.max_results);
      }
      return false;
    } while (call_->batch.empty());
    return true;
  }

  void describe(LastRun& run) const {
    const PairReport& report = call_->run->report();
    run = {};
    run.any = true;
    strlcpy(run.operation, operation_, sizeof run.operation);
    strlcpy(run.method, report.method.c_str(), sizeof run.method);
    strlcpy(run.kernel, report.kernel.c_str(), sizeof run.kernel);
    strlcpy(run.reason, report.reason.c_str(), sizeof run.reason);
    strlcpy(run.input, kind_, sizeof run.input);
    run.threads = call_->options.threads;
    run.rows_read = static_cast<int64_t>(input_.rows_read);
    run.transactions = static_cast<int64_t>(report.transactions);
    run.items = static_cast<int64_t>(report.items);
    run.items_kept = static_cast<int64_t>(report.items_kept);
    run.occurrences = static_cast<int64_t>(report.occurrences);
    run.pair_instances = static_cast<int64_t>(report.pair_instances);
    run.results = static_cast<int64_t>(report.results - (call_->batch.size() - call_->handed_over));
    run.truncated = report.truncated;
    run.read_ms = read_ms_;
    run.group_ms = report.group_ms;
    run.count_ms = report.count_ms;
    run.answer_ms = answer_ms_;
    run.peak_memory = static_cast<int64_t>(call_->meter.peak());
  }

  const char* operation_;
  const char* kind_ = "";
  PairCall* call_;
  MemoryContext context_;
  QueryInput input_{};
  int64_t total_ = 0;
  double read_ms_ = 0;
  double answer_ms_ = 0;  // between a batch and the wish for the next
  instr_time clock_;
};

PairStream* new_stream(const char* operation, MemoryContext context) {
  PairCall* const call = ContextOwned<PairCall>::reserve(context)->emplace();
  return new (MemoryContextAlloc(context, sizeof(PairStream))) PairStream(operation, call, context);
}

RowStream* open_query(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int query_argument,
                      Oid item_type) {
  PairStream* const stream = new_stream(operation, context);
  PairCall& call = stream->call();
  const Arguments arguments{fcinfo, query_argument + 1};
  if (PG_ARGISNULL(query_argument))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  read_arguments(arguments, !OidIsValid(item_type), call);
  char* const query = text_to_cstring(PG_GETARG_TEXT_PP(query_argument));

  const bool of_type = OidIsValid(item_type);
  Elements include{};
  Elements exclude{};
  if (of_type) {  // before any row is read: a bad list should not cost a run
    include = items_of_text(arguments, kInclude, "include", item_type);
    exclude = items_of_text(arguments, kExclude, "exclude", item_type);
  }
  guarded([&] { call.log.emplace(call.meter); });
  QueryInput input{&*call.log, fcinfo->flinfo->fn_oid, item_type, nullptr, nullptr, 0, false};
  read_query(query, input, call.meter, context);
  if (of_type && arguments.has(kInclude)) set_ranks(call.query.include, include, input);
  if (of_type && arguments.has(kExclude)) set_ranks(call.query.exclude, exclude, input);
  stream->start(input.in_parallel ? "parallel aggregate" : "stream", input, [&] { return call.log->chunks(); });
  return stream;
}

}  // namespace

namespace batmap::pg {

RowStream* open_pairs_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query(fcinfo, context, "batmap_pairs", 0, InvalidOid);
}

RowStream* open_pairs_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  const Oid item_type = get_fn_expr_argtype(fcinfo->flinfo, 0);
  if (!OidIsValid(item_type))
    ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE), errmsg("could not determine the item type"),
                    errhint("Give a typed NULL as the first argument, such as NULL::text.")));
  return open_query(fcinfo, context, "batmap_pairs_of", 1, item_type);
}

RowStream* open_pairs_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  PairStream* const stream = new_stream("batmap_pairs", context);
  read_arguments({fcinfo, 1}, true, stream->call());
  if (PG_ARGISNULL(0)) return nullptr;  // a relation over no rows: batmap_relation_agg gives NULL
  const MemoryContext copies = AllocSetContextCreate(context, "batmap relation", ALLOCSET_DEFAULT_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(copies);
  struct varlena* const relation = relation_finished(relation_argument(fcinfo, 0));
  MemoryContextSwitchTo(caller);
  const std::byte* const bytes = relation_bytes(relation);
  QueryInput input{};
  input.rows_read = flat_header(bytes).rows();
  stream->start("relation", input, [&] { return flat_chunks(bytes); });
  MemoryContextDelete(copies);  // the rows are grouped now
  return stream;
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_pairs_query) {
  materialize(fcinfo, open_pairs_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_pairs_of_query) {
  materialize(fcinfo, open_pairs_of_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_pairs_relation) {
  materialize(fcinfo, open_pairs_relation);
  return Datum{0};
}

/// Planner support: that the planner asks at all loads the library in time for the plan node (node_row_stream.h);
/// what it learns is the bound that top_k and max_results put on the rows.
BATMAP_FUNCTION(batmap_pairs_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  if (!IsA(request, SupportRequestRows)) PG_RETURN_POINTER(nullptr);
  auto* const rows = reinterpret_cast<SupportRequestRows*>(request);
  if (rows->node == nullptr || !IsA(rows->node, FuncExpr)) PG_RETURN_POINTER(nullptr);
  List* const arguments = castNode(FuncExpr, rows->node)->args;
  const int first = list_length(arguments) - kArguments;
  bool bounded = false;
  for (const Argument argument : {kTopK, kMaxResults}) {
    const auto* const value = static_cast<Node*>(list_nth(arguments, first + argument));
    if (!IsA(value, Const) || castNode(Const, value)->constisnull) continue;
    const auto bound = static_cast<double>(DatumGetInt64(castNode(Const, value)->constvalue));
    rows->rows = bounded ? Min(rows->rows, bound) : bound;
    bounded = true;
  }
  PG_RETURN_POINTER(bounded ? rows : nullptr);
}
