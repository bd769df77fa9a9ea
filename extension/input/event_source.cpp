// Plans a query of events and reads its rows. See event_source.h.
#include "extension/input/event_source.h"

#include <cmath>

#include "extension/input/inner_query.h"
#include "extension/server/boundary.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr const char* kColumns = "the time, the event and, if there are several, the stream";
constexpr double kMostMillionths = 4e18;

struct EventReceiver {
  DestReceiver pub;
  EventLog* log;
  ProgressReport* progress;
  TimeKind time_kind;
  KeyKind time_key;  // the kind of an integer time
  bool narrow_float;
  KeyColumn event;
  KeyColumn stream;
  int columns;
};

int64_t time_ticks(const EventReceiver& receiver, Datum time) {
  if (receiver.time_kind == TimeKind::kInteger) return key_of({receiver.time_key, nullptr}, time);
  if (receiver.narrow_float) time = Float8GetDatum(static_cast<double>(DatumGetFloat4(time)));
  return ticks_of(receiver.time_kind, time);
}

bool receive_event(TupleTableSlot* slot, DestReceiver* self) {
  auto& receiver = *reinterpret_cast<EventReceiver*>(self);
  slot_getsomeattrs(slot, receiver.columns);
  for (int k = 0; k < receiver.columns; ++k)
    if (slot->tts_isnull[k]) return true;
  const int64_t time = time_ticks(receiver, slot->tts_values[0]);
  const int64_t event = key_of(receiver.event, slot->tts_values[1]);
  const int64_t stream = receiver.columns == 3 ? key_of(receiver.stream, slot->tts_values[2]) : 0;
  guarded([&] { receiver.log->append(time, event, stream); });
  receiver.progress->row(receiver.log->rows());
  return true;
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
  if (OidIsValid(input.event_type)) {
    if (!stands_for(columns.types[1], input.event_type))
      ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                      errmsg("second column of the input query must be %s, not %s", format_type_be(input.event_type),
                             format_type_be(columns.types[1])),
                      errhint("Cast the column, or give a NULL of its type as the argument for it.")));
  } else if (!is_integer(columns.types[1])) {
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("second column of the input query must be an integer, not %s", format_type_be(columns.types[1])),
                    errhint("The _of form of the function takes events of any hashable type.")));
  }
}

}  // namespace

int64_t ticks_of(TimeKind kind, Datum time) {
  if (kind == TimeKind::kInteger) return DatumGetInt64(time);
  if (kind == TimeKind::kTimestamp) {
    const TimestampTz stamp = DatumGetTimestampTz(time);
    if (TIMESTAMP_NOT_FINITE(stamp))
      ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("time of an event must be finite")));
    return stamp;
  }
  const double millionths = std::nearbyint(DatumGetFloat8(time) * 1e6);
  if (!(std::fabs(millionths) <= kMostMillionths))
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("time %g of an event cannot be told to a millionth", DatumGetFloat8(time)),
                    errhint("Give times as bigint, in the smallest unit that matters.")));
  return static_cast<int64_t>(millionths);
}

Datum time_of(TimeKind kind, int64_t ticks) {
  if (kind == TimeKind::kFloat) return Float8GetDatum(static_cast<double>(ticks) / 1e6);
  return Int64GetDatum(ticks);
}

void read_events(const char* query, EventInput& input, MemoryContext context) {
  const MemoryContext caller = MemoryContextSwitchTo(context);
  ErrorContextCallback errors;
  enter_inner_query(errors, query);
  Query* const analyzed = analyze_select(parse_select(query, kColumns), query);
  const UpToThreeColumns columns = two_or_three_columns(analyzed, kColumns);
  check_columns(columns, input);
  input.has_streams = columns.count == 3;
  guarded([&] { input.log->emplace(*input.options, input.has_streams); });

  EventReceiver receiver{
      make_receiver(receive_event), &**input.log, input.progress, input.time, {}, false, {}, {}, columns.count};
  receiver.time_key = key_kind(columns.types[0]);
  receiver.narrow_float = getBaseType(columns.types[0]) == FLOAT4OID;
  receiver.event.kind = OidIsValid(input.event_type) ? KeyKind::kDictionary : key_kind(columns.types[1]);
  if (input.has_streams) {
    receiver.stream.kind = key_kind(columns.types[2]);
    input.stream_type = columns.types[2];
  }
  const auto give_dictionary = [&](KeyColumn& column, int k, Oid type) {
    if (k < columns.count && column.kind == KeyKind::kDictionary)
      column.dictionary = dictionary_create(context, type, columns.collations[k], *input.options->memory);
  };
  give_dictionary(receiver.event, 1, input.event_type);
  give_dictionary(receiver.stream, 2, columns.types[2]);
  run_plan(pg_plan_query(analyzed, query, CURSOR_OPT_PARALLEL_OK, nullptr), query, std::span(columns.types, columns.count),
           &receiver.pub);
  input.events = receiver.event.dictionary;
  if (input.events != nullptr) input.event_rank = dictionary_sort(*input.events);
  input.stream = receiver.stream;
  leave_inner_query(errors);
  MemoryContextSwitchTo(caller);
}

}  // namespace batmap::pg
