// Table functions batmap_episodes, batmap_episode_count and batmap_episode_occurrences, with their _of forms: arguments,
// input, and the rows of the answers.
#include "extension/srf_episodes.h"

#include "extension/boundary.h"
#include "extension/context_owned.h"
#include "extension/episode_call.h"

#include "extension/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

/// The arguments of a call without the typed NULL that the _of forms have in front.
struct Arguments {
  FunctionCallInfo fcinfo;
  Oid event_type;  // of an _of form; else InvalidOid

  int place(int argument) const { return OidIsValid(event_type) ? argument + 1 : argument; }
  bool has(int argument) const { return place(argument) < PG_NARGS() && !PG_ARGISNULL(place(argument)); }
  Datum datum(int argument) const { return PG_GETARG_DATUM(place(argument)); }
  /// A copy: answers are made of its elements.
  ArrayType* array(int argument) const { return DatumGetArrayTypePCopy(datum(argument)); }
  char* string(int argument) const { return TextDatumGetCString(datum(argument)); }
  /// What must be given. @raises 22004
  void require(int argument, const char* name) const {
    if (!has(argument)) ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be NULL", name)));
  }
};

template <typename Stream>
Stream* new_stream(const char* operation, MemoryContext context) {
  EpisodeCall* const call = ContextOwned<EpisodeCall>::reserve(context)->emplace(context);
  call->progress.start(operation);
  const MemoryContext row = AllocSetContextCreate(context, "batmap row", ALLOCSET_SMALL_SIZES);
  return new (MemoryContextAlloc(context, sizeof(Stream))) Stream(operation, call, row);
}

// ---- frequent episodes

enum EpisodesArgument {
  kQuery,
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
  kAlgorithm,
  kArguments
};

class FrequentEpisodes final : public EpisodeRowStream {
 public:
  using EpisodeRowStream::EpisodeRowStream;

  void open(const Arguments& arguments, MemoryContext context) {
    arguments.require(kQuery, "input query");
    arguments.require(kGaps, "gaps");
    EpisodeQuery& query = call().query;
    gaps_ = read_gaps(arguments.array(kGaps));
    for (int row = 0; row < gaps_.rows; ++row) {
      const Gap gap = gap_of(gaps_, row);
      guarded([&] { query.gaps.push_back(gap); });
    }
    const auto number = [&](EpisodesArgument argument, std::optional<int64_t>& value) {
      if (arguments.has(argument)) value = DatumGetInt64(arguments.datum(argument));
    };
    number(kMinCount, query.min_count);
    if (arguments.has(kMinRate)) query.min_rate = DatumGetFloat8(arguments.datum(kMinRate));
    query.ticks_a_unit = ticks_a_unit(gaps_.kind);
    if (arguments.has(kMinLength)) query.min_length = DatumGetInt32(arguments.datum(kMinLength));
    if (arguments.has(kMaxLength)) query.max_length = DatumGetInt32(arguments.datum(kMaxLength));
    number(kTopK, query.top_k);
    number(kMaxResults, query.max_results);
    if (arguments.has(kTimeout)) query.timeout_ms = timeout_ms(DatumGetIntervalP(arguments.datum(kTimeout)));
    const char* const counting_rule = arguments.has(kCounting) ? arguments.string(kCounting) : "non_overlapped";
    const char* const algorithm = arguments.has(kAlgorithm) ? arguments.string(kAlgorithm) : "auto";
    guarded([&] {
      check_episode_counting(counting_rule);
      query.method = parse_episode_method(algorithm);
      query.check();
    });
    // Lists are checked before any row is read, and mean something afterwards.
    const bool of_type = OidIsValid(arguments.event_type);
    Elements include{};
    Elements exclude{};
    if (arguments.has(kInclude)) {
      if (of_type)
        include = items_of_text(arguments.array(kInclude), "include", arguments.event_type);
      else
        set_list(query.include, arguments.array(kInclude), "include");
    }
    if (arguments.has(kExclude)) {
      if (of_type)
        exclude = items_of_text(arguments.array(kExclude), "exclude", arguments.event_type);
      else
        set_list(query.exclude, arguments.array(kExclude), "exclude");
    }
    read(arguments.string(kQuery), gaps_, arguments.event_type, context);
    if (of_type && arguments.has(kInclude)) set_event_ranks(query.include, include);
    if (of_type && arguments.has(kExclude)) set_event_ranks(query.exclude, exclude);
    guarded([&] { call().run.emplace(std::move(*call().log), ranks(), query, call().options); });
    arrays_.emplace(input_.events);
    counting();
  }

