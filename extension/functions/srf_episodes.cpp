// Table functions batmap_episodes, also over stored counts, batmap_distributed_episodes, batmap_episode_count and
// batmap_episode_occurrences, with their _of forms: arguments, input, and rows of the answers.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "extension/functions/parts/distributed_counts.h"
#include "extension/input/item_lists.h"
#include "extension/server/device_use.h"
#include "extension/streams/episode_call.h"
#include "extension/streams/planner_support.h"
#include "extension/types/episode_counts_datum.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

// ---- frequent episodes

// Positions of the arguments after the query.
enum Argument {
  kGaps,
  kMinCount,
  kMinRate,
  kMinLength,
  kMaxLength,
  kInclude,
  kExclude,
  kTopK,
  kMaxResults,
  kTimeout,
  kCounting,
  kSameTimeSteps,
  kAlgorithm,
  kDevice,
  kParams
};

constexpr QueryArguments kQuery{kParams};

// Columns of the answer.
enum Column { kEpisode, kStepNumbers, kGapLow, kGapHigh, kSupportCount };

class FrequentEpisodes final : public EpisodeRowStream {
 public:
  using EpisodeRowStream::EpisodeRowStream;

  const EpisodeQuery& read_arguments(const TableInput& input) { return read_arguments(input.arguments(), input.item_type); }

  /// @param stored  the header of counts, which have the rule of counting; nullptr: it is among the arguments
  const EpisodeQuery& read_arguments(const Arguments& arguments, Oid item_type,
                                     const EpisodeCountsHeader* stored = nullptr) {
    EpisodeQuery& query = call().query;
    arguments.require(kGaps, "gaps");
    read_lists(lists_, arguments, item_type);
    gaps_ = read_gaps(DatumGetArrayTypePCopy(arguments.datum(kGaps)));  // a copy, because answers are made of its elements
    append_gaps(gaps_, query.gaps);
    guarded([&] { keep_distinct(query.gaps, &gaps_); });
    query.min_count = arguments.int8(kMinCount);
    query.min_rate = arguments.float8(kMinRate);
    query.ticks_a_unit = ticks_a_unit(gaps_.kind);
    query.min_length = arguments.int4(kMinLength);
    query.max_length = arguments.int4(kMaxLength);
    query.top_k = arguments.int8(kTopK);
    query.max_results = arguments.int8(kMaxResults);
    query.timeout_ms = arguments.milliseconds(kTimeout);
    query.same_time = arguments.boolean(kSameTimeSteps).value_or(false);
    const char* const counting = arguments.string(kCounting, kEpisodeCountingNames[0]);
    const char* const algorithm = arguments.string(kAlgorithm, "auto");
    const char* const device = arguments.string(kDevice, nullptr);
    guarded([&] {
      query.counting = stored != nullptr ? stored->rule() : parse_episode_counting(counting);
      query.method = parse_episode_method(algorithm);
      query.device = device != nullptr ? selected_devices(device) : selected_devices();
      query.check();
    });
    return query;
  }

  /// Chooses the answers among stored counts. @param counts  a finished value, which lives as long as the call
  RowStream* run_counts(const EpisodeQuery& query, const std::byte* counts) {
    episode_.emplace(nullptr, context());
    begin("episode counts", episode_counts_header(counts).episodes, [&] {
      if (episode_counts_shape(counts).gaps != query.gaps ||
          episode_counts_header(counts).unit != static_cast<uint8_t>(gaps_.kind))
        throw Error(ErrorCode::kInvalidParameter, "the counts are of other gaps",
                    "Give the gaps with which they were counted, of the same type and in the same order.");
      call().stored.emplace(counts, query, call().options);
    });
    return this;
  }

  const EventInput& read_rows(const TableInput& input) {
    read(input, gaps_.kind, call().query.counting);
    if (OidIsValid(input.item_type)) {
      QueryInput events{};
      events.items = input_.events;
      events.item_rank = input_.event_rank;
      rank_lists(lists_, input.arguments(), events);
    }
    return input_;
  }

  void want(const WantedRows& wanted) { wanted_ = wanted.columns; }

