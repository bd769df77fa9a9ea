// Table functions batmap_recommend and batmap_recommend_of: arguments, input, and rows of the answer.
#include <array>
#include <optional>
#include <span>

#include "extension/streams/array_stream.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/table_input.h"
#include "itemsets/rules/recommend.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the input. The basket comes before the input.
enum Argument {
  kMinCount,
  kMinSupport,
  kMinConfidence,
  kMinLift,
  kMaxLhs,
  kInclude,
  kExclude,
  kTopK,
  kMeasure,
  kTidColumn,
  kItemColumn,
  kParams
};

constexpr QueryArguments kQuery{kParams, true};

/// The engine's side of one call.
struct RecommendCall : ArrayCall<RecommendQuery, RecommendRun> {
  explicit RecommendCall(MemoryContext context) : ArrayCall(1) { use_files(context); }

  std::array<ItemList, 3> lists{
      {{0, "basket", query.basket}, {kInclude, "include", query.include, true}, {kExclude, "exclude", query.exclude}}};
  size_t handed_over = 0;
};

/// Reads and checks the arguments: the basket, and those after the input.
const RecommendQuery& read_arguments(const TableInput& input, RecommendCall& call) {
  const Arguments arguments = input.arguments();
  RecommendQuery& query = call.query;
  call.lists[0].index = input.index - 1 - input.after_input;
  read_lists(call.lists, arguments, input.item_type);
  query.top_k = arguments.int8(kTopK).value_or(10);
  query.min_support = arguments.min_support(kMinSupport);
  query.min_count = arguments.min_count(kMinCount);
  query.min_confidence = arguments.float8(kMinConfidence);
  query.min_lift = arguments.float8(kMinLift);
  query.max_lhs = arguments.int4(kMaxLhs);
  const char* const measure = arguments.string(kMeasure, "confidence");
  guarded([&] {
    query.measure = parse_pair_measure(measure, MeasureUse::kRankRules);
    query.check();
  });
  return query;
}

/// The rows of one call. They are computed at the first call of next().
class RecommendStream final : public ArrayStream<RecommendCall> {
 public:
  using ArrayStream::ArrayStream;

  bool next(Datum* values) override {
    const RecommendRun& run = *call().run;
    if (call().handed_over == run.rows().size()) return false;
    const Recommendation& row = run.rows()[call().handed_over++];
    const std::span<const int64_t> lhs = run.lhs(row);
    const uint64_t total = run.record().transactions;
    const ContingencyTable counts{.both = static_cast<double>(row.support),
                                  .a = static_cast<double>(row.lhs_support),
                                  .b = static_cast<double>(row.item_support),
                                  .total = static_cast<double>(total)};
    values[0] = array(0).item(row.item);
    values[1] = Float8GetDatum(row.score);
    values[2] = array(0).make(lhs);
    values[3] = Int64GetDatum(row.support);
    values[4] = Int64GetDatum(row.lhs_support);
    values[5] = Int64GetDatum(row.item_support);
    values[6] = Int64GetDatum(static_cast<int64_t>(total));
    values[7] = Float8GetDatum(pair_measure(PairMeasure::kConfidence, counts));
    values[8] = Float8GetDatum(pair_measure(PairMeasure::kLift, counts));
    return true;
  }

 private:
  void fill(RunRecord& record) const override {
    ArrayStream::fill(record);
    record.results = call().handed_over;
  }
};

/// The steps of a call.
RowStream* recommend_items(const TableInput& input) {
  auto* const stream = new_stream<RecommendStream>(input.operation, input.context);
  RecommendCall& call = stream->call();
  const RecommendQuery& query = read_arguments(input, call);
  const std::optional<InputRows> rows = read_rows(input, call, call.log, call.lists);
  return rows ? stream->run(query, *rows) : nullptr;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_recommend_query) {
  if (PG_ARGISNULL(0)) return nullptr;  // a NULL basket is not known
  return recommend_items(query_input(fcinfo, context, "batmap_recommend", 1, kQuery));
}

BATMAP_TABLE_FUNCTION(batmap_recommend_text_query) {
  if (PG_ARGISNULL(0)) return nullptr;  // a NULL basket is not known
  return recommend_items(query_input(fcinfo, context, "batmap_recommend_of", 1, kQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_recommend_as_query) {
  if (PG_ARGISNULL(1)) return nullptr;
  return recommend_items(query_input(fcinfo, context, "batmap_recommend_as", 2, kQuery, item_type_argument(fcinfo)));
}

// The same, with a float8 for min_count where two columns are named: see srf_itemsets.cpp.
BATMAP_TABLE_FUNCTION(batmap_recommend_columns) {
  if (PG_ARGISNULL(0)) return nullptr;
  return recommend_items(query_input(fcinfo, context, "batmap_recommend", 1, kQuery));
}

BATMAP_TABLE_FUNCTION(batmap_recommend_text_columns) {
  if (PG_ARGISNULL(0)) return nullptr;
  return recommend_items(query_input(fcinfo, context, "batmap_recommend_of", 1, kQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_recommend_relation) {
  if (PG_ARGISNULL(0)) return nullptr;
  return recommend_items(relation_input(fcinfo, context, "batmap_recommend", 1));
}

BATMAP_TABLE_FUNCTION(batmap_recommend_text_relation) {
  if (PG_ARGISNULL(0)) return nullptr;
  return recommend_items(relation_input(fcinfo, context, "batmap_recommend_of", 1, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_recommend_as_relation) {
  if (PG_ARGISNULL(1)) return nullptr;
  return recommend_items(relation_input(fcinfo, context, "batmap_recommend_as", 2, item_type_argument(fcinfo)));
}

BATMAP_FUNCTION(batmap_recommend_support) {
  static const SupportedCall kCall{2, 1, kTopK, kTopK, kQuery};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
