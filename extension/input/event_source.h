// Events from the text of a query: rows (time, event) or (time, event, stream), for the functions of
// episodes. The query runs like any input query (inner_query.h). Rows with a NULL are ignored.
//
// Times are 64-bit ticks. What they are depends on the gaps, too. With integer gaps, an integer is its own number
// of ticks, and a date counts in days. With gaps that are intervals, timestamps and dates count in microseconds. A
// number with a fraction is rounded to millionths of its unit. So differences of times are exact, and the ends of a
// gap hold exactly.
#pragma once

#include <optional>
#include <span>

#include "episodes/event_log.h"
#include "extension/input/dictionary.h"
#include "extension/input/inner_query.h"
#include "extension/input/key_encoder.h"
#include "extension/server/progress.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// What a tick is: the unit of an integer or a day; a millionth; a microsecond.
enum class TimeKind { kInteger, kFloat, kTimestamp };

/// The ticks in one unit of the user: 1 for integers and days, 1e6 for numbers (millionths) and for what counts in
/// microseconds (of a second).
inline double ticks_a_unit(TimeKind kind) { return kind == TimeKind::kInteger ? 1 : 1e6; }

/// The kind that goes with gaps, or a window, of this type. @raises 42804 if there is none: `rule`, and the type
TimeKind time_kind(Oid gap_type, const char* rule);

/// Makes ticks of the values of a type. The function raises 22003, 22008 for a time that is not finite, or whose ticks do
/// not fit. @return nullptr if the type does not go with the kind
using TicksOf = int64_t (*)(Datum);
TicksOf ticks_of(TimeKind kind, Oid type);
/// The other way round. @param type  one that goes with the kind
Datum time_of(TimeKind kind, Oid type, int64_t ticks);
/// Says which times go with which gaps, in an error.
int hint_at_times();
/// The type of times that the answer has for a kind if the call names none.
Oid usual_time(TimeKind kind);

struct EventInput {
  std::optional<EventLog>* log;  // made and filled; not owned
  const ExecutionOptions* options;
  ProgressReport* progress;
  TimeKind time;          // the kind of the first column
  const char* distances;  // what the kind was taken from, for errors
  Oid event_type;         // for the _of functions: the type of the second column; else InvalidOid
  Oid time_type;       // the type of the first column, if the answer has its values; InvalidOid: any that goes with the kind
  bool needs_streams;  // there must be a third column
  const char* other_counting;  // the rule that needs no streams, for errors; nullptr: there is none
  // Results:
  Dictionary* events;    // event values by rank, for the _of functions; else nullptr
  uint32_t* event_rank;  // [events->count] rank of each event in the log
  bool has_streams;
  KeyEncoder stream;  // of the third column
  Oid stream_type;

  /// The rank of each event id, for the engine. Empty if events are integers.
  std::span<const uint32_t> ranks() const {
    return events == nullptr ? std::span<const uint32_t>() : std::span(event_rank, events->count);
  }
};

/// @raises 42601 unless one SELECT; 42P10 unless two or three columns, or three; 42804 for wrong types
void read_events(const InnerQuery& query, EventInput& input, MemoryContext context);

}  // namespace batmap::pg
