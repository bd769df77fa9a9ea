// Events from the text of a query: rows (time, event) or (time, event, stream), for the functions of
// episodes. The query runs like any input query (inner_query.h). Rows with a NULL are ignored.
//
// Times are 64-bit ticks. An integer is its own number of ticks; a timestamp counts in microseconds; a number
// with a fraction is rounded to millionths of its unit. So differences of times are exact, and the ends of a
// gap hold exactly.
#pragma once

#include <optional>
#include <span>

#include "episodes/event_stream.h"
#include "extension/input/dictionary.h"
#include "extension/input/inner_query.h"
#include "extension/input/key_encoder.h"
#include "extension/server/progress.h"

#include "extension/server/pg.h"

namespace batmap::pg {

enum class TimeKind { kInteger, kFloat, kTimestamp };

/// The ticks in one unit of the user: 1 for integers, 1e6 for numbers (millionths) and timestamps
/// (microseconds of a second).
inline double ticks_a_unit(TimeKind kind) { return kind == TimeKind::kInteger ? 1 : 1e6; }

/// @raises 22003, 22008 for a time that is not finite, or whose millionths do not fit
int64_t ticks_of(TimeKind kind, Datum time);
Datum time_of(TimeKind kind, int64_t ticks);

struct EventInput {
  std::optional<EventLog>* log;  // made and filled; not owned
  const ExecutionOptions* options;
  ProgressReport* progress;
  TimeKind time;   // the kind of the first column
  Oid event_type;  // for the _of functions: the type of the second column; else InvalidOid
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

/// @raises 42601 unless one SELECT; 42P10 unless two or three columns; 42804 for wrong types
void read_events(const InnerQuery& query, EventInput& input, MemoryContext context);

}  // namespace batmap::pg
