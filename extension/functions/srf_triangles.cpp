// Table functions batmap_triangles, batmap_edge_triangles and batmap_edge_triangles_of: edges from a query, in memory or in
// files, and rows of the answer.
#include <optional>
#include <span>

#include "extension/input/pair_list.h"
#include "extension/input/run_costs.h"
#include "extension/streams/pair_stream.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/table_input.h"
#include "pairs/triangle_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

struct NoQuery {};

/// The engine's side of one call.
struct TriangleCall : PairRowsCall<NoQuery, TriangleRun> {
  using PairRowsCall::PairRowsCall;

  std::optional<RowLog> edges;

  /// Makes the run of the edges. @param ranks  of the nodes; empty: they are numbers
  void make_run(std::span<const uint32_t> ranks, bool of_edges) {
    run.emplace(*edges, ranks, of_edges, options);
    edges.reset();
  }
};

constexpr QueryArguments kEdgesQuery{0};

/// @param input  of a query @return the edges; call.edges has the rows
PairListInput read_edges(const TableInput& input, TriangleCall& call) {
  guarded([&] { call.edges.emplace(call.options); });
  PairListInput edges{.log = &*call.edges,
                      .progress = &call.progress,
                      .item_type = input.item_type,
                      .values = "nodes",
                      .columns = "the two nodes of an edge",
                      .keeps_order = false,
                      .by_bytes = false};
  read_pair_list(input.query(), edges, call.meter, input.context);
  return edges;
}

class EdgeTriangles final : public PairRowStream<TriangleCall> {
 public:
  using PairRowStream::PairRowStream;

  RowStream* run(const PairListInput& edges) {
    nodes_ = edges.items;
    std::span<const uint32_t> ranks;
    if (nodes_ != nullptr) ranks = {dictionary_sort(*edges.items), edges.items->count};
    begin(edges.kind, call().edges->rows(), [&] { call().make_run(ranks, true); });
    return this;
  }

 private:
  void show() override { show_pairs(nodes_, nodes_); }

  const Dictionary* nodes_ = nullptr;  // by rank; nullptr: nodes are int8
};

/// One row.
class AllTriangles final : public RunStream<TriangleCall> {
 public:
  using RunStream::RunStream;

  RowStream* run(const PairListInput& edges) {
    begin(edges.kind, call().edges->rows(), [&] { call().make_run({}, false); });
    return this;
  }

  bool next(Datum* values) override {
    if (done_) return false;
    done_ = true;
    TriangleRun& run = *call().run;
    uint64_t triangles = 0;
    count([&] {
      triangles = run.count();
      return true;
    });
    values[0] = Int64GetDatum(static_cast<int64_t>(triangles));
    values[1] = Int64GetDatum(static_cast<int64_t>(run.edges()));
    values[2] = Int64GetDatum(static_cast<int64_t>(run.nodes()));
    return true;
  }

  void finish() override {
    RunStream::finish();
    call().files.close_all();
  }

 private:
  void fill(RunRecord& record) const override { record = call().run->record(); }

  bool done_ = false;
};

template <typename Stream>
RowStream* find_triangles(const TableInput& input) {
  auto* const stream = new_stream<Stream>(input.operation, input.context);
  return stream->run(read_edges(input, stream->call()));
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_triangles_query) {
  return find_triangles<AllTriangles>(query_input(fcinfo, context, "batmap_triangles", 0, kEdgesQuery, ANYELEMENTOID));
}

BATMAP_TABLE_FUNCTION(batmap_edge_triangles_query) {
  return find_triangles<EdgeTriangles>(query_input(fcinfo, context, "batmap_edge_triangles", 0, kEdgesQuery));
}

BATMAP_TABLE_FUNCTION(batmap_edge_triangles_text_query) {
  return find_triangles<EdgeTriangles>(query_input(fcinfo, context, "batmap_edge_triangles_of", 0, kEdgesQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_edge_triangles_as_query) {
  return find_triangles<EdgeTriangles>(
      query_input(fcinfo, context, "batmap_edge_triangles_as", 1, kEdgesQuery, item_type_argument(fcinfo)));
}

/// Planner support of the forms with an answer for each edge.
BATMAP_FUNCTION(batmap_edge_triangles_support) {
  static const SupportedCall kCall{1,
                                   1,
                                   SupportedCall::kNone,
                                   SupportedCall::kNone,
                                   kEdgesQuery,
                                   false,
                                   [](const PlannedCall& call, CallEstimate& estimate) {
                                     estimate.rows = call.inputs[0].rows;
                                     estimate.has_rows = true;
                                     estimate.cost += estimate.rows * kListedPairOperators * cpu_operator_cost;
                                   },
                                   false};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
