// Table functions batmap_join_project, also over stored counts, and batmap_join_project_of: arguments, two inputs, and rows
// of the answer.
#include <utility>

#include "extension/input/run_costs.h"
#include "extension/server/device_use.h"
#include "extension/streams/join_input.h"
#include "extension/streams/pair_stream.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/table_input.h"
#include "extension/types/join_counts_datum.h"
#include "pairs/counts/pair_counts_run.h"
#include "pairs/join_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct JoinCall : PairRowsCall<JoinQuery, JoinRun> {
  explicit JoinCall(MemoryContext context) : PairRowsCall(context) { query.kernels = selected_kernels(); }

  JoinLogs logs;
};

// Positions of the arguments after the two inputs.
enum Argument { kMinCount, kDistinctOnly, kTopK, kPerItemTopK, kMaxResults, kMethod, kDevice, kParams };

// The same over counts.
enum CountsArgument { kCountsMinCount, kCountsTopK, kCountsPerItemTopK, kCountsMaxResults };

constexpr int kCountColumn = 2;  // of the answer

constexpr QueryArguments kQueries{kParams};

/// Reads and checks the arguments after the inputs.
const JoinQuery& read_arguments(const Arguments& arguments, const WantedRows& wanted, JoinQuery& query) {
  query.min_count = arguments.int8(kMinCount);
  query.distinct_only = arguments.boolean(kDistinctOnly).value_or(false);
  query.top_k = arguments.int8(kTopK);
  query.per_item_top_k = arguments.int4(kPerItemTopK);
  query.max_results = arguments.int8(kMaxResults);
  const char* const method = arguments.string(kMethod, "auto");
  const char* const device = arguments.string(kDevice, nullptr);
  guarded([&] {
    query.method = parse_pair_method(method);
    query.device = device != nullptr ? selected_devices(device) : selected_devices();
    query.check();
  });
  if (!query.distinct_only) limit_to_wanted(wanted, query);
  return query;
}

class JoinStream final : public PairRowStream<JoinCall> {
 public:
  using PairRowStream::PairRowStream;

  int null_columns() const override { return call().query.distinct_only ? 1 : 0; }

  /// Joins the rows of both sides. After that, answers can be pulled.
  RowStream* run(const JoinQuery& query, const JoinRows& rows) {
    left_items_ = rows.left.items;
    right_items_ = rows.right.items;
    begin(rows.kind, rows.left.count + rows.right.count, [&] {
      JoinedRelation joined = joined_rows(rows, call().logs, call().options);
      call().run.emplace(std::move(joined), query, call().options);
    });
    drop_relation(rows.left);
    drop_relation(rows.right);
    return this;
  }

 private:
  void show() override { show_pairs(left_items_, right_items_); }

  const Dictionary* left_items_ = nullptr;  // nullptr: items are int8
  const Dictionary* right_items_ = nullptr;
};

/// The steps of a call over two queries.
/// @param first_query  its index; the second follows, then the other arguments
RowStream* join_queries(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int first_query,
                        Oid left_type, Oid right_type, const WantedRows& wanted) {
  auto* const stream = new_stream<JoinStream>(operation, context);
  query_input(fcinfo, context, operation, first_query, kQueries);
  const TableInput right = query_input(fcinfo, context, operation, first_query + 1, kQueries);
  const JoinQuery& query = read_arguments(right.arguments(), wanted, stream->call().query);
  const InnerQuery left = query_argument(fcinfo, first_query, first_query + 2, kQueries);
  const JoinRows rows =
      read_join_queries(left, right.query(), left_type, right_type, stream->call(), stream->call().logs, context);
  return stream->run(query, rows);
}

/// The same over two relations.
RowStream* join_relations(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int first_relation,
                          Oid left_type, Oid right_type, const WantedRows& wanted) {
  auto* const stream = new_stream<JoinStream>(operation, context);
  const int left = first_relation;
  const int right = first_relation + 1;
  const JoinQuery& query = read_arguments({fcinfo, right + 1}, wanted, stream->call().query);
  if (PG_ARGISNULL(left) || PG_ARGISNULL(right)) return nullptr;  // batmap_relation_agg over no rows gives NULL
  MemoryMeter& meter = stream->call().meter;
  const JoinRows rows{"relation", relation_rows(fcinfo, left, context, operation, left_type, meter),
                      relation_rows(fcinfo, right, context, operation, right_type, meter)};
  return stream->run(query, rows);
}

