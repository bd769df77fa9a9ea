// Table functions batmap_pairs and batmap_pairs_of: arguments, input, and rows of the answer.
#include "extension/functions/srf_pairs.h"

#include <array>

#include "extension/functions/pair_stream.h"
#include "extension/functions/relation_stream.h"
#include "extension/server/device_use.h"
#include "extension/types/pair_counts_datum.h"
#include "pairs/counts/pair_counts_run.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct PairCall : PairRowsCall<PairQuery, PairRun> {
  explicit PairCall(MemoryContext context) : PairRowsCall(context) { query.kernels = selected_kernels(); }

  std::optional<RowLog> log;
};

// Positions of the arguments after the input. The input is one argument, or two in the _of form. The form
// over pair counts has no argument `method`.
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
  kDevice,
  kArguments
};

std::array<ItemList, 2> item_lists(PairQuery& query) {
  return {{{kInclude, "include", query.include}, {kExclude, "exclude", query.exclude}}};
}

void read_pair_arguments(const Arguments& arguments, PairQuery& query) {
  query.min_count = arguments.int8(kMinCount);
  query.min_support = arguments.float8(kMinSupport);
  query.top_k = arguments.int8(kTopK);
  query.per_item_top_k = arguments.int4(kPerItemTopK);
  query.max_results = arguments.int8(kMaxResults);
  const char* const method = arguments.string(kMethod, "auto");
  const char* const device = arguments.string(kDevice, nullptr);
  const char* const measure = arguments.string(kMeasure, nullptr);
  guarded([&] {
    query.method = parse_pair_method(method);
    query.device = device != nullptr ? selected_devices(device) : selected_devices();
    if (measure != nullptr) query.measure = parse_pair_measure(measure, MeasureUse::kRankPairs);
    query.check();
  });
}

/// Fills the columns after the items.
void put_supports(const PairRow& row, int64_t total, Datum* values) {
  values[2] = Int64GetDatum(static_cast<int64_t>(row.support));
  values[3] = Int64GetDatum(static_cast<int64_t>(row.support_a));
  values[4] = Int64GetDatum(static_cast<int64_t>(row.support_b));
  values[5] = Int64GetDatum(total);
}

/// The rows of one call. It is opened, then filled from its input, then pulled.
class PairStream final : public PairRowStream<PairCall> {
 public:
  using PairRowStream::PairRowStream;

  static std::array<ItemList, 2> lists(PairQuery& query) { return item_lists(query); }
  static void read_arguments(const Arguments& arguments, PairQuery& query) { read_pair_arguments(arguments, query); }

  /// Groups the rows after they have been read. After that, rows can be pulled. See relation_stream.h.
  template <typename Rows>
  void start(const char* kind, const QueryInput& input, Rows rows) {
    items_ = input.items;
    begin(kind, input.rows_read, [&] {
      call().run.emplace(rows(), input.ranks(), call().query, call().options);
      if (!keeps_input()) call().log.reset();
    });
    total_ = static_cast<int64_t>(call().run->record().transactions);
  }

  bool keeps_input() const { return call().run->needs_rows(); }

 private:
  void put(const PairRow& row, Datum* values) const override {
    values[0] = items_ == nullptr ? Int64GetDatum(row.item_a) : items_->values[row.item_a];
    values[1] = items_ == nullptr ? Int64GetDatum(row.item_b) : items_->values[row.item_b];
    put_supports(row, total_, values);
  }

  const Dictionary* items_ = nullptr;  // nullptr: items are int8
  int64_t total_ = 0;
};

/// Rows from counts that exist already.
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

}  // namespace

namespace batmap::pg {

RowStream* open_pairs_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query<PairStream>(fcinfo, context, "batmap_pairs", 0);
}

RowStream* open_pairs_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query<PairStream>(fcinfo, context, "batmap_pairs_of", 1, item_type_argument(fcinfo));
}

RowStream* open_pairs_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_relation<PairStream>(fcinfo, context, "batmap_pairs", 0);
}

RowStream* open_pairs_counts(FunctionCallInfo fcinfo, MemoryContext context) {
  auto* const stream = new_stream<PairCountsStream>("batmap_pairs", context);
  const Arguments arguments{fcinfo, 1};
  auto lists = item_lists(stream->call().query);
  read_lists(lists, arguments, InvalidOid);
  read_pair_arguments(arguments, stream->call().query);
  if (PG_ARGISNULL(0)) return nullptr;  // an aggregate over no rows gives NULL
  const MemoryContext caller = MemoryContextSwitchTo(context);
  // Copies the argument if it is neither toasted nor a state, because it may not live as long as the stream.
  auto* const argument = reinterpret_cast<struct varlena*>(PG_GETARG_POINTER(0));
  struct varlena* value = counts_finished(counts_argument(fcinfo, 0));
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

/// Planner support. When the planner calls it, the library gets loaded, in time for the
/// plan node (node_row_stream.h).
BATMAP_FUNCTION(batmap_pairs_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kTopK, kArguments - kMaxResults));
}

BATMAP_FUNCTION(batmap_pairs_counts_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kMethod - kTopK, kMethod - kMaxResults));
}