  /// Groups the events. After that, answers can be pulled.
  RowStream* run(const EpisodeQuery& query, const EventInput& rows) {
    episode_.emplace(rows.events, context());
    start([&] { call().run.emplace(std::move(*call().log), rows.ranks(), query, call().options); });
    look_at_events(*call().run);
    return this;
  }

  bool next(Datum* values) override {
    if (!next_episode()) {
      end_answer(call().stored ? call().stored->record().truncation : call().run->record().truncation);
      return false;
    }
    ++results_;
    MemoryContextReset(row_);
    const MemoryContext caller = MemoryContextSwitchTo(row_);
    if (wants(kEpisode)) values[kEpisode] = episode_->make(call().events);
    if (wants(kStepNumbers)) values[kStepNumbers] = step_array();
    if (wants(kGapLow)) values[kGapLow] = gap_array(gaps_, call().gap_rows, 0);
    if (wants(kGapHigh)) values[kGapHigh] = gap_array(gaps_, call().gap_rows, 1);
    values[kSupportCount] = Int64GetDatum(static_cast<int64_t>(support_));
    MemoryContextSwitchTo(caller);
    return true;
  }

 private:
  bool next_episode() {
    if (call().stored) return next_of(*call().stored);
    EpisodeRun& run = *call().run;
    const size_t levels = run.record().levels.size();
    const bool more = next_of(run);
    tell(run.record().notice);
    const size_t done = run.record().levels.size();
    if (done != levels || !more) call().progress.tasks(done, done + 1, results_);
    return more;
  }

  template <typename Episodes>
  bool next_of(Episodes& episodes) {
    return count([&] {
      const std::optional<EpisodeRun::Row> row = episodes.next();
      if (!row) return false;
      call().events.clear();
      call().steps.clear();
      call().gap_rows.clear();
      int32_t step = 1;
      for (size_t k = 0; k < row->steps.size(); ++k) {
        call().events.push_back(episodes.event(row->steps[k]));
        if (const auto gap = static_cast<int32_t>(episodes.gap(row->steps[k])); k > 0 && gap < gaps_.rows) {
          call().gap_rows.push_back(gap);
          ++step;
        }
        call().steps.push_back(step);
      }
      support_ = row->support;
      return true;
    });
  }

  bool wants(Column column) const { return (wanted_ >> column & 1) != 0; }

  /// The number of the step of each event.
  Datum step_array() const {
    const std::vector<int32_t>& steps = call().steps;
    auto* const elements = static_cast<Datum*>(palloc(steps.size() * sizeof(Datum)));
    for (size_t k = 0; k < steps.size(); ++k) elements[k] = Int32GetDatum(steps[k]);
    return PointerGetDatum(
        construct_array(elements, static_cast<int>(steps.size()), INT4OID, sizeof(int32), true, TYPALIGN_INT));
  }

  ColumnSet wanted_ = kAllColumns;
  std::array<ItemList, 2> lists_{
      {{kInclude, "include", call().query.include, true}, {kExclude, "exclude", call().query.exclude}}};
  GapList gaps_{};
  std::optional<ItemArray> episode_;  // set once the events have been read
  uint64_t support_ = 0;
};

// ---- given episodes

constexpr QueryArguments kCountQuery{6};
constexpr QueryArguments kOccurrencesQuery{4};

/// Shared by counting and showing given episodes.
class GivenEpisodeStream : public EpisodeRowStream {
 public:
  using EpisodeRowStream::EpisodeRowStream;

  const EventInput& read_rows(const TableInput& input) {
    read(input, kind_, call().given.counting, time_type_);
    if (OidIsValid(input.item_type)) rank_events();
    return input_;
  }

 protected:
  enum GivenArgument { kEpisodes, kGivenGaps, kSteps, kRule, kMethod, kGivenDevice };

