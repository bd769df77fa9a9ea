// Table functions batmap_pairs and batmap_pairs_of: arguments, input, and the rows of the answer.
#include "extension/srf_pairs.h"

#include <vector>

#include "extension/backend.h"
#include "extension/boundary.h"
#include "extension/item_lists.h"
#include "extension/pair_counts_datum.h"
#include "extension/pair_stream.h"
#include "extension/query_source.h"
#include "extension/relation_datum.h"
#include "extension/settings.h"
#include "support/pair_counts_run.h"
#include "support/pair_run.h"

#include "extension/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct PairCall : PairRowsCall<PairQuery, PairRun> {
  explicit PairCall(MemoryContext context) : PairRowsCall(context) { query.kernels = selected_kernels(); }

  std::optional<PairLog> log;
};

// Positions of the arguments after the input, which is one argument, or two in the _of form. Over pair counts there is no
// method.
enum Argument {
  kMinCount,
  kMinSupport,
  kTopK,
  kPerItemTopK,
  kMeasure,
  kInclude,
  kExclude,
  kMaxResults,
  kMethod,
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
};

/// Everything but the lists of the _of form, whose values mean nothing before the rows are read.
void read_arguments(const Arguments& arguments, bool integer_lists, PairQuery& query) {
  if (arguments.has(kMinCount)) query.min_count = arguments.int8(kMinCount);
  if (arguments.has(kMinSupport)) query.min_support = arguments.float8(kMinSupport);
  if (arguments.has(kTopK)) query.top_k = arguments.int8(kTopK);
  if (arguments.has(kPerItemTopK)) query.per_item_top_k = arguments.int4(kPerItemTopK);
  if (arguments.has(kMaxResults)) query.max_results = arguments.int8(kMaxResults);
  if (integer_lists && arguments.has(kInclude)) set_list(query.include, arguments.array(kInclude), "include");
  if (integer_lists && arguments.has(kExclude)) set_list(query.exclude, arguments.array(kExclude), "exclude");
  const char* const method = arguments.has(kMethod) ? arguments.string(kMethod) : "auto";
  const char* const measure = arguments.has(kMeasure) ? arguments.string(kMeasure) : nullptr;
  guarded([&] {
    query.method = parse_pair_method(method);
    if (measure != nullptr) query.measure = parse_pair_measure(measure, true);
    query.check();
  });
}

/// A list of the _of form. Empty and without values where not given.
Elements items_argument(const Arguments& arguments, Argument argument, const char* name, Oid item_type) {
  if (!arguments.has(argument)) return {nullptr, 0};
  return items_of_text(arguments.array(argument), name, item_type);
}

/// The columns after the items.
void put_supports(const PairRow& row, int64_t total, Datum* values) {
  values[2] = Int64GetDatum(static_cast<int64_t>(row.support));
  values[3] = Int64GetDatum(static_cast<int64_t>(row.support_a));
  values[4] = Int64GetDatum(static_cast<int64_t>(row.support_b));
  values[5] = Int64GetDatum(total);
}

/// The rows of one call: opened, then filled from its input, then pulled.
class PairStream final : public PairRowStream<PairCall> {
 public:
  using PairRowStream::PairRowStream;

  /// Groups the rows, once they have been read; from then on rows can be pulled.
  /// @param kind  how the rows came: a word for batmap_last_run()
  /// @param rows  where they are: a log or chunks; runs inside guarded
  template <typename Rows>
  void start(const char* kind, const QueryInput& input, Rows rows) {
    items_ = input.items;
    const std::span<const uint32_t> ranks =
        items_ == nullptr ? std::span<const uint32_t>() : std::span(input.item_rank, items_->count);
    begin(kind, input.rows_read, [&] {
      call().run.emplace(rows(), ranks, call().query, call().options);
      call().log.reset();
    });
    total_ = static_cast<int64_t>(call().run->report().transactions);
  }

 private:
  void put(const PairRow& row, Datum* values) const override {
    values[0] = items_ == nullptr ? Int64GetDatum(row.item_a) : items_->values[row.item_a];
    values[1] = items_ == nullptr ? Int64GetDatum(row.item_b) : items_->values[row.item_b];
    put_supports(row, total_, values);
  }

