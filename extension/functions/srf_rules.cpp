// Table functions batmap_rules, also over stored counts, and batmap_rules_of: arguments, input, and rows of the answer.
#include <array>
#include <cmath>
#include <optional>

#include "extension/server/device_use.h"
#include "extension/streams/array_stream.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/table_input.h"
#include "extension/types/itemset_counts_datum.h"
#include "itemsets/rules/rules.h"
#include "measures/pair_measure.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the input. The input is one argument, or two in the _of form.
enum Argument {
  kMinCount,
  kMinSupport,
  kMinConfidence,
  kMinLift,
  kMaxLhs,
  kMaxRhs,
  kLhsInclude,
  kLhsExclude,
  kRhsInclude,
  kRhsExclude,
  kExclude,
  kTopK,
  kMeasure,
  kMaxResults,
  kTimeout,
  kDevice,
  kTidColumn,
  kItemColumn,
  kParams
};

constexpr QueryArguments kQuery{kParams, true};

// Columns of the answer: those of the measures, from the first to the last.
enum Column { kSupportColumn = 6, kScoreColumn = 11 };

/// The engine's side of one call.
struct RuleCall : ArrayCall<RuleQuery, RuleRun> {
  explicit RuleCall(MemoryContext context) : ArrayCall(thread_count()), batch(meter) {
    use_files(context);
    query.itemsets.kernel = &select_mask_kernel(settings.cpu_kernel);
    query.itemsets.bits = selected_kernels().bits;
  }

  std::array<ItemList, 5> lists{{{kLhsInclude, "lhs_include", query.lhs_include, true},
                                 {kLhsExclude, "lhs_exclude", query.lhs_exclude},
                                 {kRhsInclude, "rhs_include", query.rhs_include, true},
                                 {kRhsExclude, "rhs_exclude", query.rhs_exclude},
                                 {kExclude, "exclude", query.itemsets.exclude}}};
  RuleBatch batch;
  size_t handed_over = 0;  // rows of the current batch
  bool has_measure = false;
};

/// To be called in guarded. @param name  nullptr: the rules that are best are those of largest confidence
void read_measure(const char* name, RuleQuery& query) {
  // Rules that are not ranked may have any measure.
  if (name != nullptr) query.measure = parse_pair_measure(name, query.top_k ? MeasureUse::kRankRules : MeasureUse::kValue);
}

/// Reads and checks the arguments after the input.
const RuleQuery& read_arguments(const Arguments& arguments, Oid item_type, RuleCall& call) {
  RuleQuery& query = call.query;
  read_lists(call.lists, arguments, item_type);
  query.itemsets.min_support = arguments.min_support(kMinSupport);
  query.itemsets.min_count = arguments.min_count(kMinCount);
  query.min_confidence = arguments.float8(kMinConfidence);
  query.min_lift = arguments.float8(kMinLift);
  query.max_lhs = arguments.int4(kMaxLhs);
  query.max_rhs = arguments.int4(kMaxRhs).value_or(INT32_MAX);
  query.top_k = arguments.int8(kTopK);
  query.max_results = arguments.int8(kMaxResults);
  query.timeout_ms = arguments.milliseconds(kTimeout);
  const char* const measure = arguments.string(kMeasure, nullptr);
  const char* const device = arguments.string(kDevice, nullptr);
  call.has_measure = measure != nullptr;
  guarded([&] {
    query.itemsets.device = device != nullptr ? selected_devices(device) : selected_devices();
    read_measure(measure, query);
    query.check();
  });
  return query;
}

/// What is asked of the column `score`.
enum class Score {
  kNoColumn,  // the functions of version 0.1.0 have none
  kUnread,
  kRead
};

Score score_of(const WantedRows& wanted) {
  return (wanted.columns & one(kScoreColumn)) != 0 ? Score::kRead : Score::kUnread;
}

/// The answers of one call.
class RuleStream final : public ArrayStream<RuleCall> {
 public:
  using ArrayStream::ArrayStream;

  void want(Score score) { score_ = score; }

  /// A measure that nobody named has no values.
  int null_columns() const override { return score_ == Score::kNoColumn || call().has_measure ? 0 : 1; }

  ColumnSet nan_columns() const override { return score_ == Score::kRead && call().has_measure ? one(kScoreColumn) : 0; }

  bool next(Datum* values) override {
    while (call().handed_over == call().batch.rows.size())
      if (!next_batch()) return false;
    put(call().batch.rows[call().handed_over++], values);
    return true;
  }