  /// @param name  of the argument, for errors
  const GivenEpisodes& read_episodes(const TableInput& input, const char* name, bool many) {
    const Arguments arguments = input.arguments();
    arguments.require(kEpisodes, name);
    arguments.require(kGivenGaps, "gaps");
    GivenEpisodes& given = call().given;
    const char* const counting = arguments.string(kRule, kEpisodeCountingNames[0]);
    guarded([&] { given.counting = parse_episode_counting(counting); });
    ArrayType* const array = arguments.array(kEpisodes);
    const int dimensions = ARR_NDIM(array);
    if (dimensions < 1 || dimensions > (many ? 2 : 1))
      ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                      errmsg(many ? "%s must be rows of events, one for each episode" : "%s must be a list of events", name),
                      errhint(many ? "Give ARRAY[a, b] for one episode, ARRAY[[a, b], [c, d]] for several."
                                   : "Give ARRAY[a, b].")));
    ItemList list{kEpisodes, name, call().given_events};
    read_lists({&list, 1}, arguments, input.item_type);
    events_ = list.items;
    const GapList gaps = read_gaps(arguments.array(kGivenGaps));
    kind_ = gaps.kind;
    given.ticks_a_unit = ticks_a_unit(kind_);
    append_gaps(gaps, given.gaps);
    read_steps(arguments);
    guarded([&] {
      given.length = static_cast<size_t>(ARR_DIMS(array)[dimensions - 1]);
      given.check();
    });
    return given;
  }

  /// Groups the events.
  void group(const EventInput& rows) {
    start([&] {
      const Stopwatch watch;
      GivenEpisodes& given = call().given;
      given.events = std::move(*call().given_events);
      call().streams.emplace(streams_of(std::move(*call().log), rows.ranks(), given, call().options));
      call().record.group_ms = watch.milliseconds();
    });
  }

  Elements events_{};
  TimeKind kind_ = TimeKind::kInteger;
  Oid time_type_ = InvalidOid;  // of the times in the answer; InvalidOid: it has none

 private:
  void read_steps(const Arguments& arguments) {
    if (!arguments.has(kSteps)) return;
    ArrayType* const array = arguments.array(kSteps);
    if (ARR_NDIM(array) != 1)
      ereport(ERROR,
              (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("steps must be a list of numbers, one for each event")));
    if (array_contains_nulls(array))
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("steps must not contain NULL")));
    const auto* const numbers = reinterpret_cast<const int32*>(ARR_DATA_PTR(array));
    guarded([&] { call().given.steps.assign(numbers, numbers + ARR_DIMS(array)[0]); });
  }

  /// Gives each event its rank. Events that do not occur keep their indexes (in a list of item_lists.h they
  /// are left out).
  void rank_events() {
    constexpr int64_t kNever = -1;  // not a rank
    std::optional<std::vector<int64_t>>& ranks = call().given_events;
    guarded([&] { ranks.emplace(events_.count, kNever); });
    for (int k = 0; k < events_.count; ++k) {
      uint32_t id;
      if (dictionary_find(*input_.events, events_.values[k], id)) (*ranks)[k] = input_.event_rank[id];
    }
  }
};

class EpisodeCounts final : public GivenEpisodeStream {
 public:
  using GivenEpisodeStream::GivenEpisodeStream;

  const GivenEpisodes& read_arguments(const TableInput& input) {
    const Arguments arguments = input.arguments();
    const char* const algorithm = arguments.string(kMethod, "auto");
    const char* const device = arguments.string(kGivenDevice, nullptr);
    guarded([&] {
      call().given.method = parse_episode_method(algorithm);
      call().given.device = device != nullptr ? selected_devices(device) : selected_devices();
    });
    return read_episodes(input, "episodes", true);
  }

  RowStream* run(const GivenEpisodes& given, const EventInput& rows) {
    group(rows);
    type_ = OidIsValid(rows.event_type) ? rows.event_type : Oid{INT8OID};
    get_typlenbyvalalign(type_, &length_, &by_value_, &alignment_);
    // Answers are made of the elements, which may lie in the argument, so they are copied.
    for (int k = 0; k < events_.count; ++k) events_.values[k] = datumCopy(events_.values[k], by_value_, length_);
    count([&] {
      call().counts = count_given(*call().streams, given, call().options, call().record);
      return true;
    });
    tell(call().record.notice);
    return this;
  }

  bool next(Datum* values) override {
    if (results_ == call().counts.size()) return false;
    MemoryContextReset(row_);
    const MemoryContext caller = MemoryContextSwitchTo(row_);
    const size_t size = call().given.length;
    values[0] = PointerGetDatum(
        construct_array(events_.values + results_ * size, static_cast<int>(size), type_, length_, by_value_, alignment_));
    MemoryContextSwitchTo(caller);
    values[1] = Int64GetDatum(static_cast<int64_t>(call().counts[results_++]));
    return true;
  }

