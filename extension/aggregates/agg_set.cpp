// Aggregates over sets and over elements: transition, merge and final functions. The state is one flat value
// with room to grow. It is changed in place while there is room (as in agg_relation.cpp); there is no C++
// object and no memory context per group. When the room is used up, the elements are sorted and duplicates
// are removed. The state grows only if it is still more than half full after that.
#include <algorithm>
#include <cstring>

#include "extension/input/arguments.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/flat_value.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_state_datum.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr size_t kFirstElements = 6;

size_t grown(size_t needed) { return grown_capacity(needed, needed / 2); }

struct varlena* copy_with_capacity(struct varlena* value, size_t capacity) {
  struct varlena* const copy = state_allocate(capacity);
  memcpy(state_data(copy), state_data(value), state_used(state_header(state_data(value))));
  return copy;
}

struct varlena* new_state(StateKind kind, int width, size_t elements) {
  struct varlena* const state = state_allocate(state_bytes(std::max(elements, kFirstElements)));
  state_init(state_data(state), kind, static_cast<uint8_t>(width));
  return state;
}

/// Argument 0, the state, in a form that may be changed (flat_value.h). @raises 22023 when it is
/// of another aggregate
struct varlena* writable_state(FunctionCallInfo fcinfo, StateKind kind) {
  struct varlena* const state = flat_state(kStateType, fcinfo);
  if (state_header(state_data(state)).kind != kind)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("batmap_state of another aggregate")));
  return state;
}

/// The state with room for this many more elements.
struct varlena* with_room(struct varlena* state, size_t elements) {
  auto needed = [&] { return state_used(state_header(state_data(state))) + elements * sizeof(uint64_t); };
  if (needed() <= state_capacity(state)) return state;
  guarded([&] { state_compact(state_data(state), backend_cancel_token()); });
  if (needed() <= state_capacity(state) / 2) return state;
  return copy_with_capacity(state, grown(needed()));
}

void widen(struct varlena* state, int width) {
  StateHeader header = state_header(state_data(state));
  header.width = std::max(header.width, static_cast<uint8_t>(width));
  set_state_header(state_data(state), header);
}

void check_same_universe(int width, int other) {
  if (width != other)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("universe must be the same for all rows of a group"),
                    errhint("Give a constant, or add the universe to GROUP BY.")));
}

Datum append_element(FunctionCallInfo fcinfo, int64 argument, int width) {
  const uint64_t x = checked_element(argument);
  if (width != kUndeclaredWidth && x >> width != 0) raise_element_out_of_range(x, width);
  struct varlena* state =
      PG_ARGISNULL(0) ? new_state(StateKind::kUnion, width, 0) : writable_state(fcinfo, StateKind::kUnion);
  check_same_universe(state_header(state_data(state)).width, width);
  if (!state_append(state_data(state), state_capacity(state), x)) {
    state = with_room(state, 1);
    state_append(state_data(state), state_capacity(state), x);
  }
  PG_RETURN_POINTER(state);
}

template <typename Integer>
Datum element_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  return append_element(fcinfo, integer_argument<Integer>(fcinfo, 1), kUndeclaredWidth);
}

template <typename Integer>
Datum element_universe_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  const int width = PG_ARGISNULL(2) ? kUndeclaredWidth : width_of_universe(PG_GETARG_INT64(2));
  return append_element(fcinfo, integer_argument<Integer>(fcinfo, 1), width);
}

/// Union and symmetric difference: appends the elements of the set to those of the state.
Datum collect_trans(FunctionCallInfo fcinfo, StateKind kind) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  const SetView set = set_argument(fcinfo, 1);
  SetWork* const work = open_work();
  guarded([&] { decode(set, work->elements, work->options); });
  struct varlena* state =
      PG_ARGISNULL(0) ? new_state(kind, set.width(), work->elements.size()) : writable_state(fcinfo, kind);
  state = with_room(state, work->elements.size());
  state_append(state_data(state), state_capacity(state), work->elements.span());
  widen(state, set.width());
  close_work(work);
  PG_RETURN_POINTER(state);
}

}  // namespace