 private:
  void put(const RuleRow& row, Datum* values) {
    const int64_t* const items = call().batch.items.begin() + row.begin;
    const uint64_t total = call().run->transactions();
    values[0] = array(0).make({items, row.lhs_length});
    values[1] = array(1).make({items + row.lhs_length, row.rhs_length});
    values[2] = Int64GetDatum(row.support);
    values[3] = Int64GetDatum(row.lhs_support);
    values[4] = Int64GetDatum(row.rhs_support);
    values[5] = Int64GetDatum(static_cast<int64_t>(total));
    const ContingencyTable counts{.both = static_cast<double>(row.support),
                                  .a = static_cast<double>(row.lhs_support),
                                  .b = static_cast<double>(row.rhs_support),
                                  .total = static_cast<double>(total)};
    int column = kSupportColumn;
    for (const PairMeasure measure : {PairMeasure::kSupport, PairMeasure::kConfidence, PairMeasure::kLift,
                                      PairMeasure::kLeverage, PairMeasure::kConviction})
      values[column++] = Float8GetDatum(pair_measure(measure, counts));
    if (score_ != Score::kRead || !call().has_measure) return;
    CHECK_FOR_INTERRUPTS();  // some measures take a tenth of a millisecond
    values[column] = Float8GetDatum(pair_measure(call().query.measure, counts));
  }

  bool next_batch() {
    call().handed_over = 0;
    RuleRun& run = *call().run;
    const bool more = count([&] { return run.next(call().batch); });
    look_at_site();
    call().progress.tasks(run.tasks_done(), run.tasks(), run.results());
    if (!more) end_answer(run.truncation());
    return more;
  }

  void fill(RunRecord& record) const override {
    ArrayStream::fill(record);
    record.results -= call().batch.rows.size() - call().handed_over;
  }

  Score score_ = Score::kNoColumn;
};

/// The steps of a call.
RowStream* find_rules(const TableInput& input, Score score) {
  auto* const stream = new_stream<RuleStream>(input.operation, input.context);
  stream->want(score);
  RuleCall& call = stream->call();
  const RuleQuery& query = read_arguments(input.arguments(), input.item_type, call);
  const std::optional<InputRows> rows = read_rows(input, call, call.log, call.lists);
  return rows ? stream->run(query, *rows) : nullptr;
}

/// The same over the counts in argument 0.
RowStream* find_stored_rules(FunctionCallInfo fcinfo, MemoryContext context, Score score) {
  auto* const stream = new_stream<RuleStream>("batmap_rules", context);
  stream->want(score);
  const RuleQuery& query = read_arguments({fcinfo, 1, kDevice}, InvalidOid, stream->call());
  if (PG_ARGISNULL(0)) return nullptr;  // an aggregate over no rows gives NULL
  const std::byte* const counts = value_bytes(itemset_counts_argument(fcinfo, 0));
  return stream->run_counts(query, counts, itemset_counts_header(counts).itemsets);
}

/// For the planner, which takes the confidence of rules to be anything between 0 and 1, and the lift above 1 as often as not. Both
/// are about items that do not occur independently of each other, so nothing is known of them.
void expect_rules(const PlannedCall& call, CallEstimate& estimate) {
  const double min_count = call.min_count(kMinCount, kMinSupport);
  const auto max_lhs = static_cast<int>(Min(call.number(kMaxLhs, LengthCounts::kMaxLength), LengthCounts::kMaxLength));
  const auto max_rhs = static_cast<int>(Min(call.number(kMaxRhs, LengthCounts::kMaxLength), LengthCounts::kMaxLength));
  const LengthCounts itemsets = call.itemsets(min_count, max_lhs + max_rhs, HUGE_VAL, estimate);
  for (int length = 2; length <= LengthCounts::kMaxLength; ++length) {
    double splits = 1;  // ways to choose the items of the right-hand side
    for (int rhs = 1; rhs < length && rhs <= max_rhs; ++rhs) {
      splits *= static_cast<double>(length - rhs + 1) / rhs;
      if (length - rhs <= max_lhs) estimate.rows += itemsets.of[length] * splits;
    }
  }
  estimate.rows *= 1 - Min(call.number(kMinConfidence, 0), 1);
  if (call.has(kMinLift)) estimate.rows /= 2;
  estimate.has_rows = true;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_scored_rules_query) {
  return find_rules(query_input(fcinfo, context, "batmap_rules", 0, kQuery), score_of(wanted));
}