 private:
  Oid type_ = InvalidOid;
  int16 length_ = 0;
  bool by_value_ = false;
  char alignment_ = 0;
};

class EpisodeOccurrences final : public GivenEpisodeStream {
 public:
  using GivenEpisodeStream::GivenEpisodeStream;

  const GivenEpisodes& read_arguments(const TableInput& input) {
    const GivenEpisodes& given = read_episodes(input, "episode", false);
    time_type_ = OidIsValid(named_time_) ? named_time_ : usual_time(kind_);
    if (ticks_of(kind_, time_type_) == nullptr)
      ereport(ERROR,
              (errcode(ERRCODE_DATATYPE_MISMATCH),
               errmsg("times of type %s do not go with gaps of this type", format_type_be(time_type_)), hint_at_times()));
    return given;
  }

  /// @param type  of the times in the answer
  void name_time(Oid type) { named_time_ = type; }

  RowStream* run(const GivenEpisodes& given, const EventInput& rows) {
    group(rows);
    count([&] {
      call().occurrences.emplace(find_occurrences(*call().streams, given, call().options, call().record));
      return true;
    });
    if (rows.has_streams) {
      bool is_varlena;
      getTypeOutputInfo(rows.stream_type, &stream_output_, &is_varlena);
    }
    return this;
  }

  int null_columns() const override { return input_.has_streams ? 0 : 1; }

  bool next(Datum* values) override {
    if (results_ == call().occurrences->size()) return false;
    if (results_ % 4096 == 0) CHECK_FOR_INTERRUPTS();
    const FoundOccurrence& found = (*call().occurrences)[results_++];
    values[0] = time_of(kind_, time_type_, found.starts_at);
    values[1] = time_of(kind_, time_type_, found.ends_at);
    if (input_.has_streams) {
      MemoryContextReset(row_);
      const MemoryContext caller = MemoryContextSwitchTo(row_);
      Datum stream;
      bool is_null;
      decode_key(input_.stream, found.stream, &stream, &is_null);
      values[2] = CStringGetTextDatum(OidOutputFunctionCall(stream_output_, stream));
      MemoryContextSwitchTo(caller);
    }
    return true;
  }

 private:
  Oid named_time_ = InvalidOid;
  Oid stream_output_ = InvalidOid;
};

/// The steps of a call.
template <typename Stream>
RowStream* answer(const TableInput& input, Stream* stream) {
  const auto& query = stream->read_arguments(input);
  const EventInput& rows = stream->read_rows(input);
  return stream->run(query, rows);
}

template <typename Stream>
RowStream* find_episodes(const TableInput& input) {
  return answer(input, new_stream<Stream>(input.operation, input.context));
}

RowStream* find_frequent(const TableInput& input, const WantedRows& wanted) {
  auto* const stream = new_stream<FrequentEpisodes>(input.operation, input.context);
  stream->want(wanted);
  return answer(input, stream);
}

/// The episodes of counts. @param counts  a value of the type; 0: NULL
RowStream* find_stored(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, struct varlena* counts,
                       const WantedRows& wanted) {
  auto* const stream = new_stream<FrequentEpisodes>(operation, context);
  stream->want(wanted);
  const std::byte* const value = counts != nullptr ? value_bytes(counts) : nullptr;
  EpisodeCountsHeader header{};
  if (value != nullptr) header = episode_counts_header(value);
  const EpisodeQuery& query = stream->read_arguments({fcinfo, 1, kTimeout}, InvalidOid, &header);
  return value != nullptr ? stream->run_counts(query, value) : nullptr;
}

/// @param time_type  of the times in the answer
RowStream* find_times(const TableInput& input, Oid time_type) {
  auto* const stream = new_stream<EpisodeOccurrences>(input.operation, input.context);
  stream->name_time(time_type);
  return answer(input, stream);
}

}  // namespace

BATMAP_TABLE_FUNCTION(batmap_episodes_query) {
  return find_frequent(query_input(fcinfo, context, "batmap_episodes", 0, kQuery), wanted);
}

