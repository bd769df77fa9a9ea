// Aggregate batmap_episode_count_agg: how often an episode occurs among the events of a group. The state is a flat value
// that grows in place: the episode and its gap, then the events that it names, 16 bytes each; others leave at once. The
// order of the rows does not matter, and states of parallel workers are laid end to end.
#include <algorithm>
#include <cstring>

#include "episodes/episode_run.h"
#include "extension/backend.h"
#include "extension/boundary.h"
#include "extension/event_source.h"
#include "extension/flat_value.h"
#include "extension/gap_list.h"

#include "extension/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

struct Header {
  uint32_t format;
  uint32_t length;  // of the episode
  Gap gap;
  uint64_t rows;
};
// Then events of the episode, int64_t[length]; then rows.
struct EventRow {
  int64_t time;
  int64_t event;
};
constexpr uint32_t kFormat = 0x31706562;
constexpr size_t kFirstRows = 4;

struct State {
  struct varlena* value;

  std::byte* bytes() const { return reinterpret_cast<std::byte*>(VARDATA(value)); }
  size_t capacity() const { return VARSIZE(value) - VARHDRSZ; }
  Header header() const {
    Header header;
    memcpy(&header, bytes(), sizeof header);
    return header;
  }
  void set_header(const Header& header) const { memcpy(bytes(), &header, sizeof header); }
  std::byte* episode() const { return bytes() + sizeof(Header); }
  std::byte* rows() const { return episode() + header().length * sizeof(int64_t); }
  static size_t size(const Header& header) {
    return sizeof header + header.length * sizeof(int64_t) + header.rows * sizeof(EventRow);
  }
};

State allocate(size_t bytes) {
  if (bytes > MaxAllocSize - VARHDRSZ)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many events of the episode in one group"),
                    errhint("Use the table function batmap_episode_count.")));
  auto* const value = static_cast<struct varlena*>(palloc(bytes + VARHDRSZ));
  SET_VARSIZE(value, bytes + VARHDRSZ);
  return {value};
}

/// The state in an argument. A state that a transition made is taken as it is, to be changed; elsewhere it is a copy.
/// @raises 22023 for bytes that are none
State state_argument(FunctionCallInfo fcinfo, int argument) {
  const bool own = argument == 0 && AggCheckCallContext(fcinfo, nullptr);
  const State state{own ? reinterpret_cast<struct varlena*>(PG_GETARG_POINTER(argument))
                        : reinterpret_cast<struct varlena*>(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(argument)))};
  if (!own) {
    const bool whole = state.capacity() >= sizeof(Header);
    const Header header = whole ? state.header() : Header{};
    const size_t rest = whole ? state.capacity() - sizeof(Header) : 0;
    if (!whole || header.format != kFormat || header.length == 0 || header.length > rest / sizeof(int64_t) ||
        header.rows > (rest - header.length * sizeof(int64_t)) / sizeof(EventRow) || header.gap.low < 0 ||
        header.gap.high < header.gap.low)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("not a state of batmap_episode_count_agg")));
  }
  return state;
}

/// With room for so many more rows.
State with_room(State state, uint64_t more) {
  Header header = state.header();
  const size_t used = State::size(header);
  const size_t needed = used + more * sizeof(EventRow);
  if (needed <= state.capacity()) return state;
  const State larger = allocate(grown_capacity(needed, needed / 4));
  memcpy(larger.bytes(), state.bytes(), used);
  return larger;
}

/// The episode and the gap of one call, as a state has them.
struct Question {
  const int64_t* events;
  uint32_t length;
  Gap gap;
};

template <typename GapEnd>
Question question_of(FunctionCallInfo fcinfo, GapEnd gap_end) {
  if (PG_ARGISNULL(3)) ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("episode must not be NULL")));
  if (PG_ARGISNULL(4)) ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("gap_low must not be NULL")));
  ArrayType* const episode = PG_GETARG_ARRAYTYPE_P(3);
  if (ARR_NDIM(episode) != 1)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("episode must be a list of events")));
  if (array_contains_nulls(episode))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("episode must not contain NULL")));
  const Gap gap{gap_end(4), PG_ARGISNULL(5) ? Gap::kUnbounded : gap_end(5)};
  guarded([&] { check_gap(gap); });
  return {reinterpret_cast<const int64_t*>(ARR_DATA_PTR(episode)), static_cast<uint32_t>(ARR_DIMS(episode)[0]), gap};
}

State new_state(const Question& question) {
  const Header header{kFormat, question.length, question.gap, 0};
  const State state = allocate(State::size(header) + kFirstRows * sizeof(EventRow));
  state.set_header(header);
  memcpy(state.episode(), question.events, question.length * sizeof(int64_t));
  return state;
}

