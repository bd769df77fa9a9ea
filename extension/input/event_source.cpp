// Plans a query of events and reads its rows. See event_source.h.
#include "extension/input/event_source.h"

#include <cmath>

#include "extension/input/row_reader.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr const char* kColumns = "the time, the event and, if there are several, the stream";
constexpr double kMaxMillionths = 4e18;

/// Puts events into a log, and reports the progress.
struct EventSink {
  EventLog* log;
  ProgressReport* progress;

  bool append(int64_t time, int64_t event, int64_t stream) {
    guarded([&] { log->append(time, event, stream); });
    progress->row(log->rows());
    return true;
  }
};

int64_t days_of(Datum time) {
  const DateADT date = DatumGetDateADT(time);
  if (DATE_NOT_FINITE(date))
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("time of an event must be finite"),
                    errhint("Leave such rows out: WHERE isfinite(...).")));
  return date;
}

int64_t microseconds_of_date(Datum time) {
  int64_t ticks;
  if (pg_mul_s64_overflow(days_of(time), USECS_PER_DAY, &ticks))
    ereport(ERROR,
            (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("time of an event is out of range for microseconds"),
             errhint("Give gaps as integers: then a date counts in days.")));
  return ticks;
}

int64_t microseconds_of(Datum time) {
  const TimestampTz stamp = DatumGetTimestampTz(time);
  if (TIMESTAMP_NOT_FINITE(stamp))
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("time of an event must be finite"),
                    errhint("Leave such rows out: WHERE isfinite(...).")));
  return stamp;
}

int64_t millionths_of(double time) {
  if (!std::isfinite(time))
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("time of an event must be finite"),
                    errhint("Leave such rows out: WHERE abs(...) < 'infinity'.")));
  const double millionths = std::nearbyint(time * 1e6);
  if (!(std::fabs(millionths) <= kMaxMillionths))
    ereport(ERROR,
            (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("time %g of an event cannot be told to a millionth", time),
             errhint("Give times as bigint, in the smallest unit that matters.")));
  return static_cast<int64_t>(millionths);
}

KeyEncoder time_encoder(TimeKind kind, Oid type) {
  if (is_integer(type)) return column_encoder(key_kind(type), 0);
  return converting_encoder(0, ticks_of(kind, type));
}

/// The types of a time, for an error.
const char* wanted_times(TimeKind kind) {
  switch (kind) {
    case TimeKind::kInteger: return "an integer or a date";
    case TimeKind::kFloat: return "double precision";
    case TimeKind::kTimestamp: break;
  }
  return "a timestamp or a date";
}

/// @raises 42804 unless the first column goes with the gaps, and is of the type that the answer has
void check_time_column(Oid actual, const EventInput& input) {
  if (ticks_of(input.time, actual) == nullptr)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("first column of the input query must be %s for %s of this type, not %s",
                           wanted_times(input.time), input.distances, format_type_be(actual)),
                    hint_at_times()));
  if (!OidIsValid(input.time_type) || stands_for(actual, input.time_type)) return;
  if (is_integer(actual) && is_integer(input.time_type) && input.time_type == usual_time(input.time)) return;
  if (getBaseType(actual) == FLOAT4OID && input.time_type == FLOAT8OID) return;
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("first column of the input query must be %s, not %s, because the answer has times of this type",
                  format_type_be(input.time_type), format_type_be(actual)),
           errhint("Cast the column, or give batmap_episode_occurrences_at or _as a NULL of its type as time_type.")));
}

constexpr const char* kSelectStreams =
    "Select the time, the event, and what the event belongs to: a session, a customer, a device.";

void check_columns(const UpToThreeColumns& columns, const EventInput& input) {
  if (input.needs_streams && columns.count < 3)
    ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                    errmsg("input query must have a third column, the stream, if streams are counted"),
                    input.other_counting == nullptr ? errhint("%s", kSelectStreams)
                                                    : errhint("%s If all events are of one stream, write counting => '%s'.",
                                                              kSelectStreams, input.other_counting)));
  check_time_column(columns.types[0], input);
  check_key_type(columns.types[1], input.event_type, "second", "events");
}

}  // namespace

int hint_at_times() {
  return errhint(
      "The columns are the time, the event and, if there are several, the stream. "
      "Integers go with times that are integers or dates, numbers with double precision, intervals with timestamps and "
      "dates.");
}