BATMAP_TABLE_FUNCTION(batmap_episodes_text_query) {
  return find_frequent(query_input(fcinfo, context, "batmap_episodes_of", 0, kQuery, TEXTOID), wanted);
}

BATMAP_TABLE_FUNCTION(batmap_episodes_as_query) {
  return find_frequent(query_input(fcinfo, context, "batmap_episodes_as", 1, kQuery, item_type_argument(fcinfo)), wanted);
}

BATMAP_TABLE_FUNCTION(batmap_episodes_counts) {
  // An aggregate over no rows gives NULL.
  return find_stored(fcinfo, context, "batmap_episodes", PG_ARGISNULL(0) ? nullptr : episode_counts_argument(fcinfo, 0),
                     wanted);
}

BATMAP_TABLE_FUNCTION(batmap_distributed_episodes) {
  constexpr EpisodePlaces kPlaces{.gaps = 1,
                                  .min_count = 2,
                                  .min_rate = 3,
                                  .max_length = 5,
                                  .include = 6,
                                  .exclude = 7,
                                  .counting = 10,
                                  .same_time = 11,
                                  .columns = 12,
                                  .servers = 15};
  // The arguments are checked before any server counts.
  constexpr EpisodeCountsHeader kAnyRule{};
  new_stream<FrequentEpisodes>("batmap_distributed_episodes", context)
      ->read_arguments({fcinfo, 1, kTimeout}, InvalidOid, &kAnyRule);
  const Datum counts = distributed_episode_counts(fcinfo, "batmap_distributed_episodes", kPlaces);
  return find_stored(fcinfo, context, "batmap_distributed_episodes",
                     counts != 0 ? reinterpret_cast<struct varlena*>(DatumGetPointer(counts)) : nullptr, wanted);
}

BATMAP_TABLE_FUNCTION(batmap_episode_count_query) {
  return find_episodes<EpisodeCounts>(query_input(fcinfo, context, "batmap_episode_count", 0, kCountQuery));
}

BATMAP_TABLE_FUNCTION(batmap_episode_count_text_query) {
  return find_episodes<EpisodeCounts>(query_input(fcinfo, context, "batmap_episode_count_of", 0, kCountQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_episode_count_as_query) {
  return find_episodes<EpisodeCounts>(
      query_input(fcinfo, context, "batmap_episode_count_as", 1, kCountQuery, item_type_argument(fcinfo)));
}

BATMAP_TABLE_FUNCTION(batmap_episode_occurrences_query) {
  return find_episodes<EpisodeOccurrences>(query_input(fcinfo, context, "batmap_episode_occurrences", 0, kOccurrencesQuery));
}

BATMAP_TABLE_FUNCTION(batmap_episode_occurrences_text_query) {
  return find_episodes<EpisodeOccurrences>(
      query_input(fcinfo, context, "batmap_episode_occurrences_of", 0, kOccurrencesQuery, TEXTOID));
}

BATMAP_TABLE_FUNCTION(batmap_episode_occurrences_as_query) {
  return find_episodes<EpisodeOccurrences>(
      query_input(fcinfo, context, "batmap_episode_occurrences_as", 1, kOccurrencesQuery, item_type_argument(fcinfo)));
}

BATMAP_TABLE_FUNCTION(batmap_episode_occurrences_at_query) {
  return find_times(query_input(fcinfo, context, "batmap_episode_occurrences_at", 1, kOccurrencesQuery),
                    item_type_argument(fcinfo));
}

BATMAP_TABLE_FUNCTION(batmap_episode_occurrences_as_time_query) {
  return find_times(
      query_input(fcinfo, context, "batmap_episode_occurrences_as", 2, kOccurrencesQuery, item_type_argument(fcinfo)),
      item_type_argument(fcinfo, 1));
}

BATMAP_FUNCTION(batmap_episodes_support) {
  static const SupportedCall kCall{1, 1, kTopK, kMaxResults, kQuery};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}

BATMAP_FUNCTION(batmap_episodes_counts_support) {
  static const SupportedCall kCall{1, 0, kTopK, kMaxResults};
  PG_RETURN_POINTER(support_call(reinterpret_cast<Node*>(PG_GETARG_POINTER(0)), kCall));
}
