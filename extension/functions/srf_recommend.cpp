// Table functions batmap_recommend and batmap_recommend_of: arguments, input, and rows of the answer.
#include "extension/functions/srf_recommend.h"

#include <array>

#include "extension/functions/array_stream.h"
#include "extension/functions/relation_stream.h"
#include "itemsets/rules/recommend.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct RecommendCall : ArrayCall<RecommendQuery, RecommendRun> {
  explicit RecommendCall(MemoryContext) : ArrayCall(1) {}

  size_t handed_over = 0;
};

// Positions of the arguments after the input. The basket comes before the input; in the _of form it also
// gives the item type.
enum Argument {
  kBasket = -2,
  kK = 0,
  kMinSupport,
  kMinCount,
  kMinConfidence,
  kMinLift,
  kMaxLhs,
  kMeasure,
  kInclude,
  kExclude,
  kArguments
};

/// The rows of one call. They are computed at the first call of next().
class RecommendStream final : public ArrayStream<RecommendCall> {
 public:
  using ArrayStream::ArrayStream;

  static std::array<ItemList, 3> lists(RecommendQuery& query) {
    return {{{kBasket, "basket", query.basket}, {kInclude, "include", query.include}, {kExclude, "exclude", query.exclude}}};
  }

  static void read_arguments(const Arguments& arguments, RecommendQuery& query) {
    query.k = arguments.int8(kK).value_or(10);
    query.min_support = arguments.float8(kMinSupport);
    query.min_count = arguments.int8(kMinCount);
    query.min_confidence = arguments.float8(kMinConfidence);
    query.min_lift = arguments.float8(kMinLift);
    query.max_lhs = arguments.int4(kMaxLhs);
    const char* const measure = arguments.string(kMeasure, "confidence");
    guarded([&] {
      query.measure = parse_pair_measure(measure, MeasureUse::kRankRules);
      query.check();
    });
  }

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

}  // namespace

namespace batmap::pg {

RowStream* open_recommend_query(FunctionCallInfo fcinfo, MemoryContext context) {
  if (PG_ARGISNULL(0)) return nullptr;  // a NULL basket is not known
  return open_query<RecommendStream>(fcinfo, context, "batmap_recommend", 1);
}

RowStream* open_recommend_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  if (PG_ARGISNULL(0)) return nullptr;
  const Oid item_type = get_element_type(get_fn_expr_argtype(fcinfo->flinfo, 0));
  return open_query<RecommendStream>(fcinfo, context, "batmap_recommend_of", 1, item_type);
}

RowStream* open_recommend_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  if (PG_ARGISNULL(0)) return nullptr;
  return open_relation<RecommendStream>(fcinfo, context, "batmap_recommend", 1);
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_recommend_query) {
  materialize(fcinfo, open_recommend_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_recommend_of_query) {
  materialize(fcinfo, open_recommend_of_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_recommend_relation) {
  materialize(fcinfo, open_recommend_relation);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_recommend_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kK, kArguments - kK));
}
