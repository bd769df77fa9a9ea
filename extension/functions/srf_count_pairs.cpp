// Table functions batmap_count_pairs and batmap_count_pairs_of: arguments, the list of pairs, the rows or sets, and rows of
// the answer.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "extension/input/pair_list.h"
#include "extension/input/run_costs.h"
#include "extension/server/device_use.h"
#include "extension/server/settings.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/set_rows.h"
#include "extension/streams/support_stream.h"
#include "extension/streams/table_input.h"
#include "extension/types/set_datum.h"
#include "pairs/listed_answers.h"
#include "pairs/listed_sets.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr const char* kPairColumnNames = "the two items of a pair";

/// Over rows or over sets.
class CountPairsRun {
 public:
  explicit CountPairsRun(std::unique_ptr<ListedAnswers> of_rows) : of_rows_(std::move(of_rows)) {}
  explicit CountPairsRun(std::unique_ptr<ListedSets> of_sets) : of_sets_(std::move(of_sets)) {}

  bool next(PairBatch& batch) { return of_rows_ ? of_rows_->next(batch) : of_sets_->next(batch); }
  const RunRecord& record() const { return of_rows_ ? of_rows_->record() : of_sets_->record(); }

 private:
  std::unique_ptr<ListedAnswers> of_rows_;
  std::unique_ptr<ListedSets> of_sets_;
};

/// The engine's side of one call.
struct CountPairsCall : PairRowsCall<PairQuery, CountPairsRun> {
  using PairRowsCall::PairRowsCall;

  std::optional<CollectedSets> sets;
  std::unique_ptr<RowLog> set_rows;  // of sets that are too large for memory
  std::optional<RowLog> numbers;     // the list by the items of these rows
  std::optional<RowLog> rows;
  std::optional<RowLog> list;
  std::optional<RowLog> ranks;  // the list by the items that the rows have, if that is another
};

// Positions of the arguments after the two inputs. A relation has no columns to name.
enum Argument { kMeasure, kTidColumn, kItemColumn, kQueryParams, kRelationParams = kTidColumn };

constexpr QueryArguments kQuery{kQueryParams, true};
constexpr QueryArguments kPairsOfQuery{kQueryParams};
constexpr QueryArguments kPairsOfRelation{kRelationParams};

class CountPairsStream final : public SupportStream<CountPairsCall> {
 public:
  using SupportStream::SupportStream;

  /// @param items  the values of the items on the list; nullptr: they are integers
  RowStream* run(const InputRows& rows, const Dictionary* items) {
    CountPairsCall& call = this->call();
    const bool supports = call.query.supports || wants_total_;
    begin(rows.kind, rows.count, [&] {
      if (rows.log != nullptr && rows.log->partitions() != nullptr) {
        call.run.emplace(std::make_unique<ListedAnswers>(call.list->chunks(), call.list->chunks(), *rows.log->partitions(),
                                                         supports, call.query.device, call.options));
      } else {
        const RowLog& list = call.ranks ? *call.ranks : *call.list;
        call.run.emplace(std::make_unique<ListedAnswers>(call.list->chunks(), list.chunks(), rows.chunks(), supports,
                                                         call.query.device, call.options));
      }
      call.ranks.reset();
      call.rows.reset();
    });
    drop_relation(rows);
    set_input(items, call.run->record().transactions);
    return this;
  }

  /// The same over the sets of the call.
  RowStream* run_sets(const Dictionary* items) {
    CountPairsCall& call = this->call();
    begin("stream", call.sets->size(), [&] {
      const RowLog& list = call.ranks ? *call.ranks : *call.list;
      if (call.sets->are_rows()) {
        count_set_rows(list);
        return;
      }
      const ListedSetsQuery query{.supports = call.query.supports,
                                  .total = wants_total_ || wants_distinct_,
                                  .kernel = &selected_set_kernel(),
                                  .device = call.query.device};
      call.run.emplace(
          std::make_unique<ListedSets>(call.sets->take_sets(), call.list->chunks(), list.chunks(), query, call.options));
      call.ranks.reset();
    });
    set_input(items, call.run->record().transactions);
    return this;
  }

  void want_columns(const WantedRows& rows) {
    want(rows);
    const ColumnSet wanted = rows.columns;
    // Listed items need not occur, and then have no confidence and no lift.
    const ColumnSet ratios = one(kSupport) | one(kConfidence) | one(kConfidenceBa) | one(kLift);
    set_nan_is_null(ratios | (call().query.measure ? one(kScore) : 0));
    wants_total_ = (wanted & (one(kTotal) | one(kSupport))) != 0;
    wants_distinct_ = (wanted & (one(kLift) | (call().query.measure ? one(kScore) : 0))) != 0;
  }

