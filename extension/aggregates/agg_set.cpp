// Aggregates over sets and over elements: transition, merge and final functions. A state begins as one flat value with
// room to grow (kernels/set/set_state.h), changed in place while there is room (as in agg_relation.cpp): a group of few
// elements has no C++ object and no memory context. A state that sets have joined and that is not small becomes an object,
// whose blocks are changed in place (types/expanded_state.h).
//
// Elements, and sets that are small beside the set so far, are appended to a flat state as elements. When the room is used up,
// they are merged into the set so far. Its size decides how much room there is then, so an element is copied a bounded number
// of times on average.
#include <algorithm>
#include <cstring>
#include <span>

#include "extension/input/arguments.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/flat_value.h"
#include "extension/server/own_aggregate.h"
#include "extension/server/settings.h"
#include "extension/types/expanded_state.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_state_datum.h"
#include "set/set_decode.h"
#include "set/set_operations.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr size_t kFirstElements = 6;
/// A set is appended as elements if they take at most this part of the bytes of the set so far.
constexpr size_t kSmallPart = 4;
/// Bytes of a state and a set from which up a state becomes an object when the set joins it. An object takes 2 KB.
constexpr size_t kSmallState = 256;
/// Bytes of the first set of a group from which up the state is an object at once.
constexpr size_t kLargeSet = 4096;

const CompactKernel& compact_kernel() { return *selected_set_kernel().compact; }

struct varlena* new_state(StateKind kind, int width, size_t compact, size_t elements) {
  struct varlena* const state = state_allocate(state_bytes(compact, elements));
  state_init(state_data(state), kind, static_cast<uint8_t>(width));
  return state;
}

[[noreturn]] void raise_other_aggregate() {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("batmap_state of another aggregate")));
  pg_unreachable();
}

/// Argument 0, the state, in a flat form that may be changed (flat_value.h). @raises 22023 when it is
/// of another aggregate
struct varlena* writable_state(FunctionCallInfo fcinfo, StateKind kind) {
  struct varlena* const state = flat_state(kStateType, fcinfo);
  if (state_header(state_data(state)).kind != kind) raise_other_aggregate();
  return state;
}

/// Whether no further set can change a state: an intersection that is empty.
bool is_settled(struct varlena* state) {
  constexpr uint32_t kEmptyBytes = 1;  // the compact form of the empty set, and of no other
  const StateHeader header = state_header(state_data(state));
  return header.kind == StateKind::kIntersection && header.compact == kEmptyBytes;
}

/// The state with the set that `work->compact` has instead of its own, and room for `elements` more. The same value if its
/// room is large enough.
struct varlena* with_set(struct varlena* state, SetWork* work, size_t elements) {
  const size_t compact = guarded([&] { return work->compact.bytes(); });
  const size_t needed = state_bytes(compact, elements);
  if (needed > state_capacity(state)) {
    const StateHeader header = state_header(state_data(state));
    state = state_allocate(grown_capacity(needed, needed / 2));
    set_state_header(state_data(state), header);
  }
  guarded([&] { state_assign(state_data(state), work->compact); });
  return state;
}

/// The state with room for this many more elements.
struct varlena* with_room(struct varlena* state, size_t elements) {
  const StateHeader header = state_header(state_data(state));
  const size_t needed = state_used(header) + elements * sizeof(uint64_t);
  if (needed <= state_capacity(state)) return state;
  // While there are few, they only get more room.
  constexpr size_t kFewElements = 4096;
  if (header.compact == 0 && header.pending + elements <= kFewElements) {
    struct varlena* const larger = state_allocate(grown_capacity(needed, needed / 2));
    memcpy(state_data(larger), state_data(state), state_used(header));
    return larger;
  }
  SetWork* const work = open_work();
  const size_t merged = guarded([&] {
    state_result(state_data(state), compact_kernel(), work->compact, work->options);
    return work->compact.bytes();
  });
  // More room is a wish: a large set may leave little below 1 GB.
  const size_t least = state_bytes(merged, elements);
  const size_t most = MaxAllocSize - VARHDRSZ;
  const size_t spare = least < most ? (most - least) / 2 / sizeof(uint64_t) : 0;
  state = with_set(state, work, elements + std::min(spare, std::max(kFewElements, merged / kSmallPart)));
  close_work(work);
  return state;
}

CompactView open_compact(std::span<const std::byte> bytes) {
  return guarded([&] { return CompactView::open(bytes); });
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

Datum append_element(FunctionCallInfo fcinfo, uint64_t x, int width) {
  struct varlena* state =
      PG_ARGISNULL(0) ? new_state(StateKind::kUnion, width, 0, kFirstElements) : writable_state(fcinfo, StateKind::kUnion);
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
  return append_element(fcinfo, checked_element(integer_argument<Integer>(fcinfo, 1)), kUndeclaredWidth);
}

template <typename Integer>
Datum element_universe_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  if (PG_ARGISNULL(2)) return element_trans<Integer>(fcinfo);
  const Typmod typmod = declared_universe(PG_GETARG_INT64(2));
  const uint64_t x = checked_element(integer_argument<Integer>(fcinfo, 1));
  if (x >= typmod.universe) raise_element_out_of_range(x, typmod.universe);
  return append_element(fcinfo, x, typmod.width);
}