BATMAP_FUNCTION(batmap_agg_trans_int2) { return element_trans<int16_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int4) { return element_trans<int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int8) { return element_trans<int64_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int2_universe) { return element_universe_trans<int16_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int4_universe) { return element_universe_trans<int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int8_universe) { return element_universe_trans<int64_t>(fcinfo); }

BATMAP_FUNCTION(batmap_or_trans) { return collect_trans(fcinfo, StateKind::kUnion); }
BATMAP_FUNCTION(batmap_xor_trans) { return collect_trans(fcinfo, StateKind::kSymmetricDifference); }

BATMAP_FUNCTION(batmap_and_trans) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  const bool first = PG_ARGISNULL(0);
  struct varlena* state = first ? nullptr : writable_state(fcinfo, StateKind::kIntersection);
  if (!first && state_header(state_data(state)).count == 0) {
    widen(state, set_header(fcinfo, 1).width());
    PG_RETURN_POINTER(state);
  }
  const SetView set = set_argument(fcinfo, 1);
  if (!first && state_header(state_data(state)).count <= set.cardinality()) {
    const std::span<uint64_t> elements = state_elements(state_data(state));
    state_truncate(state_data(state), guarded([&] { return keep_members(set, elements, backend_cancel_token()); }));
  } else {
    SetWork* const work = open_work();
    guarded([&] { decode(set, work->elements, work->options); });
    if (first) {
      state = new_state(StateKind::kIntersection, set.width(), work->elements.size());
      state_assign(state_data(state), state_capacity(state), work->elements.span());
    } else {
      state_intersect(state_data(state), work->elements.span());
    }
    close_work(work);
  }
  widen(state, set.width());
  PG_RETURN_POINTER(state);
}

namespace {

Datum merge_states(FunctionCallInfo fcinfo, bool same_universe) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = state_argument(fcinfo, 1);
  if (PG_ARGISNULL(0)) PG_RETURN_POINTER(copy_with_capacity(other, state_used(state_header(state_data(other)))));
  const StateHeader theirs = state_header(state_data(other));
  struct varlena* state = writable_state(fcinfo, theirs.kind);
  if (same_universe) check_same_universe(state_header(state_data(state)).width, theirs.width);
  if (theirs.kind != StateKind::kIntersection) state = with_room(state, theirs.count);
  state_merge(state_data(state), state_capacity(state), state_data(other));
  PG_RETURN_POINTER(state);
}

}  // namespace

// Sets of different universes may be united; elements of a declared universe must all declare the same one.
BATMAP_FUNCTION(batmap_state_merge) { return merge_states(fcinfo, false); }
BATMAP_FUNCTION(batmap_agg_merge) { return merge_states(fcinfo, true); }

BATMAP_FUNCTION(batmap_state_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  struct varlena* const state = state_argument(fcinfo, 0);
  const int declared = state_header(state_data(state)).width;
  SetWork* const work = open_work();
  guarded([&] { state_finish(state_data(state), work->elements, work->options.cancel); });
  const int32 typmod = declared == kUndeclaredWidth ? -1 : declared;
  struct varlena* const value = encode_set(work, width_of_typmod(typmod, work->elements.span()));
  close_work(work);
  PG_RETURN_POINTER(value);
}

namespace {

Datum state_count(FunctionCallInfo fcinfo) {
  struct varlena* const state = state_argument(fcinfo, 0);
  const StateHeader header = state_header(state_data(state));
  if (header.sorted != 0) PG_RETURN_INT64(header.count);
  SetWork* const work = open_work();
  guarded([&] { state_finish(state_data(state), work->elements, work->options.cancel); });
  const auto count = static_cast<int64>(work->elements.size());
  close_work(work);
  PG_RETURN_INT64(count);
}

}  // namespace

BATMAP_FUNCTION(batmap_state_cardinality) {
  if (PG_ARGISNULL(0)) PG_RETURN_INT64(0);
  return state_count(fcinfo);
}

BATMAP_FUNCTION(batmap_state_and_cardinality) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  return state_count(fcinfo);
}
