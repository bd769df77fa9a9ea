// Table function batmap_window_pairs with its _of forms: arguments, input, and rows of the answers.
#include <array>
#include <optional>
#include <utility>

#include "episodes/window_pairs.h"
#include "extension/input/event_source.h"
#include "extension/input/gap_list.h"
#include "extension/input/item_lists.h"
#include "extension/server/server_files.h"
#include "extension/streams/planner_support.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The engine's side of one call.
struct WindowPairCall : RunCall {
  explicit WindowPairCall(MemoryContext context) : RunCall(thread_count()), files(context) {
    options.files = &files;
    options.work_bytes = run_work_bytes();
  }

  ServerFiles files;
  std::optional<EventLog> log;
  WindowPairQuery query;
  std::optional<WindowPairRun> run;
};

// Positions of the arguments after the query.
enum Argument { kWithin, kMinCount, kMinSupport, kInclude, kExclude, kTopK, kMaxResults, kTimeout, kCounting, kParams };

constexpr QueryArguments kQuery{kParams};

class WindowPairStream final : public RunStream<WindowPairCall> {
 public:
  using RunStream::RunStream;

  const WindowPairQuery& read_arguments(const TableInput& input) {
    const Arguments arguments = input.arguments();
    WindowPairQuery& query = call().query;
    if (!arguments.has(kWithin))
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("within must not be NULL"),
                      errhint("Give the largest distance of two times.")));
    read_lists(lists_, arguments, input.item_type);
    const Oid type = get_fn_expr_argtype(input.fcinfo->flinfo, arguments.first + kWithin);
    kind_ = time_kind(type, "within must be an integer, a number or an interval");
    query.ticks_a_unit = ticks_a_unit(kind_);
    query.window = gap_bound(kind_, type, arguments.datum(kWithin), "within");
    if (query.window < 0)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("within must be at least 0, not %s", distance_text(type, arguments.datum(kWithin)))));
    query.min_count = arguments.int8(kMinCount);
    query.min_support = arguments.min_support(kMinSupport);
    query.top_k = arguments.int8(kTopK);
    query.max_results = arguments.int8(kMaxResults);
    query.timeout_ms = arguments.milliseconds(kTimeout);
    const char* const counting = arguments.string(kCounting, "streams");
    guarded([&] {
      query.counting = parse_window_counting(counting);
      query.check();
    });
    return query;
  }

  const EventInput& read_rows(const TableInput& input) {
    input_.log = &call().log;
    input_.options = &call().options;
    input_.progress = &call().progress;
    input_.time = kind_;
    input_.distances = "a window";
    input_.event_type = input.item_type;
    input_.needs_streams = call().query.counting == WindowCounting::kStreams;
    input_.other_counting = "occurrences";
    read_events(input.query(), input_, context());
    if (OidIsValid(input.item_type)) {
      QueryInput items{};
      items.items = input_.events;
      items.item_rank = input_.event_rank;
      rank_lists(lists_, input.arguments(), items);
    }
    return input_;
  }

  /// Groups the events. After that, answers can be pulled.
  RowStream* run(const WindowPairQuery& query, const EventInput& rows) {
    begin("stream", call().log->rows(), [&] {
      call().run.emplace(std::move(*call().log), rows.ranks(), query, call().options);
      call().log.reset();
    });
    look_at_events(*call().run);
    return this;
  }

  void finish() override {
    RunStream::finish();
    call().files.close_all();
  }

  bool next(Datum* values) override {
    if (at_ == pairs_ && !next_block()) {
      end_answer(call().run->record().truncation);
      return false;
    }
    const WindowPair& pair = block_[at_++];
    ++results_;
    values[0] = item(pair.a);
    values[1] = item(pair.b);
    values[2] = Int64GetDatum(static_cast<int64_t>(pair.support));
    return true;
  }

 private:
  Datum item(uint32_t symbol) const {
    const int64_t value = call().run->item(symbol);
    return input_.events == nullptr ? Int64GetDatum(value) : input_.events->values[value];
  }

  bool next_block() {
    at_ = 0;
    const bool more = count([&] {
      for (pairs_ = 0; pairs_ < block_.size(); ++pairs_) {
        const std::optional<WindowPair> pair = call().run->next();
        if (!pair) break;
        block_[pairs_] = *pair;
      }
      return pairs_ > 0;
    });
    const RunRecord& record = call().run->record();
    call().progress.tasks(record.tasks_done, record.tasks, results_);
    return more;
  }

  void fill(RunRecord& record) const override {
    if (call().run) record = call().run->record();
    record.results = results_;
  }

  std::array<ItemList, 2> lists_{
      {{kInclude, "include", call().query.include, true}, {kExclude, "exclude", call().query.exclude}}};
  TimeKind kind_ = TimeKind::kInteger;
  EventInput input_{};
  std::array<WindowPair, 256> block_;
  size_t at_ = 0;
  size_t pairs_ = 0;  // in the block
  uint64_t results_ = 0;
};

/// The steps of a call.
RowStream* find_window_pairs(const TableInput& input) {
  auto* const stream = new_stream<WindowPairStream>(input.operation, input.context);
  const WindowPairQuery& query = stream->read_arguments(input);
  const EventInput& rows = stream->read_rows(input);
  return stream->run(query, rows);
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_window_pairs_query) {
  return find_window_pairs(query_input(fcinfo, context, "batmap_window_pairs", 0, kQuery));
}

BATMAP_TABLE_FUNCTION(batmap_window_pairs_text_query) {
  return find_window_pairs(query_input(fcinfo, context, "batmap_window_pairs_of", 0, kQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_window_pairs_as_query) {
  return find_window_pairs(query_input(fcinfo, context, "batmap_window_pairs_as", 1, kQuery, item_type_argument(fcinfo)));
}

BATMAP_FUNCTION(batmap_window_pairs_support) {
  static const SupportedCall kCall{1, 1, kTopK, kMaxResults, kQuery};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
