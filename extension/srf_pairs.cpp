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

double elapsed_ms(const instr_time& start) {
  instr_time now;
  INSTR_TIME_SET_CURRENT(now);
  INSTR_TIME_SUBTRACT(now, start);
  return INSTR_TIME_GET_MILLISEC(now);
}

/// Puts the rows of the answer into the tuplestore of the call.
class RowWriter {
 public:
  RowWriter(const ReturnSetInfo* result, const Dictionary* items, int64_t total)
      : result_(result), items_(items), total_(total) {
    if (items != nullptr) return;
    // Six int8 that are never NULL: one tuple is formed and its numbers replaced, which halves the cost of a row.
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    const MinimalTuple tuple = heap_form_minimal_tuple(result->setDesc, values, nulls);
    slot_ = MakeSingleTupleTableSlot(result->setDesc, &TTSOpsMinimalTuple);
    ExecStoreMinimalTuple(tuple, slot_, false);
    numbers_ = reinterpret_cast<int64_t*>(reinterpret_cast<char*>(tuple) + tuple->t_hoff - MINIMAL_TUPLE_OFFSET);
    Assert(tuple->t_len - (tuple->t_hoff - MINIMAL_TUPLE_OFFSET) == kColumns * sizeof(int64_t));
  }

  void put(const PairRow& row) {
    const auto support = static_cast<int64_t>(row.support);
    const auto support_a = static_cast<int64_t>(row.support_a);
    const auto support_b = static_cast<int64_t>(row.support_b);
    if (items_ == nullptr) {
      const int64_t numbers[kColumns] = {row.item_a, row.item_b, support, support_a, support_b, total_};
      memcpy(numbers_, numbers, sizeof numbers);
      tuplestore_puttupleslot(result_->setResult, slot_);
    } else {
      Datum values[kColumns] = {items_->values[row.item_a], items_->values[row.item_b], Int64GetDatum(support),
                                Int64GetDatum(support_a),   Int64GetDatum(support_b),   Int64GetDatum(total_)};
      bool nulls[kColumns] = {};
      tuplestore_putvalues(result_->setResult, result_->setDesc, values, nulls);
    }
  }

 private:
  static constexpr int kColumns = 6;
  const ReturnSetInfo* result_;
  const Dictionary* items_;  // nullptr: items are int8
  int64_t total_;
  TupleTableSlot* slot_ = nullptr;
  int64_t* numbers_ = nullptr;
};

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
  RowWriter writer(result, input.items, static_cast<int64_t>(call.run->report().transactions));
  while (guarded([&] { return call.run->next(call.batch); })) {
    CHECK_FOR_INTERRUPTS();
    instr_time answering;
    INSTR_TIME_SET_CURRENT(answering);
    for (const PairRow& row : call.batch) writer.put(row);
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

  const bool of_type = OidIsValid(item_type);
  Elements include{};
  Elements exclude{};
  if (of_type) {  // before any row is read: a bad list should not cost a run
    include = items_of_text(arguments, kInclude, "include", item_type);
    exclude = items_of_text(arguments, kExclude, "exclude", item_type);
  }
  guarded([&] { pairs.log.emplace(pairs.meter); });
  QueryInput input{&*pairs.log, fcinfo->flinfo->fn_oid, item_type, nullptr, nullptr, 0, false};
  read_query(query, input, pairs.meter, call.context);
  if (of_type && arguments.has(kInclude)) set_ranks(pairs.query.include, include, input);
  if (of_type && arguments.has(kExclude)) set_ranks(pairs.query.exclude, exclude, input);
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
