// Table functions batmap_pairs, batmap_partners and their _of forms: arguments, input, and rows of the answer.
#include <array>
#include <optional>
#include <type_traits>

#include "extension/input/run_costs.h"
#include "extension/kept/kept_answer.h"
#include "extension/kept/kept_table.h"
#include "extension/server/device_use.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/support_stream.h"
#include "extension/streams/table_input.h"
#include "extension/types/pair_counts_datum.h"
#include "pairs/counts/pair_counts_run.h"
#include "pairs/pair_run.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// ---- calls

/// The engine's side of one call.
struct PairCall : PairRowsCall<PairQuery, PairRun> {
  explicit PairCall(MemoryContext context) : PairRowsCall(context) { query.kernels = selected_kernels(); }

  std::optional<RowLog> log;
};

/// The same for counts that exist already.
using PairCountsCall = PairRowsCall<PairQuery, PairCountsRun>;
using KeptCall = PairRowsCall<PairQuery, KeptPairsRun>;

/// What the two functions differ in. Positions of arguments are those after the input. The input is one argument. The
/// forms over pair counts have no argument from `method` on.
struct PairArguments {
  int items;  // which pairs an item must be in: `include`, or `items` of batmap_partners
  const char* items_name;
  int exclude;
  int top_k;
  int per_item_top_k;  // the positions may be one
  int measure;
  int max_results;
  int method;
  int device;
  int params;  // after the names of the columns
};

enum Common { kMinCount, kMinSupport };

constexpr PairArguments kPairs{.items = 2,
                               .items_name = "include",
                               .exclude = 3,
                               .top_k = 4,
                               .per_item_top_k = 5,
                               .measure = 6,
                               .max_results = 7,
                               .method = 8,
                               .device = 9,
                               .params = 12};
constexpr PairArguments kPartners{.items = 2,
                                  .items_name = "items",
                                  .exclude = 3,
                                  .top_k = SupportedCall::kNone,
                                  .per_item_top_k = 4,
                                  .measure = 5,
                                  .max_results = 6,
                                  .method = 7,
                                  .device = 8,
                                  .params = 11};
constexpr QueryArguments kPairsQuery{kPairs.params, true};
constexpr QueryArguments kPartnersQuery{kPartners.params, true};

using ItemLists = std::array<ItemList, 2>;

ItemLists item_lists(PairQuery& query, const PairArguments& places) {
  return {{{places.items, places.items_name, query.include, true}, {places.exclude, "exclude", query.exclude}}};
}

/// Reads and checks the arguments after the input.
const PairQuery& read_arguments(const Arguments& arguments, const PairArguments& places, Oid item_type, ItemLists& lists,
                                PairQuery& query) {
  read_lists(lists, arguments, item_type);
  query.min_count = arguments.int8(kMinCount);
  query.min_support = arguments.min_support(kMinSupport);
  query.partners = places.top_k == SupportedCall::kNone;
  query.per_item_top_k =
      query.partners ? arguments.int8(places.per_item_top_k).value_or(10) : arguments.int4(places.per_item_top_k);
  if (!query.partners) query.top_k = arguments.int8(places.top_k);
  query.max_results = arguments.int8(places.max_results);
  const char* const method = arguments.string(places.method, "auto");
  const char* const device = arguments.string(places.device, nullptr);
  const char* const measure = arguments.string(places.measure, query.partners ? "confidence" : nullptr);
  // Pairs that are not ranked have no better order of their items; then any measure will do.
  const MeasureUse use = query.partners                        ? MeasureUse::kRankRules
                         : query.top_k || query.per_item_top_k ? MeasureUse::kRankPairs
                                                               : MeasureUse::kValue;
  guarded([&] {
    query.method = parse_pair_method(method);
    query.device = device != nullptr ? selected_devices(device) : selected_devices();
    if (measure != nullptr) query.measure = parse_pair_measure(measure, use);
    query.check();
  });
  return query;
}

