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

KeyEncoder time_encoder(TimeKind kind, Oid type) {
  if (kind == TimeKind::kInteger) return column_encoder(key_kind(type), 0);
  if (kind == TimeKind::kTimestamp)
    return converting_encoder(0, [](Datum time) { return ticks_of(TimeKind::kTimestamp, time); });
  if (getBaseType(type) == FLOAT8OID)
    return converting_encoder(0, [](Datum time) { return ticks_of(TimeKind::kFloat, time); });
  return converting_encoder(
      0, [](Datum time) { return ticks_of(TimeKind::kFloat, Float8GetDatum(static_cast<double>(DatumGetFloat4(time)))); });
}

bool is_of_kind(TimeKind kind, Oid type) {
  const Oid base = getBaseType(type);
  switch (kind) {
    case TimeKind::kInteger: return is_integer(type);
    case TimeKind::kFloat: return base == FLOAT8OID || base == FLOAT4OID;
    case TimeKind::kTimestamp: return base == TIMESTAMPTZOID;
  }
  return false;
}

void check_columns(const UpToThreeColumns& columns, const EventInput& input) {
  if (!is_of_kind(input.time, columns.types[0])) {
    constexpr const char* kWanted[] = {"an integer", "double precision", "timestamp with time zone"};
    ereport(
        ERROR,
        (errcode(ERRCODE_DATATYPE_MISMATCH),
         errmsg("first column of the input query must be %s for gaps of this type, not %s",
                kWanted[static_cast<int>(input.time)], format_type_be(columns.types[0])),
         errhint("Integer gaps go with integer times, double precision gaps with double precision times, interval gaps with "
                 "timestamp with time zone.")));
  }
  check_key_type(columns.types[1], input.event_type, "second", "events");
}

}  // namespace

int64_t ticks_of(TimeKind kind, Datum time) {
  if (kind == TimeKind::kInteger) return DatumGetInt64(time);
  if (kind == TimeKind::kTimestamp) {
    const TimestampTz stamp = DatumGetTimestampTz(time);
    if (TIMESTAMP_NOT_FINITE(stamp))
      ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("time of an event must be finite"),
                      errhint("Leave such rows out: WHERE isfinite(...).")));
    return stamp;
  }
  const double millionths = std::nearbyint(DatumGetFloat8(time) * 1e6);
  if (!(std::fabs(millionths) <= kMaxMillionths))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("time %g of an event cannot be told to a millionth", DatumGetFloat8(time)),
                    errhint("Give times as bigint, in the smallest unit that matters.")));
  return static_cast<int64_t>(millionths);
}

Datum time_of(TimeKind kind, int64_t ticks) {
  if (kind == TimeKind::kFloat) return Float8GetDatum(static_cast<double>(ticks) / 1e6);
  return Int64GetDatum(ticks);
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
  PlannedStmt* const plan = pg_plan_query(analyzed, query.text, CURSOR_OPT_PARALLEL_OK, nullptr);
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
