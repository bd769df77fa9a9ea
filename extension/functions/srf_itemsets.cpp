// Table functions batmap_itemsets, also over stored counts, batmap_itemsets_of and batmap_itemset_spectrum: arguments,
// input, and rows of the answer.
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "extension/server/device_use.h"
#include "extension/streams/array_stream.h"
#include "extension/streams/planner_support.h"
#include "extension/streams/table_input.h"
#include "extension/types/itemset_counts_datum.h"
#include "itemsets/answers/ascending_itemset.h"
#include "itemsets/itemset_parts.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// Positions of the arguments after the input. The input is one argument, or two in the _of form. A spectrum
// has only those before kTopK.
enum Argument {
  kMinCount,
  kMinSupport,
  kMaxSupport,
  kMinLength,
  kMaxLength,
  kTarget,
  kInclude,
  kExclude,
  kTopK,
  kMaxResults,
  kTimeout,
  kAlgorithm,
  kDevice,
  kTidColumn,
  kItemColumn,
  kParams
};

constexpr QueryArguments kQuery{kParams, true};
constexpr QueryArguments kSpectrumQuery{kExclude + 3, true};

/// The engine's side of one call.
struct SearchCall : ArrayCall<ItemsetQuery, ItemsetRun> {
  explicit SearchCall(MemoryContext) : ArrayCall(thread_count()) {
    query.kernel = &select_mask_kernel(settings.cpu_kernel);
    query.bits = selected_kernels().bits;
  }
};

struct ItemsetCall : SearchCall {
  explicit ItemsetCall(MemoryContext context) : SearchCall(context) { use_files(context); }

  std::array<ItemList, 2> lists{{{kInclude, "include", query.include, true}, {kExclude, "exclude", query.exclude}}};
  std::optional<ItemsetStream> stream;                 // made for the first row; must be destroyed before the run
  std::optional<GrowingBuffer<SpectrumRow>> spectrum;  // used instead of a stream
  std::vector<ItemsetStep> batch;
  size_t handed_over = 0;                    // rows of the current batch
  std::array<uint64_t, kMaxLevels> found{};  // number of itemsets of length 1, 2, ...
  std::optional<AscendingItemset> itemset;   // the itemset of the last step
};

/// Shared by itemsets and their spectrum: the arguments and the record.
class ItemsetArrayStream : public ArrayStream<ItemsetCall> {
 public:
  using ArrayStream::ArrayStream;

  /// Reads and checks the arguments after the input.
  const ItemsetQuery& read_arguments(const TableInput& input) { return read_arguments(input.arguments(), input.item_type); }
  const ItemsetQuery& read_arguments(const Arguments& arguments, Oid item_type) {
    ItemsetQuery& query = call().query;
    read_lists(call().lists, arguments, item_type);
    query.min_support = arguments.min_support(kMinSupport);
    query.min_count = arguments.min_count(kMinCount);
    query.min_length = arguments.int4(kMinLength);
    query.max_length = arguments.int4(kMaxLength);
    query.max_support = arguments.float8(kMaxSupport);
    query.top_k = arguments.int8(kTopK);
    query.max_results = arguments.int8(kMaxResults);
    query.timeout_ms = arguments.milliseconds(kTimeout);
    const char* const target = arguments.string(kTarget, "all");
    const char* const algorithm = arguments.string(kAlgorithm, "auto");
    const char* const device = arguments.string(kDevice, nullptr);
    guarded([&] {
      query.device = device != nullptr ? selected_devices(device) : selected_devices();
      query.target = parse_itemset_target(target);
      query.algorithm = parse_itemset_algorithm(algorithm);
      query.check();
    });
    return query;
  }

 protected:
  void fill(RunRecord& record) const override {
    record = call().stream ? call().stream->record() : call().run->record();
    record.results = results_;
    if (!record.levels.empty()) return;
    for (const uint64_t itemsets : call().found) record.levels.push_back({{}, itemsets, {}});
    while (!record.levels.empty() && record.levels.back().frequent == 0) record.levels.pop_back();
  }

  void note(uint32_t length, uint64_t itemsets) {
    if (length <= kMaxLevels) call().found[length - 1] += itemsets;
  }

  uint64_t results_ = 0;
};