  const Dictionary* items_ = nullptr;  // none: items are int8
  int64_t total_ = 0;
};

/// Rows of counts that are there already.
class PairCountsStream final : public PairRowStream<PairRowsCall<PairQuery, PairCountsRun>> {
 public:
  using PairRowStream::PairRowStream;

  /// @param counts  must live as long as the stream
  void start(const std::byte* counts) {
    const PairCountsHeader header = pair_counts_header(counts);
    begin("pair counts", header.pairs, [&] { call().run.emplace(counts, call().query, call().options); });
    total_ = static_cast<int64_t>(header.total);
  }

 private:
  void put(const PairRow& row, Datum* values) const override {
    values[0] = Int64GetDatum(row.item_a);
    values[1] = Int64GetDatum(row.item_b);
    put_supports(row, total_, values);
  }

  int64_t total_ = 0;
};

RowStream* open_query(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int query_argument,
                      Oid item_type) {
  PairStream* const stream = new_pair_stream<PairStream>(operation, context);
  PairCall& call = stream->call();
  const Arguments arguments{fcinfo, query_argument + 1};
  if (PG_ARGISNULL(query_argument))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("input query must not be NULL")));
  read_arguments(arguments, !OidIsValid(item_type), call.query);
  char* const query = text_to_cstring(PG_GETARG_TEXT_PP(query_argument));

  const bool of_type = OidIsValid(item_type);
  Elements include{};
  Elements exclude{};
  if (of_type) {  // before any row is read: a bad list should not cost a run
    include = items_argument(arguments, kInclude, "include", item_type);
    exclude = items_argument(arguments, kExclude, "exclude", item_type);
  }
  guarded([&] { call.log.emplace(call.options); });
  QueryInput input{&*call.log, fcinfo->flinfo->fn_oid, &call.progress, item_type, nullptr, nullptr, 0, false};
  read_query(query, input, call.meter, context);
  if (of_type && arguments.has(kInclude)) set_ranks(call.query.include, include, input);
  if (of_type && arguments.has(kExclude)) set_ranks(call.query.exclude, exclude, input);
  stream->start(input.in_parallel ? "parallel aggregate" : "stream", input, [&]() -> const PairLog& { return *call.log; });
  return stream;
}

}  // namespace

namespace batmap::pg {

RowStream* open_pairs_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query(fcinfo, context, "batmap_pairs", 0, InvalidOid);
}

RowStream* open_pairs_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query(fcinfo, context, "batmap_pairs_of", 1, item_type_argument(fcinfo));
}

RowStream* open_pairs_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  PairStream* const stream = new_pair_stream<PairStream>("batmap_pairs", context);
  read_arguments({fcinfo, 1}, true, stream->call().query);
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

RowStream* open_pairs_counts(FunctionCallInfo fcinfo, MemoryContext context) {
  auto* const stream = new_pair_stream<PairCountsStream>("batmap_pairs", context);
  read_arguments({fcinfo, 1}, true, stream->call().query);
  if (PG_ARGISNULL(0)) return nullptr;  // counts over no rows
  const MemoryContext caller = MemoryContextSwitchTo(context);
  // A copy where the argument is neither toasted nor a state: it may not live as long as the stream.
  auto* const argument = reinterpret_cast<struct varlena*>(PG_GETARG_POINTER(0));
  struct varlena* value = counts_finished(PG_DETOAST_DATUM(PG_GETARG_DATUM(0)));
  if (value == argument) value = PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
  MemoryContextSwitchTo(caller);
  stream->start(counts_bytes(value));
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

BATMAP_FUNCTION(batmap_pairs_counts) {
  materialize(fcinfo, open_pairs_counts);
  return Datum{0};
}

/// Planner support: that the planner asks at all loads the library in time for the plan node (node_row_stream.h).
BATMAP_FUNCTION(batmap_pairs_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kTopK, kArguments - kMaxResults));
}

BATMAP_FUNCTION(batmap_pairs_counts_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kMethod - kTopK, kMethod - kMaxResults));
}