BATMAP_TABLE_FUNCTION(batmap_scored_rules_text_query) {
  return find_rules(query_input(fcinfo, context, "batmap_rules_of", 0, kQuery, TEXTOID), score_of(wanted));
}

BATMAP_TABLE_FUNCTION(batmap_scored_rules_as_query) {
  return find_rules(query_input(fcinfo, context, "batmap_rules_as", 1, kQuery, item_type_argument(fcinfo)),
                    score_of(wanted));
}

BATMAP_TABLE_FUNCTION(batmap_scored_rules_relation) {
  return find_rules(relation_input(fcinfo, context, "batmap_rules", 0), score_of(wanted));
}

BATMAP_TABLE_FUNCTION(batmap_scored_rules_text_relation) {
  return find_rules(relation_input(fcinfo, context, "batmap_rules_of", 0, TEXTOID), score_of(wanted));
}

BATMAP_TABLE_FUNCTION(batmap_scored_rules_as_relation) {
  return find_rules(relation_input(fcinfo, context, "batmap_rules_as", 1, item_type_argument(fcinfo)), score_of(wanted));
}

BATMAP_TABLE_FUNCTION(batmap_scored_rules_counts) { return find_stored_rules(fcinfo, context, score_of(wanted)); }

// The same for the SQL objects of version 0.1.0, which have no column `score`.
BATMAP_TABLE_FUNCTION(batmap_rules_query) {
  return find_rules(query_input(fcinfo, context, "batmap_rules", 0, kQuery), Score::kNoColumn);
}

BATMAP_TABLE_FUNCTION(batmap_rules_text_query) {
  return find_rules(query_input(fcinfo, context, "batmap_rules_of", 0, kQuery, TEXTOID), Score::kNoColumn);
}

BATMAP_TABLE_FUNCTION(batmap_rules_as_query) {
  return find_rules(query_input(fcinfo, context, "batmap_rules_as", 1, kQuery, item_type_argument(fcinfo)),
                    Score::kNoColumn);
}

BATMAP_TABLE_FUNCTION(batmap_rules_relation) {
  return find_rules(relation_input(fcinfo, context, "batmap_rules", 0), Score::kNoColumn);
}

BATMAP_TABLE_FUNCTION(batmap_rules_text_relation) {
  return find_rules(relation_input(fcinfo, context, "batmap_rules_of", 0, TEXTOID), Score::kNoColumn);
}

BATMAP_TABLE_FUNCTION(batmap_rules_as_relation) {
  return find_rules(relation_input(fcinfo, context, "batmap_rules_as", 1, item_type_argument(fcinfo)), Score::kNoColumn);
}

BATMAP_TABLE_FUNCTION(batmap_rules_counts) { return find_stored_rules(fcinfo, context, Score::kNoColumn); }

BATMAP_FUNCTION(batmap_rules_counts_support) {
  static const SupportedCall kCall{1, 0, kTopK, kMaxResults};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

BATMAP_FUNCTION(batmap_rules_support) {
  static const SupportedCall kCall{1, 1, kTopK, kMaxResults, kQuery, false, expect_rules};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

// The rules of two items over pair counts are SQL, which has no other way to raise these errors.
BATMAP_FUNCTION(batmap_check_rules) {
  const Arguments arguments{fcinfo, 0};
  RuleQuery query;
  query.itemsets.min_count = arguments.int8(0);
  query.itemsets.min_support = arguments.float8(1);
  query.min_confidence = arguments.float8(2);
  query.min_lift = arguments.float8(3);
  query.top_k = arguments.int8(4);
  const char* const measure = arguments.string(5, nullptr);
  guarded([&] {
    read_measure(measure, query);
    query.check();
  });
  PG_RETURN_BOOL(true);
}

BATMAP_FUNCTION(batmap_check_nulls) {
  if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) PG_RETURN_BOOL(true);
  if (array_contains_nulls(PG_GETARG_ARRAYTYPE_P(1)))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                    errmsg("%s must not contain NULL", text_to_cstring(PG_GETARG_TEXT_PP(0))),
                    errhint("Use array_remove(..., NULL).")));
  PG_RETURN_BOOL(true);
}

// In the objects of 0.1.0.
BATMAP_FUNCTION(batmap_check_items) { return batmap_check_nulls(fcinfo); }