// ---- answers

class PairStream final : public SupportStream<PairCall> {
 public:
  using SupportStream::SupportStream;

  /// Groups the rows. After that, answers can be pulled.
  RowStream* run(const PairQuery& query, const InputRows& rows) {
    std::optional<PairRun>& run = call().run;
    begin(rows.kind, rows.count, [&] {
      if (rows.log != nullptr)
        run.emplace(*rows.log, rows.ranks, query, call().options);
      else
        run.emplace(rows.chunks(), rows.ranks, query, call().options);
      if (!run->needs_rows()) call().log.reset();
    });
    if (!run->needs_rows()) drop_relation(rows);
    if (rows.by_position) look_at_columns(*run);
    set_input(rows.items, run->record().transactions);
    return this;
  }
};

/// Rows from counts that exist already.
class PairCountsStream final : public SupportStream<PairCountsCall> {
 public:
  using SupportStream::SupportStream;

  /// @param counts  must live as long as the stream
  /// @param items   their items, if they are texts
  RowStream* run(const PairQuery& query, const std::byte* counts, const Dictionary* items) {
    const PairCountsHeader header = pair_counts_header(counts);
    begin("pair counts", header.pairs, [&] { call().run.emplace(counts, query, call().options); });
    set_input(items, header.total);
    return this;
  }
};

/// Rows from the chunks of a kept table and what has changed since.
class KeptStream final : public SupportStream<KeptCall> {
 public:
  using SupportStream::SupportStream;

  RowStream* run(const PairQuery& query, const KeptAnswer& answer) {
    begin("pair counts", answer.pairs, [&] { call().run.emplace(answer, query, call().options); });
    set_input(nullptr, answer.counts->total());
    return this;
  }
};

// ---- steps

/// Pairs that a measure ranks, and partners, have another order than that of their counts.
template <typename Stream>
void want(Stream* stream, const WantedRows& wanted) {
  PairQuery& query = stream->call().query;
  if (!query.measure && !query.partners) limit_to_wanted(wanted, query);
  stream->want(wanted);
}

/// The steps of a call over rows.
RowStream* find_pairs(const TableInput& input, const PairArguments& places, const WantedRows& wanted) {
  auto* const stream = new_stream<PairStream>(input.operation, input.context);
  PairCall& call = stream->call();
  ItemLists lists = item_lists(call.query, places);
  const PairQuery& query = read_arguments(input.arguments(), places, input.item_type, lists, call.query);
  want(stream, wanted);
  const std::optional<InputRows> rows = read_rows(input, call, call.log, lists);
  return rows ? stream->run(query, *rows) : nullptr;
}

/// For a hint: the form for items of the other kind. Over pair counts, batmap_rules and batmap_recommend are SQL that calls
/// batmap_pairs, so a call of it may be one of them.
const char* other_form_of_counts(const char* operation, Oid item_type) {
  if (strcmp(operation, "batmap_pairs") == 0)
    return "Use batmap_pairs_of, batmap_rules_of or batmap_recommend_of. Counts of a kept table come from "
           "batmap_kept_counts_of.";
  if (strcmp(operation, "batmap_pairs_of") == 0) return "Use batmap_pairs, batmap_rules or batmap_recommend.";
  return other_form(operation, item_type);
}

