// Table functions batmap_pairs and batmap_pairs_of: arguments, input, and the rows of the answer.
#include <cmath>
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
  }

  MemoryMeter meter;
  ExecutionOptions options;
  PairQuery query;
  std::optional<PairLog> log;
  std::optional<PairRun> run;
  std::vector<PairRow> batch;
};

// Positions of the arguments after the input, which is one argument, or two in the _of form.
enum Argument { kMinCount, kMinSupport, kTopK, kPerItemTopK, kInclude, kExclude, kMaxResults, kMethod };

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

/// Items in text form to their ranks in the answer; items that do not occur are left out.
void set_text_list(std::optional<std::vector<int64_t>>& list, ArrayType* array, const char* name, const QueryInput& input) {
  const Elements elements = elements_of(array, name);
  Oid function;
  Oid parameter;
  getTypeInputInfo(input.item_type, &function, &parameter);
  guarded([&] { list.emplace(); });
  for (int k = 0; k < elements.count; ++k) {
    const Datum value = OidInputFunctionCall(function, TextDatumGetCString(elements.values[k]), parameter, -1);
    uint32_t id;
    if (dictionary_find(*input.items, value, id)) guarded([&] { list->push_back(input.item_rank[id]); });
  }
}

double elapsed_ms(const instr_time& start) {
  instr_time now;
  INSTR_TIME_SET_CURRENT(now);
  INSTR_TIME_SUBTRACT(now, start);
  return INSTR_TIME_GET_MILLISEC(now);
}

