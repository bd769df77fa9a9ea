// Table functions batmap_all_pairs and batmap_all_pairs_of: fetch each set of a query once and count all pairs of them.
#include <optional>
#include <utility>

#include "extension/server/device_use.h"
#include "extension/server/settings.h"
#include "extension/streams/pair_stream.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/set_rows.h"
#include "pairs/all_pairs.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct AllPairsCall : PairRowsCall<AllPairsQuery, AllPairsRun> {
  explicit AllPairsCall(MemoryContext context) : PairRowsCall(context) { query.kernels = selected_kernels(); }

  std::optional<CollectedSets> sets;
  const Dictionary* ids = nullptr;  // by rank, which is then the id of a set; nullptr: ids are integers
};

class AllPairsStream final : public PairRowStream<AllPairsCall> {
 public:
  using PairRowStream::PairRowStream;

  /// Counts the sets. After that, answers can be pulled.
  RowStream* run(const AllPairsQuery& query, CollectedSets& sets) {
    begin("stream", sets.size(), [&] { call().run.emplace(std::move(sets), query, call().options); });
    return this;
  }

 private:
  void show() override {
    show_pairs(call().ids, call().ids);
    const PairBatch& batch = call().batch;
    Assert(batch.size() <= kBatchRows);
    if (jaccard_ == nullptr) jaccard_ = static_cast<double*>(MemoryContextAlloc(context(), kBatchRows * sizeof(double)));
    for (size_t k = 0; k < batch.size(); ++k) jaccard_[k] = pair_jaccard(batch[k]);
    show_column(jaccard_, sizeof(double));
  }

  double* jaccard_ = nullptr;  // [kBatchRows]
};

// Positions of the arguments after the query.
enum Argument { kMinCount, kMinJaccard, kTopK, kPerItemTopK, kMaxResults, kMethod, kDevice, kParams };

enum Column { kIdA, kIdB, kIntersection, kJaccard };

constexpr ColumnSet kRanked = one(kIntersection) | one(kJaccard);

constexpr QueryArguments kQueryArguments{kParams};

CollectedSets& read_sets(const TableInput& input, AllPairsCall& call) {
  // A method that was asked for needs the sets themselves.
  const bool may_spill = !call.query.way || *call.query.way == AllPairsWay::kRelation;
  guarded([&] { call.sets.emplace(call.options, may_spill, *call.query.kernels.sets); });
  const SetRows rows = collect_sets(input, call.meter, *call.sets);
  call.ids = rows.ids;
  return *call.sets;
}

void read_arguments(const Arguments& arguments, AllPairsQuery& query) {
  query.min_count = arguments.int8(kMinCount);
  query.min_jaccard = arguments.float8(kMinJaccard);
  query.top_k = arguments.int8(kTopK);
  query.per_item_top_k = arguments.int4(kPerItemTopK);
  query.max_results = arguments.int8(kMaxResults);
  const char* const method = arguments.string(kMethod, "auto");
  const char* const device = arguments.string(kDevice, nullptr);
  guarded([&] {
    query.way = all_pairs_way(method);
    query.device = device != nullptr ? selected_devices(device) : selected_devices();
    query.check();
  });
}

/// The steps of a call.
RowStream* find_set_pairs(const TableInput& input, const WantedRows& wanted) {
  auto* const stream = new_stream<AllPairsStream>(input.operation, input.context);
  AllPairsCall& call = stream->call();
  read_arguments(input.arguments(), call.query);
  const bool ranks_so = wanted.best_column == (call.query.min_jaccard ? kJaccard : kIntersection);
  if (ranks_so && !wanted.ties) limit_to_wanted(wanted, call.query);
  CollectedSets& sets = read_sets(input, call);
  return stream->run(call.query, sets);
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_all_pairs, kRanked) {
  return find_set_pairs(query_input(fcinfo, context, "batmap_all_pairs", 0, kQueryArguments), wanted);
}

BATMAP_TABLE_FUNCTION(batmap_all_pairs_text_query, kRanked) {
  return find_set_pairs(query_input(fcinfo, context, "batmap_all_pairs_of", 0, kQueryArguments, TEXTOID), wanted);
}

BATMAP_TABLE_FUNCTION(batmap_all_pairs_as_query, kRanked) {
  return find_set_pairs(
      query_input(fcinfo, context, "batmap_all_pairs_as", 1, kQueryArguments, item_type_argument(fcinfo, 0)), wanted);
}

BATMAP_FUNCTION(batmap_all_pairs_support) {
  static const SupportedCall kCall{1, 1, kTopK, kMaxResults, kQueryArguments};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