/// The same over pair counts.
/// @param index      of the counts among the arguments
/// @param item_type  of an _of form; InvalidOid: items are integers
RowStream* find_counted_pairs(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int index,
                              const PairArguments& places, const WantedRows& wanted, Oid item_type = InvalidOid) {
  auto* const stream = new_stream<PairCountsStream>(operation, context);
  PairQuery& query = stream->call().query;
  ItemLists lists = item_lists(query, places);
  const Arguments arguments{fcinfo, index + 1};
  read_arguments(arguments, places, item_type, lists, query);
  want(stream, wanted);
  if (PG_ARGISNULL(index)) return nullptr;  // an aggregate over no rows gives NULL
  const MemoryContext caller = MemoryContextSwitchTo(context);
  struct varlena* const counts = summed_copy(kSummedPairCounts, fcinfo, index);
  MemoryContextSwitchTo(caller);
  check_counts_items(counts, OidIsValid(item_type), other_form_of_counts(operation, item_type));
  const Dictionary* items = nullptr;
  if (OidIsValid(item_type)) {
    MemoryMeter& meter = stream->call().meter;
    items = read_text_items(counts_texts(counts, meter), item_type, lists, arguments, context, meter);
  }
  return stream->run(query, counts_bytes(counts), items);
}

/// The same over a kept table. Pairs of all items are read chunk by chunk; those of some items, which are few, from counts that
/// are made of them.
template <typename Stream>
RowStream* find_kept_pairs(FunctionCallInfo fcinfo, MemoryContext context, const char* operation,
                           const PairArguments& places, const WantedRows& wanted) {
  constexpr bool kAll = std::is_same_v<Stream, KeptStream>;
  KeptRoom* const room = reserve_kept_room(context);
  auto* const stream = new_stream<Stream>(operation, context);
  PairQuery& query = stream->call().query;
  ItemLists lists = item_lists(query, places);
  read_arguments({fcinfo, 1}, places, InvalidOid, lists, query);
  want(stream, wanted);
  if (PG_ARGISNULL(0)) return nullptr;
  ArrayType* const items = PG_ARGISNULL(1 + places.items) ? nullptr : PG_GETARG_ARRAYTYPE_P(1 + places.items);
  const KeptAnswer answer = read_kept_answer(PG_GETARG_OID(0), items, context, room);
  if constexpr (kAll) {
    if (answer.value == nullptr) return stream->run(query, answer);
    check_counts_items(answer.value, false,
                       psprintf("Use %s_of(%s::regclass, ...).", operation, table_literal(PG_GETARG_OID(0))));
    return nullptr;
  } else {
    return stream->run(query, counts_bytes(answer.value), nullptr);
  }
}

RowStream* find_kept_pairs(FunctionCallInfo fcinfo, MemoryContext context, const char* operation,
                           const PairArguments& places, const WantedRows& wanted) {
  if (PG_ARGISNULL(1 + places.items)) return find_kept_pairs<KeptStream>(fcinfo, context, operation, places, wanted);
  return find_kept_pairs<PairCountsStream>(fcinfo, context, operation, places, wanted);
}

// ---- for the planner

/// Adds the cost of counting. @return the number of frequent items
double expect_counting(const PlannedCall& call, CallEstimate& estimate) {
  const ItemSupports& supports = call.inputs[0].items;
  estimate.cost += supports.pair_instances() * kPairInstanceOperators * cpu_operator_cost;
  estimate.has_rows = true;
  return supports.frequent(call.min_count(kMinCount, kMinSupport));
}

double expect_frequent_pairs(const PlannedCall& call) {
  const ItemSupports& supports = call.inputs[0].items;
  return expected_pairs(supports.items(), supports.transactions, call.min_count(kMinCount, kMinSupport));
}

void expect_pairs(const PlannedCall& call, CallEstimate& estimate) {
  const double frequent = expect_counting(call, estimate);
  estimate.rows = expect_frequent_pairs(call) * call.share_with(kPairs.items, frequent, 2);
  if (call.has(kPairs.per_item_top_k)) estimate.rows = Min(estimate.rows, frequent * call.number(kPairs.per_item_top_k, 1));
}