void put_rows(const ReturnSetInfo* result, const PairCall& call, const QueryInput& input, int64_t total) {
  const Dictionary* const items = input.items;
  bool nulls[6] = {};
  for (const PairRow& row : call.batch) {
    Datum values[6] = {items != nullptr ? items->values[row.item_a] : Int64GetDatum(row.item_a),
                       items != nullptr ? items->values[row.item_b] : Int64GetDatum(row.item_b),
                       Int64GetDatum(static_cast<int64_t>(row.support)),
                       Int64GetDatum(static_cast<int64_t>(row.support_a)),
                       Int64GetDatum(static_cast<int64_t>(row.support_b)),
                       Int64GetDatum(total)};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
}

void record_run(const char* operation, const PairCall& call, const QueryInput& input, const char* kind, double read_ms,
                double answer_ms) {
  const PairReport& report = call.run->report();
  last_run = {};
  last_run.any = true;
  strlcpy(last_run.operation, operation, sizeof last_run.operation);
  strlcpy(last_run.method, report.method.c_str(), sizeof last_run.method);
  strlcpy(last_run.kernel, report.kernel.c_str(), sizeof last_run.kernel);
  strlcpy(last_run.reason, report.reason.c_str(), sizeof last_run.reason);
  strlcpy(last_run.input, kind, sizeof last_run.input);
  last_run.threads = call.options.threads;
  last_run.rows_read = static_cast<int64_t>(input.rows_read);
  last_run.transactions = static_cast<int64_t>(report.transactions);
  last_run.items = static_cast<int64_t>(report.items);
  last_run.items_kept = static_cast<int64_t>(report.items_kept);
  last_run.occurrences = static_cast<int64_t>(report.occurrences);
  last_run.pair_instances = static_cast<int64_t>(report.pair_instances);
  last_run.results = static_cast<int64_t>(report.results);
  last_run.truncated = report.truncated;
  last_run.read_ms = read_ms;
  last_run.group_ms = report.group_ms;
  last_run.count_ms = report.count_ms;
  last_run.answer_ms = answer_ms;
  last_run.peak_memory = static_cast<int64_t>(call.meter.peak());
}

void report_truncation(int64_t max_results) {
  const bool is_error = settings.on_truncation == static_cast<int>(OnTruncation::kError);
  ereport(is_error ? ERROR : WARNING,
          (errcode(is_error ? ERRCODE_PROGRAM_LIMIT_EXCEEDED : ERRCODE_WARNING),
           errmsg("answer cut off after max_results = %lld rows", static_cast<long long>(max_results)),
           errhint("Raise max_results or the threshold.")));
}

/// From an input to rows: the part that all forms share.
/// @param chunks  makes the chunks; runs inside guarded
template <typename Chunks>
void answer(FunctionCallInfo fcinfo, const char* operation, const char* kind, PairCall& call, const QueryInput& input,
            const instr_time& start, Chunks chunks) {
  const double read_ms = elapsed_ms(start);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  double answer_ms = 0;
  const std::span<const uint32_t> ranks =
      input.items == nullptr ? std::span<const uint32_t>() : std::span(input.item_rank, input.items->count);
  guarded([&] {
    call.run.emplace(chunks(), ranks, call.query, call.options);
    call.log.reset();
  });
  const auto total = static_cast<int64_t>(call.run->report().transactions);
  while (guarded([&] { return call.run->next(call.batch); })) {
    CHECK_FOR_INTERRUPTS();
    instr_time answering;
    INSTR_TIME_SET_CURRENT(answering);
    put_rows(result, call, input, total);
    answer_ms += elapsed_ms(answering);
  }
  record_run(operation, call, input, kind, read_ms, answer_ms);
  if (call.run->report().truncated) report_truncation(*call.query.max_results);
}

struct Call {
  MemoryContext context;
  PairCall* pairs;
  instr_time start;
};

Call begin_call(FunctionCallInfo fcinfo) {
  InitMaterializedSRF(fcinfo, 0);
  Call call;
  INSTR_TIME_SET_CURRENT(call.start);
  call.context = AllocSetContextCreate(CurrentMemoryContext, "batmap run", ALLOCSET_DEFAULT_SIZES);
  call.pairs = ContextOwned<PairCall>::reserve(call.context)->emplace();
  return call;
}

void pairs_from_query(FunctionCallInfo fcinfo, const char* operation, int query_argument, Oid item_type) {
  const Call call = begin_call(fcinfo);
  PairCall& pairs = *call.pairs;
  const Arguments arguments{fcinfo, query_argument + 1};
  if (PG_ARGISNULL(query_argument))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  read_arguments(arguments, !OidIsValid(item_type), pairs);
  char* const query = text_to_cstring(PG_GETARG_TEXT_PP(query_argument));

  guarded([&] { pairs.log.emplace(pairs.meter); });
  QueryInput input{&*pairs.log, fcinfo->flinfo->fn_oid, item_type, nullptr, nullptr, 0, false};
  read_query(query, input, pairs.meter, call.context);
  if (OidIsValid(item_type)) {
    if (arguments.has(kInclude)) set_text_list(pairs.query.include, arguments.array(kInclude), "include", input);
    if (arguments.has(kExclude)) set_text_list(pairs.query.exclude, arguments.array(kExclude), "exclude", input);
  }
  answer(fcinfo, operation, input.in_parallel ? "parallel aggregate" : "stream", pairs, input, call.start,
         [&] { return pairs.log->chunks(); });
  MemoryContextDelete(call.context);
}

}  // namespace

BATMAP_FUNCTION(batmap_pairs_query) {
  pairs_from_query(fcinfo, "batmap_pairs", 0, InvalidOid);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_pairs_of_query) {
  const Oid item_type = get_fn_expr_argtype(fcinfo->flinfo, 0);
  if (!OidIsValid(item_type))
    ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE), errmsg("could not determine the item type"),
                    errhint("Give a typed NULL as the first argument, such as NULL::text.")));
  pairs_from_query(fcinfo, "batmap_pairs_of", 1, item_type);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_pairs_relation) {
  const Call call = begin_call(fcinfo);
  read_arguments({fcinfo, 1}, true, *call.pairs);
  if (PG_ARGISNULL(0)) {  // a relation over no rows: batmap_relation_agg gives NULL
    MemoryContextDelete(call.context);
    return Datum{0};
  }
  const MemoryContext caller = MemoryContextSwitchTo(call.context);
  struct varlena* const relation = relation_finished(relation_argument(fcinfo, 0));
  MemoryContextSwitchTo(caller);
  const std::byte* const bytes = relation_bytes(relation);
  QueryInput input{};
  input.rows_read = flat_header(bytes).rows();
  answer(fcinfo, "batmap_pairs", "relation", *call.pairs, input, call.start, [&] { return flat_chunks(bytes); });
  MemoryContextDelete(call.context);
  return Datum{0};
}