  bool next(Datum* values) override {
    CHECK_FOR_INTERRUPTS();
    EpisodeRun& run = *call().run;
    const size_t levels = run.report().levels.size();
    counting();
    const bool any = guarded([&] {
      const std::optional<EpisodeRun::Row> row = run.next();
      if (!row) return false;
      call().events.clear();
      call().gap_rows.clear();
      for (size_t k = 0; k < row->steps.size(); ++k) {
        call().events.push_back(run.event(row->steps[k]));
        if (k > 0) call().gap_rows.push_back(static_cast<int32_t>(run.gap(row->steps[k])));
      }
      support_ = row->support;
      return true;
    });
    if (run.report().levels.size() != levels || !any) counted(run.report().levels.size());
    if (!any) {
      cut_off(run.truncated());
      return false;
    }
    MemoryContextReset(row_);
    const MemoryContext caller = MemoryContextSwitchTo(row_);
    values[0] = arrays_->make(call().events);
    values[1] = gap_array(gaps_, call().gap_rows, 0);
    values[2] = gap_array(gaps_, call().gap_rows, 1);
    values[3] = Int64GetDatum(static_cast<int64_t>(support_));
    MemoryContextSwitchTo(caller);
    given();
    return true;
  }

 private:
  void cut_off(EpisodeTruncation truncated) {
    if (truncated == EpisodeTruncation::kNone) return;
    truncate();
    finish();
    if (truncated == EpisodeTruncation::kTimeout)
      report_timeout(*call().query.timeout_ms);
    else
      report_truncation(*call().query.max_results);
  }
  const EpisodeReport& report() const override { return call().run->report(); }
  const EventStreams& streams() const override { return call().run->streams(); }

  GapList gaps_{};
  std::optional<ItemArrays> arrays_;
  uint64_t support_ = 0;
};

// ---- given episodes

/// What counting and showing given episodes have in common.
class GivenEpisodeStream : public EpisodeRowStream {
 public:
  using EpisodeRowStream::EpisodeRowStream;

 protected:
  /// @param name  of the argument
  void open_given(const Arguments& arguments, const char* name, bool many, MemoryContext context) {
    arguments.require(0, "input query");
    arguments.require(1, name);
    arguments.require(2, "gaps");
    GivenEpisodes& given = call().given;
    ArrayType* const array = arguments.array(1);
    const int dimensions = ARR_NDIM(array);
    if (dimensions < 1 || dimensions > (many ? 2 : 1))
      ereport(ERROR,
              (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
               errmsg(many ? "%s must be rows of events, one for each episode" : "%s must be a list of events", name)));
    const bool of_type = OidIsValid(arguments.event_type);
    events_ = of_type ? items_of_text(array, name, arguments.event_type) : elements_of(array, name);
    const GapList gaps = read_gaps(arguments.array(2));
    kind_ = gaps.kind;
    for (int row = 0; row < gaps.rows; ++row) {
      const Gap gap = gap_of(gaps, row);
      guarded([&] { given.gaps.push_back(gap); });
    }
    guarded([&] {
      given.length = static_cast<size_t>(ARR_DIMS(array)[dimensions - 1]);
      given.check();
    });
    read(arguments.string(0), gaps, arguments.event_type, context);
    for (int k = 0; k < events_.count; ++k) {
      constexpr int64_t kNever = -1;  // no rank
      int64_t event = kNever;
      uint32_t id;
      if (!of_type)
        event = DatumGetInt64(events_.values[k]);
      else if (dictionary_find(*input_.events, events_.values[k], id))
        event = input_.event_rank[id];
      guarded([&] { given.events.push_back(event); });
    }
    guarded([&] {
      const Stopwatch watch;
      call().streams.emplace(streams_of(std::move(*call().log), ranks(), given, call().options));
      call().report.group_ms = watch.milliseconds();
    });
  }

  Elements events_{};
  TimeKind kind_ = TimeKind::kInteger;
  size_t next_ = 0;

 private:
  const EpisodeReport& report() const override { return call().report; }
  const EventStreams& streams() const override { return *call().streams; }
};

class EpisodeCounts final : public GivenEpisodeStream {
 public:
  using GivenEpisodeStream::GivenEpisodeStream;

  void open(const Arguments& arguments, MemoryContext context) {
    const char* const counting_rule = arguments.has(3) ? arguments.string(3) : "non_overlapped";
    const char* const algorithm = arguments.has(4) ? arguments.string(4) : "auto";
    guarded([&] {
      check_episode_counting(counting_rule);
      call().given.method = parse_episode_method(algorithm);
    });
    open_given(arguments, "episodes", true, context);
    type_ = OidIsValid(arguments.event_type) ? arguments.event_type : Oid{INT8OID};
    get_typlenbyvalalign(type_, &length_, &by_value_, &alignment_);
    counting();
    guarded([&] { call().counts = count_given(*call().streams, call().given, call().options, call().report); });
    counted(0);
  }