void check_same(State state, const Question& question) {
  const Header header = state.header();
  if (header.length != question.length || header.gap.low != question.gap.low || header.gap.high != question.gap.high ||
      memcmp(state.episode(), question.events, question.length * sizeof(int64_t)) != 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("episode, gap_low and gap_high must be the same for all rows of a group")));
}

Datum transition(FunctionCallInfo fcinfo, TimeKind kind, Oid gap_type, bool narrow_event) {
  const Question question =
      question_of(fcinfo, [&](int argument) { return gap_bound(kind, gap_type, PG_GETARG_DATUM(argument)); });
  State state = PG_ARGISNULL(0) ? new_state(question) : state_argument(fcinfo, 0);
  check_same(state, question);
  if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2)) {
    const EventRow row{ticks_of(kind, PG_GETARG_DATUM(1)), narrow_event ? PG_GETARG_INT32(2) : PG_GETARG_INT64(2)};
    if (std::find(question.events, question.events + question.length, row.event) != question.events + question.length) {
      state = with_room(state, 1);
      Header header = state.header();
      memcpy(state.rows() + header.rows * sizeof row, &row, sizeof row);
      ++header.rows;
      state.set_header(header);
    }
  }
  PG_RETURN_POINTER(state.value);
}

int64_t count_in_engine(State state) {
  const Header header = state.header();
  std::vector<int64_t> events(header.length);
  memcpy(events.data(), state.episode(), header.length * sizeof(int64_t));
  // By number: small codes whatever the events.
  std::vector<int64_t> names = events;
  std::sort(names.begin(), names.end());
  const auto number = [&](int64_t event) {
    return static_cast<int64_t>(std::lower_bound(names.begin(), names.end(), event) - names.begin());
  };
  GivenEpisodes given{.events = {}, .length = header.length, .gaps = {header.gap}, .method = {}};
  for (const int64_t event : events) given.events.push_back(number(event));
  MemoryMeter meter(memory_limit_bytes());
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = backend_cancel_token()};
  EventLog log(options, false, header.rows);
  for (uint64_t k = 0; k < header.rows; ++k) {
    EventRow row;
    memcpy(&row, state.rows() + k * sizeof row, sizeof row);
    log.append(row.time, number(row.event));
  }
  EpisodeReport report;
  return static_cast<int64_t>(count_given(streams_of(std::move(log), {}, given, options), given, options, report)[0]);
}

}  // namespace

BATMAP_FUNCTION(batmap_episode_count_trans_int8_int4) { return transition(fcinfo, TimeKind::kInteger, INT8OID, true); }
BATMAP_FUNCTION(batmap_episode_count_trans_int8_int8) { return transition(fcinfo, TimeKind::kInteger, INT8OID, false); }
BATMAP_FUNCTION(batmap_episode_count_trans_float8_int4) { return transition(fcinfo, TimeKind::kFloat, FLOAT8OID, true); }
BATMAP_FUNCTION(batmap_episode_count_trans_float8_int8) { return transition(fcinfo, TimeKind::kFloat, FLOAT8OID, false); }
BATMAP_FUNCTION(batmap_episode_count_trans_timestamptz_int4) {
  return transition(fcinfo, TimeKind::kTimestamp, INTERVALOID, true);
}
BATMAP_FUNCTION(batmap_episode_count_trans_timestamptz_int8) {
  return transition(fcinfo, TimeKind::kTimestamp, INTERVALOID, false);
}

BATMAP_FUNCTION(batmap_episode_count_merge) {
  if (PG_ARGISNULL(1)) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    PG_RETURN_DATUM(PG_GETARG_DATUM(0));
  }
  const State other = state_argument(fcinfo, 1);
  if (PG_ARGISNULL(0)) PG_RETURN_POINTER(other.value);
  State state = state_argument(fcinfo, 0);
  const Header added = other.header();
  check_same(state, {reinterpret_cast<const int64_t*>(other.episode()), added.length, added.gap});
  state = with_room(state, added.rows);
  Header header = state.header();
  memcpy(state.rows() + header.rows * sizeof(EventRow), other.rows(), added.rows * sizeof(EventRow));
  header.rows += added.rows;
  state.set_header(header);
  PG_RETURN_POINTER(state.value);
}

BATMAP_FUNCTION(batmap_episode_count_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_INT64(0);
  const State state = state_argument(fcinfo, 0);
  PG_RETURN_INT64(guarded([&] { return count_in_engine(state); }));
}
