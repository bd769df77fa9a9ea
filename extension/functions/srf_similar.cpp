// Table functions batmap_similar and batmap_similar_of: the rows (id, set) of a query that are most like a set. Each row is
// looked at once, as it comes; a set is fetched only if its size lets it be near enough (set/similar_sets.h).
#include <optional>
#include <span>

#include "extension/streams/planner_support.h"
#include "extension/streams/run_stream.h"
#include "extension/streams/set_rows.h"
#include "extension/types/set_argument.h"
#include "set/similar_sets.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the query. The set comes before it.
enum Argument { kMinJaccard, kTopK, kParams };

constexpr QueryArguments kQuery{kParams};

/// The engine's side of one call.
struct SimilarCall : RunCall {
  explicit SimilarCall(MemoryContext) : RunCall(1) {}

  SimilarSetsQuery query;
  std::optional<SimilarSets> sets;
  const Dictionary* ids = nullptr;  // by rank, which is then the id of a set; nullptr: ids are integers
  size_t handed_over = 0;
};

class SimilarStream final : public RunStream<SimilarCall> {
 public:
  using RunStream::RunStream;

  /// Orders the answers. After that, they can be pulled.
  RowStream* run(const SetRows& rows) {
    call().ids = rows.ids;
    begin("stream", rows.count, [&] { call().sets->finish(rows.ranks); });
    return this;
  }

  bool next(Datum* values) override {
    const std::span<const SimilarSet> answers = call().sets->answers();
    if (call().handed_over == answers.size()) return false;
    const SimilarSet& set = answers[call().handed_over++];
    values[0] = call().ids != nullptr ? call().ids->values[set.id] : Int64GetDatum(set.id);
    values[1] = Int64GetDatum(static_cast<int64>(set.common));
    values[2] = Float8GetDatum(set.jaccard);
    return true;
  }

 private:
  void fill(RunRecord& record) const override {
    record.answers = AnswerKind::kSimilarSets;
    record.method = "scan";
    record.kernel = selected_set_kernel().name;
    record.reason = "each set is looked at once";
    record.items = call().sets->offered();
    record.items_kept = call().sets->compared();
    record.results = call().handed_over;
  }
};

const SimilarSetsQuery& read_arguments(const Arguments& arguments, SimilarSetsQuery& query) {
  query.min_jaccard = arguments.float8(kMinJaccard);
  query.top_k = arguments.int8(kTopK);
  guarded([&] { query.check(); });
  return query;
}

/// The sets of the query as they come by.
SetRows offer_rows(const TableInput& input, SimilarCall& call) {
  SetRows rows;
  rows.take = [](void* arg, int64_t id, Datum set) {
    auto& sets = *static_cast<SimilarSets*>(arg);
    const SetView header = header_of_datum(set);
    const SetView view = sets.may_be_one(header.cardinality()) ? set_of_datum(set) : header;
    guarded([&] { sets.offer(id, view); });
  };
  rows.arg = &*call.sets;
  read_set_rows(input, call.meter, rows);
  return rows;
}

/// The steps of a call. @param set_argument  the number of the set among the arguments
RowStream* find_similar(const TableInput& input, int set_argument) {
  if (input.fcinfo->args[set_argument].isnull) return nullptr;  // what is like an unknown set is not known
  auto* const stream = new_stream<SimilarStream>(input.operation, input.context);
  SimilarCall& call = stream->call();
  const SimilarSetsQuery& query = read_arguments(input.arguments(), call.query);
  const MemoryContext caller = MemoryContextSwitchTo(input.context);
  const SetView to =
      set_of_datum(datumCopy(PointerGetDatum(PG_DETOAST_DATUM_PACKED(input.fcinfo->args[set_argument].value)), false, -1));
  MemoryContextSwitchTo(caller);
  guarded([&] { call.sets.emplace(to, query, selected_set_kernel(), call.options); });
  return stream->run(offer_rows(input, call));
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_similar_query) {
  return find_similar(query_input(fcinfo, context, "batmap_similar", 1, kQuery), 0);
}

BATMAP_TABLE_FUNCTION(batmap_similar_text_query) {
  return find_similar(query_input(fcinfo, context, "batmap_similar_of", 1, kQuery, TEXTOID), 0);
}

BATMAP_TABLE_FUNCTION(batmap_similar_as_query) {
  return find_similar(query_input(fcinfo, context, "batmap_similar_as", 2, kQuery, item_type_argument(fcinfo, 0)), 1);
}

BATMAP_FUNCTION(batmap_similar_support) {
  // How many sets are like another is not known: as many as the server expects of any match.
  static const SupportedCall kCall{2,
                                   1,
                                   kTopK,
                                   SupportedCall::kNone,
                                   kQuery,
                                   false,
                                   [](const PlannedCall& call, CallEstimate& estimate) {
                                     estimate.rows = call.inputs[0].rows * DEFAULT_MATCHING_SEL;
                                     estimate.has_rows = true;
                                   },
                                   false};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