/// The state with one more set.
struct varlena* with_more(struct varlena* state, const SetView& set, SetWork* work) {
  const StateHeader header = state_header(state_data(state));
  if (header.kind != StateKind::kIntersection && set.cardinality() * sizeof(uint64_t) * kSmallPart <= header.compact) {
    guarded([&] { decode(set, work->elements, work->options); });
    state = with_room(state, work->elements.size());
    state_append(state_data(state), state_capacity(state), work->elements.span());
    return state;
  }
  guarded([&] {
    const SetView other = as_compact(set, work->bytes, work->options);
    state_combine(state_data(state), other.compact(), compact_kernel(), work->compact, work->options);
  });
  return with_set(state, work, 0);
}

void check_kind(const ExpandedState* state, StateKind kind) {
  if (state->kind != kind) raise_other_aggregate();
}

/// The context in which the states of a running aggregate live.
MemoryContext group_context(FunctionCallInfo fcinfo) {
  MemoryContext context = nullptr;
  AggCheckCallContext(fcinfo, &context);
  return context;
}

void add_set_to(ExpandedState* state, const SetView& set) {
  if (set.is_compact()) return add_to_expanded(state, set.compact());
  SetWork* const work = open_work();
  const CompactView compact = guarded([&] { return as_compact(set, work->bytes, work->options).compact(); });
  add_to_expanded(state, compact);
  close_work(work);
}

/// A flat state of one set.
struct varlena* state_of_set(StateKind kind, const SetView& set) {
  if (set.is_compact()) {
    const std::span<const std::byte> bytes = set.compact().span();
    struct varlena* const state = new_state(kind, kUndeclaredWidth, bytes.size(), 0);
    state_assign(state_data(state), bytes);
    return state;
  }
  SetWork* const work = open_work();
  guarded([&] { add_set(set, work->compact, work->options); });
  struct varlena* const state = with_set(new_state(kind, kUndeclaredWidth, 0, 0), work, 0);
  close_work(work);
  return state;
}

/// An aggregate of the extension: its states may be objects.
Datum own_set_trans(FunctionCallInfo fcinfo, StateKind kind) {
  ExpandedState* expanded = nullptr;
  if (PG_ARGISNULL(0)) {
    const SetView set = set_argument(fcinfo, 1);
    if (set.bytes() < kLargeSet) PG_RETURN_POINTER(state_of_set(kind, set));
    expanded = make_expanded(group_context(fcinfo), kind, kUndeclaredWidth);
    add_set_to(expanded, set);
    return datum_of_expanded(expanded);
  }
  expanded = writable_of_datum(PG_GETARG_DATUM(0));
  if (expanded != nullptr) {
    check_kind(expanded, kind);
    if (!expanded->sets.is_settled()) add_set_to(expanded, set_argument(fcinfo, 1));
    return PG_GETARG_DATUM(0);
  }
  struct varlena* const state = writable_state(fcinfo, kind);
  if (is_settled(state)) PG_RETURN_POINTER(state);
  const SetView set = set_argument(fcinfo, 1);
  if (state_used(state_header(state_data(state))) + set.bytes() > kSmallState) {
    expanded = expanded_of_flat(group_context(fcinfo), state);
    add_set_to(expanded, set);
    return datum_of_expanded(expanded);
  }
  SetWork* const work = open_work(VARSIZE(state) + set.bytes());
  struct varlena* const more = with_more(state, set, work);
  close_work(work);
  PG_RETURN_POINTER(more);
}

Datum set_trans(FunctionCallInfo fcinfo, StateKind kind) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  if (runs_for_own_aggregate(fcinfo)) return own_set_trans(fcinfo, kind);
  if (PG_ARGISNULL(0)) PG_RETURN_POINTER(state_of_set(kind, set_argument(fcinfo, 1)));
  struct varlena* const state = writable_state(fcinfo, kind);
  if (is_settled(state)) PG_RETURN_POINTER(state);
  const SetView set = set_argument(fcinfo, 1);
  SetWork* const work = open_work(VARSIZE(state) + set.bytes());
  struct varlena* const more = with_more(state, set, work);
  close_work(work);
  PG_RETURN_POINTER(more);
}

}  // namespace

BATMAP_FUNCTION(batmap_agg_trans_int2) { return element_trans<int16_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int4) { return element_trans<int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int8) { return element_trans<int64_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int2_universe) { return element_universe_trans<int16_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int4_universe) { return element_universe_trans<int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_agg_trans_int8_universe) { return element_universe_trans<int64_t>(fcinfo); }

BATMAP_FUNCTION(batmap_or_trans) { return set_trans(fcinfo, StateKind::kUnion); }
BATMAP_FUNCTION(batmap_xor_trans) { return set_trans(fcinfo, StateKind::kSymmetricDifference); }
BATMAP_FUNCTION(batmap_and_trans) { return set_trans(fcinfo, StateKind::kIntersection); }