/// The itemsets.
class ItemsetRowStream final : public ItemsetArrayStream {
 public:
  using ItemsetArrayStream::ItemsetArrayStream;

  bool next(Datum* values) override {
    for (;;) {
      if (call().handed_over == call().batch.size() && !next_batch()) return false;
      const ItemsetStep& step = call().batch[call().handed_over++];
      call().itemset->step(step.length, call().run->value(step.item));
      if (step.support == 0) continue;
      ++results_;
      note(step.length, 1);
      put(step, values);
      return true;
    }
  }

 private:
  void put(const ItemsetStep& step, Datum* values) {
    values[0] = array(0).make(call().itemset->items());
    const uint64_t total = call().run->transactions();
    values[1] = Int32GetDatum(static_cast<int32_t>(step.length));
    values[2] = Int64GetDatum(step.support);
    values[3] = Float8GetDatum(static_cast<double>(step.support) / static_cast<double>(total));
    values[4] = Int64GetDatum(static_cast<int64_t>(total));
  }

  bool next_batch() {
    call().handed_over = 0;
    const bool more = count([&] {
      if (!call().stream) {
        call().itemset.emplace(call().meter, call().run->ranks());
        call().stream.emplace(*call().run, call().options);
      }
      return call().stream->next(call().batch);
    });
    const ItemsetStream& stream = *call().stream;
    look_at_site();
    call().progress.tasks(stream.tasks_done(), stream.tasks(), stream.results());
    if (!more) end_answer(stream.truncation());
    return more;
  }
};

/// The number of itemsets of each length and support.
class SpectrumStream final : public ItemsetArrayStream {
 public:
  using ItemsetArrayStream::ItemsetArrayStream;

  const ItemsetQuery& read_arguments(const TableInput& input) {
    ItemsetArrayStream::read_arguments(input);
    // The CPU counts the subsets of perfect extensions without listing them; a GPU lists them all.
    if (call().query.device.mode == DeviceMode::kAuto) call().query.device = {};
    return call().query;
  }

  RowStream* run(const ItemsetQuery& query, const InputRows& rows) {
    ItemsetArrayStream::run(query, rows);
    count([&] {
      call().spectrum.emplace(call().run->spectrum());
      return true;
    });
    look_at_site();
    return this;
  }

  bool next(Datum* values) override {
    const GrowingBuffer<SpectrumRow>& rows = *call().spectrum;
    if (results_ == rows.size()) return false;
    const SpectrumRow& row = rows[results_++];
    note(row.length, row.itemsets);
    values[0] = Int32GetDatum(static_cast<int32_t>(row.length));
    values[1] = Int64GetDatum(row.support);
    values[2] = Float8GetDatum(static_cast<double>(row.support) / static_cast<double>(call().run->transactions()));
    values[3] = Int64GetDatum(static_cast<int64_t>(row.itemsets));
    return true;
  }
};

/// The engine's side of an estimate, whose arguments have other indexes.
struct EstimateCall : SearchCall {
  explicit EstimateCall(MemoryContext context) : SearchCall(context) { use_files(context); }

  enum Argument { kMinCount, kMinSupport, kMaxSupport, kMinLength, kMaxLength, kInclude, kExclude, kTimeout };
  static constexpr QueryArguments kQuery{kTimeout + 3, true};

  std::array<ItemList, 2> lists{{{kInclude, "include", query.include, true}, {kExclude, "exclude", query.exclude}}};
  std::optional<ItemsetForecast> forecast;
  RunRecord of_parts;  // of a forecast of rows in files, which has no run
};

/// An estimate of the number of itemsets: one row.
class EstimateStream final : public ArrayStream<EstimateCall> {
 public:
  using ArrayStream::ArrayStream;

  const ItemsetQuery& read_arguments(const TableInput& input) {
    const Arguments arguments = input.arguments();
    ItemsetQuery& query = call().query;
    read_lists(call().lists, arguments, input.item_type);
    query.min_support = arguments.min_support(Call::kMinSupport);
    query.min_count = arguments.min_count(Call::kMinCount);
    query.min_length = arguments.int4(Call::kMinLength);
    query.max_length = arguments.int4(Call::kMaxLength);
    query.max_support = arguments.float8(Call::kMaxSupport);
    query.timeout_ms = arguments.milliseconds(Call::kTimeout).value_or(1000);
    guarded([&] { query.check(); });
    return query;
  }

