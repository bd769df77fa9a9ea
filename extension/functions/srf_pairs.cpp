// Table functions batmap_pairs and batmap_pairs_of: arguments, input, and rows of the answer.
#include <array>

#include "extension/functions/pair_stream.h"
#include "extension/functions/planner_support.h"
#include "extension/functions/table_input.h"
#include "extension/input/run_costs.h"
#include "extension/server/device_use.h"
#include "extension/types/pair_counts_datum.h"
#include "pairs/counts/pair_counts_run.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the input. The input is one argument, or two in the _of form. The form
// over pair counts has no argument `method`.
enum Argument {
  kMinCount,
  kMinSupport,
  kInclude,
  kExclude,
  kTopK,
  kPerItemTopK,
  kMeasure,
  kMaxResults,
  kMethod,
  kDevice,
  kArguments
};

std::array<ItemList, 2> item_lists(PairQuery& query) {
  return {{{kInclude, "include", query.include}, {kExclude, "exclude", query.exclude}}};
}

/// The engine's side of one call.
struct PairCall : PairRowsCall<PairQuery, PairRun> {
  explicit PairCall(MemoryContext context) : PairRowsCall(context) { query.kernels = selected_kernels(); }

  std::array<ItemList, 2> lists = item_lists(query);
  std::optional<RowLog> log;
};

/// The same for counts that exist already.
struct PairCountsCall : PairRowsCall<PairQuery, PairCountsRun> {
  using PairRowsCall::PairRowsCall;

  std::array<ItemList, 2> lists = item_lists(query);
};

/// Reads and checks the arguments after the input.
template <typename Call>
const PairQuery& read_arguments(const Arguments& arguments, Oid item_type, Call& call) {
  PairQuery& query = call.query;
  read_lists(call.lists, arguments, item_type);
  query.min_count = arguments.int8(kMinCount);
  query.min_support = arguments.min_support(kMinSupport);
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
  return query;
}

/// The answers of one call: the items, their counts, and the number of transactions.
template <typename Call>
class SupportStream : public PairRowStream<Call> {
 public:
  using PairRowStream<Call>::PairRowStream;

 protected:
  void show_answers(const Dictionary* items, const int64_t& total) {
    this->show_pairs(items, items);
    const PairSupports& supports = this->call().batch.supports()[0];
    this->show_column(&supports.a, sizeof(PairSupports));
    this->show_column(&supports.b, sizeof(PairSupports));
    this->show_column(&total, 0);
  }
};

class PairStream final : public SupportStream<PairCall> {
 public:
  using SupportStream::SupportStream;

  /// Groups the rows. After that, answers can be pulled.
  RowStream* run(const PairQuery& query, const InputRows& rows) {
    items_ = rows.items;
    std::optional<PairRun>& run = call().run;
    begin(rows.kind, rows.count, [&] {
      if (rows.log != nullptr)
        run.emplace(*rows.log, rows.ranks, query, call().options);
      else
        run.emplace(rows.chunks(), rows.ranks, query, call().options);
      if (!run->needs_rows()) call().log.reset();
    });
    if (!run->needs_rows()) drop_relation(rows);
    total_ = static_cast<int64_t>(run->record().transactions);
    return this;
  }

 private:
  void show() override { show_answers(items_, total_); }

  const Dictionary* items_ = nullptr;  // nullptr: items are int8
  int64_t total_ = 0;
};

/// Rows from counts that exist already.
class PairCountsStream final : public SupportStream<PairCountsCall> {
 public:
  using SupportStream::SupportStream;

  /// @param counts  must live as long as the stream
  RowStream* run(const PairQuery& query, const std::byte* counts) {
    const PairCountsHeader header = pair_counts_header(counts);
    begin("pair counts", header.pairs, [&] { call().run.emplace(counts, query, call().options); });
    total_ = static_cast<int64_t>(header.total);
    return this;
  }

 private:
  void show() override { show_answers(nullptr, total_); }

  int64_t total_ = 0;
};

/// The counts of the first argument, or a copy that lives in `context`.
const std::byte* read_counts(FunctionCallInfo fcinfo, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  // Copies the argument if it is neither toasted nor a state, because it may not live as long as the stream.
  auto* const argument = reinterpret_cast<struct varlena*>(PG_GETARG_POINTER(0));
  struct varlena* value = counts_finished(counts_argument(fcinfo, 0));
  if (value == argument) value = PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
  MemoryContextSwitchTo(caller);
  return counts_bytes(value);
}

/// The steps of a call over rows.
RowStream* find_pairs(const TableInput& input) {
  auto* const stream = new_stream<PairStream>(input.operation, input.context);
  PairCall& call = stream->call();
  const PairQuery& query = read_arguments(input.arguments(), input.item_type, call);
  const std::optional<InputRows> rows = read_rows(input, call, call.log, call.lists);
  return rows ? stream->run(query, *rows) : nullptr;
}

/// For the planner.
void expect_pairs(const PlannedCall& call, CallEstimate& estimate) {
  const ItemSupports& supports = call.inputs[0].items;
  const double min_count = call.min_count(kMinCount, kMinSupport);
  const double frequent = supports.frequent(min_count);
  estimate.cost += supports.pair_instances() * kPairInstanceOperators * cpu_operator_cost;
  estimate.rows = expected_pairs(supports.items(), supports.transactions, min_count);
  estimate.rows *= call.share_with(kInclude, frequent, 2);
  if (call.has(kPerItemTopK)) estimate.rows = Min(estimate.rows, frequent * call.number(kPerItemTopK, 1));
  estimate.has_rows = true;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_pairs_query) { return find_pairs(query_input(fcinfo, context, "batmap_pairs", 0)); }

BATMAP_TABLE_FUNCTION(batmap_pairs_of_query) {
  return find_pairs(query_input(fcinfo, context, "batmap_pairs_of", 1, item_type_argument(fcinfo)));
}

BATMAP_TABLE_FUNCTION(batmap_pairs_relation) { return find_pairs(relation_input(fcinfo, context, "batmap_pairs", 0)); }

BATMAP_TABLE_FUNCTION(batmap_pairs_counts) {
  auto* const stream = new_stream<PairCountsStream>("batmap_pairs", context);
  const PairQuery& query = read_arguments({fcinfo, 1}, InvalidOid, stream->call());
  if (PG_ARGISNULL(0)) return nullptr;  // an aggregate over no rows gives NULL
  const std::byte* const counts = read_counts(fcinfo, context);
  return stream->run(query, counts);
}

/// Planner support. When the planner calls it, the library gets loaded, in time for the
/// plan node (node_row_stream.h).
BATMAP_FUNCTION(batmap_pairs_support) {
  static const SupportedCall kCall{kArguments, 1, kTopK, kMaxResults, false, expect_pairs};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

BATMAP_FUNCTION(batmap_pairs_counts_support) {
  static const SupportedCall kCall{kMethod, 0, kTopK, kMaxResults};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