TimeKind time_kind(Oid gap_type, const char* rule) {
  switch (getBaseType(gap_type)) {
    case INT2OID:
    case INT4OID:
    case INT8OID: return TimeKind::kInteger;
    case FLOAT4OID:
    case FLOAT8OID:
    case NUMERICOID: return TimeKind::kFloat;
    case INTERVALOID: return TimeKind::kTimestamp;
    default: break;
  }
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("%s, not %s", rule, format_type_be(gap_type)), hint_at_times()));
}

TicksOf ticks_of(TimeKind kind, Oid type) {
  switch (getBaseType(type)) {
    case INT2OID: return kind == TimeKind::kInteger ? +[](Datum time) { return int64_t{DatumGetInt16(time)}; } : nullptr;
    case INT4OID: return kind == TimeKind::kInteger ? +[](Datum time) { return int64_t{DatumGetInt32(time)}; } : nullptr;
    case INT8OID: return kind == TimeKind::kInteger ? +[](Datum time) { return int64_t{DatumGetInt64(time)}; } : nullptr;
    case FLOAT4OID:
      return kind == TimeKind::kFloat ? +[](Datum time) { return millionths_of(static_cast<double>(DatumGetFloat4(time))); }
                                      : nullptr;
    case FLOAT8OID:
      return kind == TimeKind::kFloat ? +[](Datum time) { return millionths_of(DatumGetFloat8(time)); } : nullptr;
    case DATEOID:
      return kind == TimeKind::kInteger ? days_of : kind == TimeKind::kTimestamp ? microseconds_of_date : nullptr;
    case TIMESTAMPOID:
    case TIMESTAMPTZOID: return kind == TimeKind::kTimestamp ? microseconds_of : nullptr;
    default: return nullptr;
  }
}

Datum time_of(TimeKind kind, Oid type, int64_t ticks) {
  switch (getBaseType(type)) {
    case INT2OID: return Int16GetDatum(static_cast<int16>(ticks));
    case INT4OID: return Int32GetDatum(static_cast<int32>(ticks));
    case FLOAT4OID: return Float4GetDatum(static_cast<float>(static_cast<double>(ticks) / 1e6));
    case FLOAT8OID: return Float8GetDatum(static_cast<double>(ticks) / 1e6);
    case DATEOID: return DateADTGetDatum(static_cast<DateADT>(kind == TimeKind::kInteger ? ticks : ticks / USECS_PER_DAY));
    default: return Int64GetDatum(ticks);
  }
}

Oid usual_time(TimeKind kind) {
  switch (kind) {
    case TimeKind::kInteger: return INT8OID;
    case TimeKind::kFloat: return FLOAT8OID;
    case TimeKind::kTimestamp: break;
  }
  return TIMESTAMPTZOID;
}

void read_events(const InnerQuery& query, EventInput& input, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query.text);
  Query* const analyzed = analyze_select(query, kColumns);
  const UpToThreeColumns columns = two_or_three_columns(analyzed, kColumns);
  check_columns(columns, input);
  input.has_streams = columns.count == 3;
  guarded([&] { input.log->emplace(*input.options, input.has_streams); });

  MemoryMeter& meter = *input.options->memory;
  const std::span<const Oid> types(columns.types, static_cast<size_t>(columns.count));
  KeyEncoder encoders[3] = {time_encoder(input.time, types[0]), column_encoder(key_kind(types[1], input.event_type), 1)};
  add_dictionary(encoders[1], input.event_type, columns.collations[1], context, meter);
  if (input.has_streams) {
    encoders[2] = column_encoder(key_kind(types[2]), 2);
    add_dictionary(encoders[2], types[2], columns.collations[2], context, meter);
  }
  PlannedStmt* const plan = plan_select(analyzed, query.text);
  const std::span<const KeyEncoder, 3> all(encoders);
  EventSink sink{&**input.log, input.progress};
  if (input.has_streams)
    read_inner_query(plan, query.text, types, all, sink);
  else
    read_inner_query(plan, query.text, types, all.first<2>(), sink);
  input.events = encoders[1].dictionary;
  if (input.events != nullptr) input.event_rank = dictionary_sort(*input.events);
  input.stream = encoders[2];
  input.stream_type = columns.types[2];
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

}  // namespace batmap::pg