/// For the planner, which takes the query with fewer b to have some of those of the other one.
void expect_joined_pairs(const PlannedCall& call, CallEstimate& estimate) {
  const ItemSupports& left = call.inputs[0].items;
  const ItemSupports& right = call.inputs[1].items;
  const double shared = Max(left.transactions, right.transactions);
  const double min_count = Max(1, call.number(kMinCount, 1));
  estimate.cost += left.rows * right.rows / shared * kPairInstanceOperators * cpu_operator_cost;
  estimate.rows = expected_joined_pairs(left.items(), right.items(), shared, min_count);
  if (call.has(kPerItemTopK)) estimate.rows = Min(estimate.rows, left.frequent(min_count) * call.number(kPerItemTopK, 1));
  estimate.has_rows = true;
}

/// Rows from counts that exist already.
class JoinCountsStream final : public PairRowStream<PairRowsCall<PairQuery, PairCountsRun>> {
 public:
  using PairRowStream::PairRowStream;

  /// @param counts  must live as long as the stream
  RowStream* run(const std::byte* counts) {
    begin("join counts", pair_counts_header(counts).pairs,
          [&] { call().run.emplace(counts, call().query, call().options); });
    return this;
  }

 private:
  void show() override { show_pairs(); }
};

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_join_project_counts, one(kCountColumn)) {
  constexpr int kCounts = 0;
  auto* const stream = new_stream<JoinCountsStream>("batmap_join_project", context);
  const Arguments arguments{fcinfo, kCounts + 1};
  PairQuery& query = stream->call().query;
  query.min_count = arguments.int8(kCountsMinCount).value_or(1);
  query.top_k = arguments.int8(kCountsTopK);
  query.per_item_top_k = arguments.int4(kCountsPerItemTopK);
  query.max_results = arguments.int8(kCountsMaxResults);
  query.supports = false;
  guarded([&] { query.check(); });
  limit_to_wanted(wanted, query);
  if (PG_ARGISNULL(kCounts)) return nullptr;  // a sum over no rows is NULL
  const MemoryContext caller = MemoryContextSwitchTo(context);
  const std::byte* const counts = value_bytes(summed_copy(kSummedJoinCounts, fcinfo, kCounts));
  MemoryContextSwitchTo(caller);
  return stream->run(counts);
}

BATMAP_FUNCTION(batmap_join_project_counts_support) {
  static const SupportedCall kCall{1, 0, kCountsTopK, kCountsMaxResults};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

BATMAP_TABLE_FUNCTION(batmap_join_project_query, one(kCountColumn)) {
  return join_queries(fcinfo, context, "batmap_join_project", 0, InvalidOid, InvalidOid, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_join_project_text_query, one(kCountColumn)) {
  return join_queries(fcinfo, context, "batmap_join_project_of", 0, TEXTOID, TEXTOID, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_join_project_as_query, one(kCountColumn)) {
  return join_queries(fcinfo, context, "batmap_join_project_as", 2, item_type_argument(fcinfo, 0),
                      item_type_argument(fcinfo, 1), wanted);
}

BATMAP_TABLE_FUNCTION(batmap_join_project_relation, one(kCountColumn)) {
  return join_relations(fcinfo, context, "batmap_join_project", 0, InvalidOid, InvalidOid, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_join_project_text_relation, one(kCountColumn)) {
  return join_relations(fcinfo, context, "batmap_join_project_of", 0, TEXTOID, TEXTOID, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_join_project_as_relation, one(kCountColumn)) {
  return join_relations(fcinfo, context, "batmap_join_project_as", 2, item_type_argument(fcinfo, 0),
                        item_type_argument(fcinfo, 1), wanted);
}

BATMAP_FUNCTION(batmap_join_project_support) {
  static const SupportedCall kCall{2, 2, kTopK, kMaxResults, kQueries, true, expect_joined_pairs};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