namespace {

/// Merges another state into one that is an object.
void merge_into(ExpandedState* state, struct varlena* other) {
  const StateHeader theirs = state_header(state_data(other));
  SetWork* const work = open_work();
  const CompactView set =
      guarded([&] { return state_set(state_data(other), compact_kernel(), work->compact, work->bytes, work->options); });
  add_to_expanded(state, set);
  close_work(work);
  if (theirs.width > state->width) state->width = theirs.width;
}

/// Argument 0 as an object, if an aggregate of the extension runs and the two states are not small.
ExpandedState* merged_object(FunctionCallInfo fcinfo, struct varlena* other) {
  if (!runs_for_own_aggregate(fcinfo)) return nullptr;
  ExpandedState* const expanded = writable_of_datum(PG_GETARG_DATUM(0));
  if (expanded != nullptr) return expanded;
  struct varlena* const state = state_argument(fcinfo, 0);
  const size_t used = state_used(state_header(state_data(state))) + state_used(state_header(state_data(other)));
  return used > kSmallState ? expanded_of_flat(group_context(fcinfo), state) : nullptr;
}

Datum merge_states(FunctionCallInfo fcinfo, bool same_universe) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = state_argument(fcinfo, 1);
  if (PG_ARGISNULL(0)) PG_RETURN_POINTER(state_trimmed(other));
  const StateHeader theirs = state_header(state_data(other));
  if (ExpandedState* const expanded = merged_object(fcinfo, other)) {
    check_kind(expanded, theirs.kind);
    if (same_universe) check_same_universe(expanded->width, theirs.width);
    merge_into(expanded, other);
    return datum_of_expanded(expanded);
  }
  struct varlena* state = writable_state(fcinfo, theirs.kind);
  if (same_universe) check_same_universe(state_header(state_data(state)).width, theirs.width);
  if (theirs.compact > 0) {
    SetWork* const work = open_work();
    const SetView set = open_set(state_compact(state_data(other)));
    if (!set.is_compact()) raise_unsound(kStateType);
    state = with_more(state, set, work);
    close_work(work);
  }
  if (theirs.pending > 0) {
    state = with_room(state, theirs.pending);
    state_append(state_data(state), state_capacity(state), state_pending(state_data(other)));
  }
  widen(state, theirs.width);
  PG_RETURN_POINTER(state);
}

/// Argument 0 of a final function: an object, a flat state of one set, or a flat state that has to be merged.
struct FinalState {
  const ExpandedState* expanded;
  struct varlena* flat;
  bool is_one_set;
};

FinalState final_state(FunctionCallInfo fcinfo) {
  if (const ExpandedState* const expanded = expanded_of_datum(PG_GETARG_DATUM(0))) return {expanded, nullptr, false};
  struct varlena* const flat = state_argument(fcinfo, 0);
  const StateHeader header = state_header(state_data(flat));
  return {nullptr, flat, header.compact > 0 && header.pending == 0};
}

/// The set of a state, in `work->compact`.
SetWork* merged(const FinalState& state) {
  SetWork* const work = state.expanded != nullptr ? open_work() : open_work(VARSIZE(state.flat));
  guarded([&] {
    if (state.expanded != nullptr)
      state.expanded->sets.write(work->compact);
    else
      state_result(state_data(state.flat), compact_kernel(), work->compact, work->options);
  });
  return work;
}

Datum state_count(FunctionCallInfo fcinfo) {
  const FinalState state = final_state(fcinfo);
  if (state.expanded != nullptr)
    PG_RETURN_INT64(static_cast<int64>(guarded([&] { return state.expanded->sets.cardinality(); })));
  if (state.is_one_set)
    PG_RETURN_INT64(static_cast<int64>(open_compact(state_compact(state_data(state.flat))).cardinality()));
  SetWork* const work = merged(state);
  const auto count = static_cast<int64>(work->compact.cardinality());
  close_work(work);
  PG_RETURN_INT64(count);
}

}  // namespace

// Elements of a declared universe must all declare the same one.
BATMAP_FUNCTION(batmap_state_merge) { return merge_states(fcinfo, false); }
BATMAP_FUNCTION(batmap_agg_merge) { return merge_states(fcinfo, true); }

BATMAP_FUNCTION(batmap_state_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const FinalState state = final_state(fcinfo);
  if (state.is_one_set) {
    const std::span<const std::byte> set = open_compact(state_compact(state_data(state.flat))).span();
    struct varlena* const value = allocate_value(set.size());
    memcpy(VARDATA(value), set.data(), set.size());
    PG_RETURN_POINTER(value);
  }
  SetWork* const work = merged(state);
  struct varlena* const value = compact_value(work);
  close_work(work);
  PG_RETURN_POINTER(value);
}

BATMAP_FUNCTION(batmap_state_cardinality) {
  if (PG_ARGISNULL(0)) PG_RETURN_INT64(0);
  return state_count(fcinfo);
}

BATMAP_FUNCTION(batmap_state_and_cardinality) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  return state_count(fcinfo);
}
