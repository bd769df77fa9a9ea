// Aggregate batmap_episode_count_agg and the type of its state, batmap_episode_state. The aggregate counts
// how often one episode occurs among the events of a group. The state is a flat value that grows in place. It
// holds the episode, its gap, and those events of the group that occur in the episode, 16 bytes each; all
// other events are dropped at once. The order of the rows does not matter: states of parallel workers are
// concatenated. The text form is "e1:" and the bytes in base64.
#include <cstring>
#include <span>

#include "episodes/episode_run.h"
#include "episodes/episode_state.h"
#include "extension/input/arguments.h"
#include "extension/input/event_source.h"
#include "extension/input/gap_list.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/flat_value.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr size_t kFirstRows = 4;

std::byte* state_bytes(struct varlena* state) { return flat_bytes(state).data(); }

struct varlena* allocate(size_t bytes) {
  if (bytes > MaxAllocSize - VARHDRSZ)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many events of the episode in one group"),
                    errhint("Use the table function batmap_episode_count.")));
  auto* const state = static_cast<struct varlena*>(palloc(bytes + VARHDRSZ));
  SET_VARSIZE(state, bytes + VARHDRSZ);
  return state;
}

const FlatType kType = {"batmap_episode_state", "e1:", nullptr, allocate, is_episode_state};

struct varlena* state_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kType, fcinfo, argument);
}

struct varlena* validated(struct varlena* value) {
  guarded([&] { validate_episode_state(flat_bytes(value)); });
  return value;
}

/// The bytes of a state without its free space.
std::span<const std::byte> used_bytes(struct varlena* state) {
  return flat_bytes(state).first(episode_state_header(state_bytes(state)).bytes());
}

struct varlena* with_room(struct varlena* state, uint64_t more_rows) {
  const size_t used = episode_state_header(state_bytes(state)).bytes();
  const size_t needed = used + more_rows * kEpisodeStateRowBytes;
  if (needed <= flat_bytes(state).size()) return state;
  struct varlena* const larger = allocate(grown_capacity(needed, needed / 4));
  memcpy(state_bytes(larger), state_bytes(state), used);
  return larger;
}

/// @raises 22023 unless both states have the same episode and gap
void check_same(struct varlena* state, const std::byte* other) {
  if (!same_episode(state_bytes(state), other))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("episode, gap_low and gap_high must be the same for all rows of a group"),
                    errhint("batmap_episode_count counts many episodes in one call.")));
}

/// A state without rows, made from the arguments of a transition.
struct varlena* empty_state(FunctionCallInfo fcinfo, TimeKind kind, Oid gap_type) {
  const Arguments arguments{fcinfo, 0};
  arguments.require(3, "episode");
  arguments.require(4, "gap_low");
  ArrayType* const episode = PG_GETARG_ARRAYTYPE_P(3);
  if (ARR_NDIM(episode) != 1)
    ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("episode must be a list of events"),
                    errhint("Give ARRAY[a, b].")));
  if (array_contains_nulls(episode))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("episode must not contain NULL")));
  EpisodeStateHeader header;
  header.length = static_cast<uint32_t>(ARR_DIMS(episode)[0]);
  const Datum high = PG_GETARG_DATUM(5);
  header.gap = gap_between(kind, gap_type, PG_GETARG_DATUM(4), PG_ARGISNULL(5) ? nullptr : &high);
  struct varlena* const state = allocate(header.bytes() + kFirstRows * kEpisodeStateRowBytes);
  set_episode_state_header(state_bytes(state), header);
  memcpy(state_bytes(state) + sizeof header, ARR_DATA_PTR(episode), header.length * sizeof(int64_t));
  return state;
}

bool names(struct varlena* state, int64_t event) {
  const EpisodeStateHeader header = episode_state_header(state_bytes(state));
  for (uint32_t k = 0; k < header.length; ++k)
    if (memcmp(state_bytes(state) + sizeof header + k * sizeof event, &event, sizeof event) == 0) return true;
  return false;
}