  bool next(Datum* values) override {
    if (next_ == call().counts.size()) return false;
    MemoryContextReset(row_);
    const MemoryContext caller = MemoryContextSwitchTo(row_);
    const size_t size = call().given.length;
    values[0] = PointerGetDatum(
        construct_array(events_.values + next_ * size, static_cast<int>(size), type_, length_, by_value_, alignment_));
    MemoryContextSwitchTo(caller);
    values[1] = Int64GetDatum(static_cast<int64_t>(call().counts[next_++]));
    given();
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

  void open(const Arguments& arguments, MemoryContext context) {
    open_given(arguments, "episode", false, context);
    counting();
    guarded([&] {
      call().report.method = kEpisodeMethodNames[static_cast<size_t>(EpisodeMethod::kTracking)];
      call().occurrences.emplace(find_occurrences(*call().streams, call().given, call().options));
    });
    counted(0);
    if (!input_.has_streams) return;
    bool is_varlena;
    getTypeOutputInfo(input_.stream_type, &stream_output_, &is_varlena);
  }

  int null_columns() const override { return input_.has_streams ? 0 : 1; }

  bool next(Datum* values) override {
    if (next_ == call().occurrences->size()) return false;
    if (next_ % 4096 == 0) CHECK_FOR_INTERRUPTS();
    const FoundOccurrence& found = (*call().occurrences)[next_++];
    values[0] = time_of(kind_, found.starts_at);
    values[1] = time_of(kind_, found.ends_at);
    if (input_.has_streams) {
      MemoryContextReset(row_);
      const MemoryContext caller = MemoryContextSwitchTo(row_);
      const KeyColumn& stream = input_.stream;
      const Datum value = stream.kind == KeyKind::kDictionary ? stream.dictionary->values[found.stream]
                                                              : value_of_key(stream.kind, found.stream);
      values[2] = CStringGetTextDatum(OidOutputFunctionCall(stream_output_, value));
      MemoryContextSwitchTo(caller);
    }
    given();
    return true;
  }

 private:
  Oid stream_output_ = InvalidOid;
};

template <typename Stream>
RowStream* opened(FunctionCallInfo fcinfo, MemoryContext context, const char* operation, Oid event_type) {
  Stream* const stream = new_stream<Stream>(operation, context);
  stream->open({fcinfo, event_type}, context);
  return stream;
}

}  // namespace

namespace batmap::pg {

RowStream* open_episodes(FunctionCallInfo fcinfo, MemoryContext context) {
  return opened<FrequentEpisodes>(fcinfo, context, "batmap_episodes", InvalidOid);
}
RowStream* open_episodes_of(FunctionCallInfo fcinfo, MemoryContext context) {
  return opened<FrequentEpisodes>(fcinfo, context, "batmap_episodes_of", item_type_argument(fcinfo));
}
RowStream* open_episode_count(FunctionCallInfo fcinfo, MemoryContext context) {
  return opened<EpisodeCounts>(fcinfo, context, "batmap_episode_count", InvalidOid);
}
RowStream* open_episode_count_of(FunctionCallInfo fcinfo, MemoryContext context) {
  return opened<EpisodeCounts>(fcinfo, context, "batmap_episode_count_of", item_type_argument(fcinfo));
}
RowStream* open_episode_occurrences(FunctionCallInfo fcinfo, MemoryContext context) {
  return opened<EpisodeOccurrences>(fcinfo, context, "batmap_episode_occurrences", InvalidOid);
}
RowStream* open_episode_occurrences_of(FunctionCallInfo fcinfo, MemoryContext context) {
  return opened<EpisodeOccurrences>(fcinfo, context, "batmap_episode_occurrences_of", item_type_argument(fcinfo));
}

}  // namespace batmap::pg

BATMAP_FUNCTION(batmap_episodes_query) {
  materialize(fcinfo, open_episodes);
  return Datum{0};
}
BATMAP_FUNCTION(batmap_episodes_of_query) {
  materialize(fcinfo, open_episodes_of);
  return Datum{0};
}
BATMAP_FUNCTION(batmap_episode_count_query) {
  materialize(fcinfo, open_episode_count);
  return Datum{0};
}
BATMAP_FUNCTION(batmap_episode_count_of_query) {
  materialize(fcinfo, open_episode_count_of);
  return Datum{0};
}
BATMAP_FUNCTION(batmap_episode_occurrences_query) {
  materialize(fcinfo, open_episode_occurrences);
  return Datum{0};
}
BATMAP_FUNCTION(batmap_episode_occurrences_of_query) {
  materialize(fcinfo, open_episode_occurrences_of);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_episodes_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  PG_RETURN_POINTER(bound_rows(request, kArguments - kTopK, kArguments - kMaxResults));
}