void expect_partners(const PlannedCall& call, CallEstimate& estimate) {
  const double frequent = expect_counting(call, estimate);
  // Each pair has two items that may have partners.
  const double items = frequent * call.share_with(kPartners.items, frequent, 1);
  estimate.rows = Min(2 * expect_frequent_pairs(call), items * call.number(kPartners.per_item_top_k, 10));
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_pairs_query, one(kSupportCount)) {
  return find_pairs(query_input(fcinfo, context, "batmap_pairs", 0, kPairsQuery), kPairs, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_text_query, one(kSupportCount)) {
  return find_pairs(query_input(fcinfo, context, "batmap_pairs_of", 0, kPairsQuery, TEXTOID), kPairs, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_as_query, one(kSupportCount)) {
  return find_pairs(query_input(fcinfo, context, "batmap_pairs_as", 1, kPairsQuery, item_type_argument(fcinfo)), kPairs,
                    wanted);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_relation, one(kSupportCount)) {
  return find_pairs(relation_input(fcinfo, context, "batmap_pairs", 0), kPairs, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_text_relation, one(kSupportCount)) {
  return find_pairs(relation_input(fcinfo, context, "batmap_pairs_of", 0, TEXTOID), kPairs, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_as_relation, one(kSupportCount)) {
  return find_pairs(relation_input(fcinfo, context, "batmap_pairs_as", 1, item_type_argument(fcinfo)), kPairs, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_counts, one(kSupportCount)) {
  return find_counted_pairs(fcinfo, context, "batmap_pairs", 0, kPairs, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_text_counts, one(kSupportCount)) {
  return find_counted_pairs(fcinfo, context, "batmap_pairs_of", 0, kPairs, wanted, TEXTOID);
}

BATMAP_TABLE_FUNCTION(batmap_pairs_as_counts, one(kSupportCount)) {
  return find_counted_pairs(fcinfo, context, "batmap_pairs_as", 1, kPairs, wanted, item_type_argument(fcinfo));
}

BATMAP_TABLE_FUNCTION(batmap_pairs_kept, one(kSupportCount)) {
  return find_kept_pairs(fcinfo, context, "batmap_pairs", kPairs, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_kept) {
  return find_kept_pairs(fcinfo, context, "batmap_partners", kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_query) {
  return find_pairs(query_input(fcinfo, context, "batmap_partners", 0, kPartnersQuery), kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_text_query) {
  return find_pairs(query_input(fcinfo, context, "batmap_partners_of", 0, kPartnersQuery, TEXTOID), kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_as_query) {
  return find_pairs(query_input(fcinfo, context, "batmap_partners_as", 1, kPartnersQuery, item_type_argument(fcinfo)),
                    kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_relation) {
  return find_pairs(relation_input(fcinfo, context, "batmap_partners", 0), kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_text_relation) {
  return find_pairs(relation_input(fcinfo, context, "batmap_partners_of", 0, TEXTOID), kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_as_relation) {
  return find_pairs(relation_input(fcinfo, context, "batmap_partners_as", 1, item_type_argument(fcinfo)), kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_counts) {
  return find_counted_pairs(fcinfo, context, "batmap_partners", 0, kPartners, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_partners_text_counts) {
  return find_counted_pairs(fcinfo, context, "batmap_partners_of", 0, kPartners, wanted, TEXTOID);
}

BATMAP_TABLE_FUNCTION(batmap_partners_as_counts) {
  return find_counted_pairs(fcinfo, context, "batmap_partners_as", 1, kPartners, wanted, item_type_argument(fcinfo));
}

/// Planner support. When the planner calls it, the library gets loaded, in time for the
/// plan node (node_row_stream.h).
BATMAP_FUNCTION(batmap_pairs_support) {
  static const SupportedCall kCall{1, 1, kPairs.top_k, kPairs.max_results, kPairsQuery, false, expect_pairs};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

BATMAP_FUNCTION(batmap_pairs_counts_support) {
  static const SupportedCall kCall{1, 0, kPairs.top_k, kPairs.max_results};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

BATMAP_FUNCTION(batmap_partners_support) {
  static const SupportedCall kCall{
      1, 1, SupportedCall::kNone, kPartners.max_results, kPartnersQuery, false, expect_partners};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