/// @tparam Kind, TimeType  of the second argument
template <TimeKind Kind, Oid TimeType>
Datum transition(FunctionCallInfo fcinfo, bool narrow_event) {
  constexpr TimeKind kind = Kind;
  constexpr Oid gap_type = kind == TimeKind::kInteger ? INT8OID : kind == TimeKind::kFloat ? FLOAT8OID : INTERVALOID;
  struct varlena* const empty = empty_state(fcinfo, kind, gap_type);
  struct varlena* state = PG_ARGISNULL(0) ? empty : flat_state(kType, fcinfo);
  if (state != empty) {
    check_same(state, state_bytes(empty));
    pfree(empty);
  }
  if (PG_ARGISNULL(1) || PG_ARGISNULL(2)) PG_RETURN_POINTER(state);
  const int64_t event = narrow_event ? PG_GETARG_INT32(2) : PG_GETARG_INT64(2);
  const int64_t time = ticks_of(kind, TimeType)(PG_GETARG_DATUM(1));
  if (names(state, event)) {
    state = with_room(state, 1);
    append_episode_state_row(state_bytes(state), time, event);
  }
  PG_RETURN_POINTER(state);
}

int64_t count_state(struct varlena* state) {
  return guarded([&] {
    MemoryMeter meter(memory_limit_bytes(), session_memory());
    return static_cast<int64_t>(
        count_episode_state(state_bytes(state), {.threads = 1, .memory = &meter, .cancel = backend_cancel_token()}));
  });
}

}  // namespace

BATMAP_FUNCTION(batmap_episode_state_in) { PG_RETURN_POINTER(validated(flat_of_text(kType, PG_GETARG_CSTRING(0)))); }

BATMAP_FUNCTION(batmap_episode_state_out) { PG_RETURN_CSTRING(flat_to_text(kType, used_bytes(state_argument(fcinfo, 0)))); }

BATMAP_FUNCTION(batmap_episode_state_recv) {
  PG_RETURN_POINTER(validated(flat_of_message(kType, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)))));
}

BATMAP_FUNCTION(batmap_episode_state_send) {
  const std::span<const std::byte> bytes = used_bytes(state_argument(fcinfo, 0));
  PG_RETURN_BYTEA_P(cstring_to_text_with_len(reinterpret_cast<const char*>(bytes.data()), static_cast<int>(bytes.size())));
}

// A timestamp has the ticks of a timestamptz.
BATMAP_FUNCTION(batmap_episode_count_trans_int8_int4) { return transition<TimeKind::kInteger, INT8OID>(fcinfo, true); }
BATMAP_FUNCTION(batmap_episode_count_trans_int8_int8) { return transition<TimeKind::kInteger, INT8OID>(fcinfo, false); }
BATMAP_FUNCTION(batmap_episode_count_trans_float8_int4) { return transition<TimeKind::kFloat, FLOAT8OID>(fcinfo, true); }
BATMAP_FUNCTION(batmap_episode_count_trans_float8_int8) { return transition<TimeKind::kFloat, FLOAT8OID>(fcinfo, false); }
BATMAP_FUNCTION(batmap_episode_count_trans_timestamptz_int4) {
  return transition<TimeKind::kTimestamp, TIMESTAMPTZOID>(fcinfo, true);
}
BATMAP_FUNCTION(batmap_episode_count_trans_timestamptz_int8) {
  return transition<TimeKind::kTimestamp, TIMESTAMPTZOID>(fcinfo, false);
}
BATMAP_FUNCTION(batmap_episode_count_trans_date_int4) { return transition<TimeKind::kTimestamp, DATEOID>(fcinfo, true); }
BATMAP_FUNCTION(batmap_episode_count_trans_date_int8) { return transition<TimeKind::kTimestamp, DATEOID>(fcinfo, false); }
BATMAP_FUNCTION(batmap_episode_count_trans_days_int4) { return transition<TimeKind::kInteger, DATEOID>(fcinfo, true); }
BATMAP_FUNCTION(batmap_episode_count_trans_days_int8) { return transition<TimeKind::kInteger, DATEOID>(fcinfo, false); }

BATMAP_FUNCTION(batmap_episode_count_merge) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = state_argument(fcinfo, 1);
  if (PG_ARGISNULL(0)) PG_RETURN_POINTER(other);
  struct varlena* state = flat_state(kType, fcinfo);
  check_same(state, state_bytes(other));
  state = with_room(state, episode_state_header(state_bytes(other)).rows);
  append_episode_state(state_bytes(state), state_bytes(other));
  PG_RETURN_POINTER(state);
}

BATMAP_FUNCTION(batmap_episode_count_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_INT64(0);
  PG_RETURN_INT64(count_state(state_argument(fcinfo, 0)));
}