 private:
  /// Over sets that are rows by now. @param list  by their ids
  void count_set_rows(const RowLog& list) {
    CountPairsCall& call = this->call();
    call.numbers.emplace(call.meter);
    call.sets->append_numbers(list.chunks(), *call.numbers);
    call.set_rows = call.sets->take_rows();
    const bool supports = call.query.supports || wants_total_ || wants_distinct_;
    const RowPartitions* const files = call.set_rows->partitions();
    if (files != nullptr)
      call.run.emplace(std::make_unique<ListedAnswers>(call.list->chunks(), call.numbers->chunks(), *files, supports,
                                                       call.query.device, call.options));
    else
      call.run.emplace(std::make_unique<ListedAnswers>(call.list->chunks(), call.numbers->chunks(), call.set_rows->chunks(),
                                                       supports, call.query.device, call.options));
  }

  bool wants_total_ = true;
  bool wants_distinct_ = true;  // a measure needs the total
};

void read_arguments(const Arguments& arguments, PairQuery& query) {
  const char* const measure = arguments.string(kMeasure, nullptr);
  guarded([&] {
    if (measure != nullptr) query.measure = parse_pair_measure(measure, MeasureUse::kValue);
    query.device = selected_devices();
  });
}

/// Reads the list. @return the values of its items; nullptr: they are integers
Dictionary* read_list(const InnerQuery& query, Oid item_type, bool by_bytes, Oid& collation, CountPairsCall& call,
                      MemoryContext context) {
  guarded([&] { call.list.emplace(call.meter); });
  PairListInput input{.log = &*call.list,
                      .progress = &call.progress,
                      .item_type = item_type,
                      .values = "items",
                      .columns = kPairColumnNames,
                      .keeps_order = true,
                      .by_bytes = by_bytes};
  read_pair_list(query, input, call.meter, context);
  collation = input.collation;
  return input.items;
}

/// The list by the ranks of its items among those of a relation or of sets; -1 for an item that is not there.
void rank_list(const Dictionary& items, Dictionary& listed, CountPairsCall& call, MemoryContext context);

/// The steps of a call over sets.
RowStream* count_in_sets(const TableInput& input, CountPairsStream* stream) {
  CountPairsCall& call = stream->call();
  Oid collation;
  Dictionary* const listed = read_list(query_argument(input.fcinfo, input.index + 1, input.index + 2, kPairsOfQuery),
                                       input.item_type, false, collation, call, input.context);
  guarded([&] { call.sets.emplace(call.options, true, selected_set_kernel()); });
  const SetRows rows = collect_sets(input, call.meter, *call.sets);
  bool is_repeated = false;
  int64_t repeated = 0;
  guarded([&] {
    if (const std::optional<int64_t> id = call.sets->repeated_id()) is_repeated = true, repeated = *id;
  });
  if (is_repeated) {
    Oid output;
    bool is_varlena;
    getTypeOutputInfo(rows.ids != nullptr ? input.item_type : INT8OID, &output, &is_varlena);
    ereport(
        ERROR,
        (errcode(ERRCODE_CARDINALITY_VIOLATION),
         errmsg(rows.ids != nullptr ? "more than one set has the id \"%s\"" : "more than one set has the id %s",
                OidOutputFunctionCall(output, rows.ids != nullptr ? rows.ids->values[repeated] : Int64GetDatum(repeated))),
         errhint("An id names one set here: combine the sets of an id with batmap_or_agg.")));
  }
  if (rows.ids != nullptr && listed != nullptr) rank_list(*rows.ids, *listed, call, input.context);
  return stream->run_sets(listed);
}

/// The steps of a call over a query.
/// @param first  the index of the query; that of the pairs follows, then the other arguments
RowStream* count_in_query(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int first, Oid item_type,
                          const WantedRows& wanted) {
  auto* const stream = new_stream<CountPairsStream>(operation, context);
  CountPairsCall& call = stream->call();
  query_input(fcinfo, context, operation, first, kQuery);
  query_input(fcinfo, context, operation, first + 1, kPairsOfQuery);
  read_arguments({fcinfo, first + 2}, call.query);
  stream->want_columns(wanted);
  TableInput sets = query_input(fcinfo, context, operation, first, kQuery, item_type);
  sets.after_input = first + 2;
  if (has_set_rows(sets)) return count_in_sets(sets, stream);
  guarded([&] { call.rows.emplace(call.options); });
  QueryInput input{&*call.rows, &call.progress, item_type, nullptr, nullptr, 0, false, false};
  const InnerQuery query = query_argument(fcinfo, first, first + 2, kQuery);
  check_query(query, input, context);
  Oid collation;
  input.items =
      read_list(query_argument(fcinfo, first + 1, first + 2, kPairsOfQuery), item_type, false, collation, call, context);
  input.items_collation = collation;
  read_query(query, input, call.meter, context);
  return stream->run(query_rows(input), input.items);
}

