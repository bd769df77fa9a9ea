// Table functions batmap_itemsets, batmap_itemsets_of and batmap_itemset_spectrum: arguments, input, and rows
// of the answer.
#include "extension/functions/srf_itemsets.h"

#include <array>
#include <string>

#include "extension/functions/array_stream.h"
#include "extension/functions/relation_stream.h"
#include "extension/server/device_use.h"
#include "itemsets/answers/ascending_itemset.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_stream.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct ItemsetCall : ArrayCall<ItemsetQuery, ItemsetRun> {
  explicit ItemsetCall(MemoryContext) : ArrayCall(thread_count()) {
    query.kernel = &select_mask_kernel(settings.cpu_kernel);
    query.bits = selected_kernels().bits;
  }

  std::optional<ItemsetStream> stream;                 // must be destroyed before the run
  std::optional<GrowingBuffer<SpectrumRow>> spectrum;  // used instead of a stream
  std::vector<ItemsetStep> batch;
  size_t handed_over = 0;                     // rows of the current batch
  std::array<uint64_t, kMostLevels> found{};  // number of itemsets of length 1, 2, ...
  std::optional<AscendingItemset> itemset;    // the itemset of the last step
};

// Positions of the arguments after the input. The input is one argument, or two in the _of form. A spectrum
// has only those before kTopK.
enum Argument {
  kMinSupport,
  kMinCount,
  kMinLength,
  kMaxLength,
  kTarget,
  kInclude,
  kExclude,
  kMaxSupport,
  kTopK,
  kMaxResults,
  kTimeout,
  kAlgorithm,
  kDevice,
  kArguments
};

/// Shared by itemsets and their spectrum: the arguments and the record.
class ItemsetArrayStream : public ArrayStream<ItemsetCall> {
 public:
  using ArrayStream::ArrayStream;

  static std::array<ItemList, 2> lists(ItemsetQuery& query) {
    return {{{kInclude, "include", query.include}, {kExclude, "exclude", query.exclude}}};
  }

  static void read_arguments(const Arguments& arguments, ItemsetQuery& query) {
    query.min_support = arguments.float8(kMinSupport);
    query.min_count = arguments.int8(kMinCount);
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
    if (length <= kMostLevels) call().found[length - 1] += itemsets;
  }

  uint64_t results_ = 0;
};

/// The itemsets.
class ItemsetRowStream final : public ItemsetArrayStream {
 public:
  using ItemsetArrayStream::ItemsetArrayStream;

  template <typename Rows>
  void start(const char* kind, const QueryInput& input, Rows rows) {
    ItemsetArrayStream::start(kind, input, rows);
    guarded([&] {
      call().itemset.emplace(call().meter, call().run->ranks());
      call().stream.emplace(*call().run, call().options);
    });
  }

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
    ItemsetStream& stream = *call().stream;
    const bool more = count([&] { return stream.next(call().batch); });
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

  template <typename Rows>
  void start(const char* kind, const QueryInput& input, Rows rows) {
    // The CPU counts the subsets of perfect extensions without listing them; a GPU lists them all.
    if (call().query.device.mode == DeviceMode::kAuto) call().query.device = {};
    ItemsetArrayStream::start(kind, input, rows);
    count([&] {
      call().spectrum.emplace(call().run->spectrum());
      return true;
    });
    look_at_site();
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

/// An estimate of the number of itemsets: one row.
class EstimateStream final : public ArrayStream<ItemsetCall> {
 public:
  using ArrayStream::ArrayStream;

  enum EstimateArgument { kLeastSupport, kLeastCount, kLeast, kMost, kWith, kWithout, kMostSupport, kTime };

  static std::array<ItemList, 2> lists(ItemsetQuery& query) {
    return {{{kWith, "include", query.include}, {kWithout, "exclude", query.exclude}}};
  }

  static void read_arguments(const Arguments& arguments, ItemsetQuery& query) {
    query.min_support = arguments.float8(kLeastSupport);
    query.min_count = arguments.int8(kLeastCount);
    query.min_length = arguments.int4(kLeast);
    query.max_length = arguments.int4(kMost);
    query.max_support = arguments.float8(kMostSupport);
    query.timeout_ms = arguments.milliseconds(kTime).value_or(1000);
    guarded([&] { query.check(); });
  }

  bool next(Datum* values) override {
    if (done_) return false;
    done_ = true;
    ItemsetForecast forecast;
    count([&] {
      forecast = call().run->forecast(static_cast<double>(*call().query.timeout_ms));
      call().record = call().run->record();
      return true;
    });
    ways_ = forecast.ways;
    const RunRecord& record = call().record;
    int column = 0;
    values[column++] = Float8GetDatum(forecast.itemsets);
    values[column++] = Float8GetDatum(forecast.standard_error);
    values[column++] = BoolGetDatum(forecast.ways == 0);
    for (const uint64_t number : {record.transactions, record.items, record.items_kept, record.occurrences})
      values[column++] = Int64GetDatum(static_cast<int64_t>(number));
    return true;
  }

 private:
  void fill(RunRecord& record) const override {
    ArrayStream::fill(record);
    if (ways_ > 0) record.method = "random ways";
    record.reason =
        std::to_string(ways_) + " ways, threshold " + std::to_string(call().query.min_count_among(record.transactions));
    record.results = done_;
  }

  bool done_ = false;
  uint64_t ways_ = 0;
};

RowStream* open_estimate_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query<EstimateStream>(fcinfo, context, "batmap_itemset_estimate", 0);
}

RowStream* open_spectrum_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query<SpectrumStream>(fcinfo, context, "batmap_itemset_spectrum", 0);
}

RowStream* open_spectrum_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query<SpectrumStream>(fcinfo, context, "batmap_itemset_spectrum_of", 1, item_type_argument(fcinfo));
}

RowStream* open_spectrum_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_relation<SpectrumStream>(fcinfo, context, "batmap_itemset_spectrum", 0);
}

}  // namespace

namespace batmap::pg {

RowStream* open_itemsets_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query<ItemsetRowStream>(fcinfo, context, "batmap_itemsets", 0);
}

RowStream* open_itemsets_of_query(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_query<ItemsetRowStream>(fcinfo, context, "batmap_itemsets_of", 1, item_type_argument(fcinfo));
}

RowStream* open_itemsets_relation(FunctionCallInfo fcinfo, MemoryContext context) {
  return open_relation<ItemsetRowStream>(fcinfo, context, "batmap_itemsets", 0);
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_itemsets_query) {
  materialize(fcinfo, open_itemsets_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemsets_of_query) {
  materialize(fcinfo, open_itemsets_of_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemsets_relation) {
  materialize(fcinfo, open_itemsets_relation);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemset_spectrum_query) {
  materialize(fcinfo, open_spectrum_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemset_spectrum_of_query) {
  materialize(fcinfo, open_spectrum_of_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemset_spectrum_relation) {
  materialize(fcinfo, open_spectrum_relation);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemset_estimate) {
  materialize(fcinfo, open_estimate_query);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_itemsets_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kTopK, kArguments - kMaxResults));
}