  RowStream* run(const ItemsetQuery& query, const InputRows& rows) {
    const RowPartitions* const files = rows.log != nullptr ? rows.log->partitions() : nullptr;
    if (files == nullptr) return ArrayStream::run(query, rows);
    begin(rows.kind, rows.count, [&] {
      call().forecast = forecast_of_parts(*files, rows.ranks, query, milliseconds(), call().options, call().of_parts);
      call().log.reset();
    });
    call().files->close_all();
    return this;
  }

  bool next(Datum* values) override {
    if (done_) return false;
    done_ = true;
    count([&] {
      if (!call().forecast) call().forecast = call().run->forecast(milliseconds());
      call().record = call().run ? call().run->record() : call().of_parts;
      return true;
    });
    const ItemsetForecast& forecast = *call().forecast;
    const RunRecord& record = call().record;
    int column = 0;
    values[column++] = Float8GetDatum(forecast.itemsets);
    values[column++] = Float8GetDatum(forecast.standard_error);
    values[column++] = BoolGetDatum(forecast.is_exact());
    for (const uint64_t number : {record.transactions, record.items, record.items_kept, record.occurrences})
      values[column++] = Int64GetDatum(static_cast<int64_t>(number));
    return true;
  }

 private:
  double milliseconds() const { return static_cast<double>(*call().query.timeout_ms); }

  void fill(RunRecord& record) const override {
    record = call().run ? call().run->record() : call().of_parts;
    const uint64_t ways = call().forecast ? call().forecast->ways : 0;
    if (ways > 0) record.method = "random ways";
    const std::string files = call().run ? "" : "; " + record.reason;
    record.reason = std::to_string(ways) + " ways, threshold " +
                    std::to_string(call().query.min_count_among(record.transactions)) + files;
    record.results = done_;
  }

  bool done_ = false;
};

/// The steps of a call.
template <typename Stream>
RowStream* find_itemsets(const TableInput& input) {
  auto* const stream = new_stream<Stream>(input.operation, input.context);
  const ItemsetQuery& query = stream->read_arguments(input);
  const std::optional<InputRows> rows = read_rows(input, stream->call(), stream->call().log, stream->call().lists);
  return rows ? stream->run(query, *rows) : nullptr;
}

/// The same over the counts in argument 0.
RowStream* find_stored_itemsets(FunctionCallInfo fcinfo, MemoryContext context) {
  auto* const stream = new_stream<ItemsetRowStream>("batmap_itemsets", context);
  const ItemsetQuery& query = stream->read_arguments({fcinfo, 1, kAlgorithm}, InvalidOid);
  if (PG_ARGISNULL(0)) return nullptr;  // an aggregate over no rows gives NULL
  const std::byte* const counts = value_bytes(itemset_counts_argument(fcinfo, 0));
  return stream->run_counts(query, counts, itemset_counts_header(counts).itemsets);
}

/// For the planner, which takes all itemsets to be closed, and so on: the other targets have at most as many.
void expect_itemset_rows(const PlannedCall& call, CallEstimate& estimate) {
  const double min_count = call.min_count(kMinCount, kMinSupport);
  const auto min_length = static_cast<int>(Max(1, call.number(kMinLength, 1)));
  const auto max_length = static_cast<int>(call.number(kMaxLength, LengthCounts::kMaxLength));
  const double most = min_length > 1 ? HUGE_VAL : Max(1, call.number(kMaxResults, HUGE_VAL));
  const LengthCounts itemsets = call.itemsets(min_count, max_length, most, estimate);
  estimate.rows = itemsets.between(min_length, max_length) * call.share_with(kInclude, itemsets.of[1], min_length);
  estimate.has_rows = true;
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_itemsets_query) {
  return find_itemsets<ItemsetRowStream>(query_input(fcinfo, context, "batmap_itemsets", 0, kQuery));
}