void rank_list(const Dictionary& items, Dictionary& listed, CountPairsCall& call, MemoryContext context) {
  const size_t bytes = Max(listed.count, 1) * sizeof(int64_t);
  guarded([&] {
    call.meter.charge(bytes);
    call.ranks.emplace(call.meter);
  });
  auto* const ranks = static_cast<int64_t*>(MemoryContextAllocHuge(context, bytes));
  std::fill_n(ranks, listed.count, int64_t{-1});
  for (uint32_t rank = 0; rank < items.count; ++rank) {
    if (rank % 4096 == 0) CHECK_FOR_INTERRUPTS();
    uint32_t id;
    if (dictionary_find(listed, items.values[rank], id)) ranks[id] = rank;
  }
  guarded([&] {
    TidItem rows[kChunkRows];
    for (const ChunkView& chunk : call.list->chunks()) {
      call.options.cancel.throw_if_requested();
      decode_chunk(chunk, rows);
      for (uint32_t k = 0; k < chunk.rows; ++k)
        call.ranks->append(ranks[static_cast<size_t>(rows[k].tid)], ranks[static_cast<size_t>(rows[k].item)]);
    }
    call.ranks->seal();
  });
}

/// The same over a relation.
RowStream* count_in_relation(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, int first, Oid item_type,
                             const WantedRows& wanted) {
  auto* const stream = new_stream<CountPairsStream>(operation, context);
  CountPairsCall& call = stream->call();
  query_input(fcinfo, context, operation, first + 1, kPairsOfRelation);
  read_arguments({fcinfo, first + 2}, call.query);
  stream->want_columns(wanted);
  Oid collation;
  Dictionary* const listed =
      read_list(query_argument(fcinfo, first + 1, first + 2, kPairsOfRelation), item_type, true, collation, call, context);
  if (PG_ARGISNULL(first)) {  // batmap_relation_agg over no rows gives NULL
    guarded([&] { call.rows.emplace(call.meter); });
    return stream->run({"relation", 0, &*call.rows, nullptr, nullptr, nullptr, {}}, listed);
  }
  const InputRows rows = relation_rows(fcinfo, first, context, operation, item_type, call.meter);
  if (listed != nullptr) rank_list(*rows.items, *listed, call, context);
  return stream->run(rows, listed);
}

/// An answer for each row of the list.
void expect_listed(const PlannedCall& call, int list, CallEstimate& estimate) {
  estimate.rows = call.inputs[list].rows;
  estimate.has_rows = true;
  estimate.cost += estimate.rows * kListedPairOperators * cpu_operator_cost;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_count_pairs_query) {
  return count_in_query(fcinfo, context, "batmap_count_pairs", 0, InvalidOid, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_count_pairs_text_query) {
  return count_in_query(fcinfo, context, "batmap_count_pairs_of", 0, TEXTOID, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_count_pairs_as_query) {
  return count_in_query(fcinfo, context, "batmap_count_pairs_as", 1, item_type_argument(fcinfo), wanted);
}

BATMAP_TABLE_FUNCTION(batmap_count_pairs_relation) {
  return count_in_relation(fcinfo, context, "batmap_count_pairs", 0, InvalidOid, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_count_pairs_text_relation) {
  return count_in_relation(fcinfo, context, "batmap_count_pairs_of", 0, TEXTOID, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_count_pairs_as_relation) {
  return count_in_relation(fcinfo, context, "batmap_count_pairs_as", 1, item_type_argument(fcinfo), wanted);
}

BATMAP_FUNCTION(batmap_count_pairs_support) {
  static const SupportedCall kOfQuery{
      2,
      2,
      SupportedCall::kNone,
      SupportedCall::kNone,
      kQuery,
      false,
      [](const PlannedCall& call, CallEstimate& estimate) { expect_listed(call, 1, estimate); },
      false};
  static const SupportedCall kOfRelation{
      2,
      1,
      SupportedCall::kNone,
      SupportedCall::kNone,
      kPairsOfRelation,
      false,
      [](const PlannedCall& call, CallEstimate& estimate) { expect_listed(call, 0, estimate); },
      false};
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(support_call(request, first_input_is_text(request) ? kOfQuery : kOfRelation));
}