BATMAP_TABLE_FUNCTION(batmap_itemsets_text_query) {
  return find_itemsets<ItemsetRowStream>(query_input(fcinfo, context, "batmap_itemsets_of", 0, kQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemsets_as_query) {
  return find_itemsets<ItemsetRowStream>(
      query_input(fcinfo, context, "batmap_itemsets_as", 1, kQuery, item_type_argument(fcinfo)));
}

BATMAP_TABLE_FUNCTION(batmap_itemsets_relation) {
  return find_itemsets<ItemsetRowStream>(relation_input(fcinfo, context, "batmap_itemsets", 0));
}

BATMAP_TABLE_FUNCTION(batmap_itemsets_text_relation) {
  return find_itemsets<ItemsetRowStream>(relation_input(fcinfo, context, "batmap_itemsets_of", 0, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemsets_as_relation) {
  return find_itemsets<ItemsetRowStream>(
      relation_input(fcinfo, context, "batmap_itemsets_as", 1, item_type_argument(fcinfo)));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_query) {
  return find_itemsets<SpectrumStream>(query_input(fcinfo, context, "batmap_itemset_spectrum", 0, kSpectrumQuery));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_text_query) {
  return find_itemsets<SpectrumStream>(
      query_input(fcinfo, context, "batmap_itemset_spectrum_of", 0, kSpectrumQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_as_query) {
  return find_itemsets<SpectrumStream>(
      query_input(fcinfo, context, "batmap_itemset_spectrum_as", 1, kSpectrumQuery, item_type_argument(fcinfo)));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_relation) {
  return find_itemsets<SpectrumStream>(relation_input(fcinfo, context, "batmap_itemset_spectrum", 0));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_text_relation) {
  return find_itemsets<SpectrumStream>(relation_input(fcinfo, context, "batmap_itemset_spectrum_of", 0, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_as_relation) {
  return find_itemsets<SpectrumStream>(
      relation_input(fcinfo, context, "batmap_itemset_spectrum_as", 1, item_type_argument(fcinfo)));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_estimate_query) {
  return find_itemsets<EstimateStream>(query_input(fcinfo, context, "batmap_itemset_estimate", 0, EstimateCall::kQuery));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_estimate_text_query) {
  return find_itemsets<EstimateStream>(
      query_input(fcinfo, context, "batmap_itemset_estimate_of", 0, EstimateCall::kQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_estimate_as_query) {
  return find_itemsets<EstimateStream>(
      query_input(fcinfo, context, "batmap_itemset_estimate_as", 1, EstimateCall::kQuery, item_type_argument(fcinfo)));
}

// The same queries and tables. Where the names of two columns stand behind them, min_count is a float8: else the server would take
// a bare number there for the max_support of another form. The SQL objects of version 0.1.0 have an int8 there, and call the
// functions above.
BATMAP_TABLE_FUNCTION(batmap_itemsets_columns) {
  return find_itemsets<ItemsetRowStream>(query_input(fcinfo, context, "batmap_itemsets", 0, kQuery));
}

BATMAP_TABLE_FUNCTION(batmap_itemsets_text_columns) {
  return find_itemsets<ItemsetRowStream>(query_input(fcinfo, context, "batmap_itemsets_of", 0, kQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_columns) {
  return find_itemsets<SpectrumStream>(query_input(fcinfo, context, "batmap_itemset_spectrum", 0, kSpectrumQuery));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_spectrum_text_columns) {
  return find_itemsets<SpectrumStream>(
      query_input(fcinfo, context, "batmap_itemset_spectrum_of", 0, kSpectrumQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_estimate_columns) {
  return find_itemsets<EstimateStream>(query_input(fcinfo, context, "batmap_itemset_estimate", 0, EstimateCall::kQuery));
}

BATMAP_TABLE_FUNCTION(batmap_itemset_estimate_text_columns) {
  return find_itemsets<EstimateStream>(
      query_input(fcinfo, context, "batmap_itemset_estimate_of", 0, EstimateCall::kQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_itemsets_counts) { return find_stored_itemsets(fcinfo, context); }

BATMAP_FUNCTION(batmap_itemsets_counts_support) {
  static const SupportedCall kCall{1, 0, kTopK, kMaxResults};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

BATMAP_FUNCTION(batmap_itemsets_support) {
  static const SupportedCall kCall{1, 1, kTopK, kMaxResults, kQuery, false, expect_itemset_rows};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
