// Aggregate batmap_join_project_agg and the type of its state, batmap_join_state. The state is two flat
// relations in one value (flat_join.h); it is changed in place while there is room, as in agg_relation.cpp.
// The final function computes the join. The text form is "j1:" and the bytes in base64.
#include <algorithm>
#include <span>
#include <vector>

#include "extension/aggregates/pair_array.h"
#include "extension/input/arguments.h"
#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/flat_value.h"
#include "extension/server/settings.h"
#include "pairs/join_run.h"
#include "relation/flat_join.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

constexpr size_t kMaxBytes = MaxAllocSize - VARHDRSZ;
constexpr size_t kFirstCapacity = kFlatHeaderBytes + kFlatSlack + 4 * sizeof(TidItem);
constexpr FlatSide kSides[] = {FlatSide::kLeft, FlatSide::kRight};

struct Capacities {
  size_t of[2];

  size_t& operator[](FlatSide side) { return of[static_cast<int>(side)]; }
  size_t bytes() const { return kFlatJoinHeaderBytes + of[0] + of[1]; }
};

struct varlena* state_allocate(size_t bytes) {
  if (bytes > kMaxBytes)
    ereport(ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("state of batmap_join_project_agg would be larger than 1 GB"),
             errhint("Use the table function batmap_join_project: it has no such limit.")));
  auto* const value = static_cast<struct varlena*>(palloc(bytes + VARHDRSZ));
  SET_VARSIZE(value, bytes + VARHDRSZ);
  return value;
}

const FlatType kType = {"batmap_join_state", "j1:", nullptr, state_allocate, is_flat_join};

std::span<std::byte> side_of(struct varlena* value, FlatSide side) { return flat_join_side(flat_bytes(value), side); }
FlatHeader header_of(struct varlena* value, FlatSide side) { return flat_header(side_of(value, side).data()); }

struct varlena* state_argument(FunctionCallInfo fcinfo, int argument) {
  return flat_argument(kType, fcinfo, argument);
}

struct varlena* state_with(Capacities capacities) {
  struct varlena* const state = state_allocate(capacities.bytes());
  flat_join_layout(flat_bytes(state).data(), capacities[FlatSide::kLeft]);
  return state;
}

/// Argument 0, the state, in a form that may be changed (flat_value.h). A new state if the argument is NULL.
struct varlena* writable_state(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(0)) {
    struct varlena* const state = state_with({{kFirstCapacity, kFirstCapacity}});
    for (const FlatSide side : kSides) flat_init(side_of(state, side).data());
    return state;
  }
  return flat_state(kType, fcinfo);
}

/// The state with at least these capacities. A side that is too small gets room to grow, unless that would
/// exceed the largest size of a value.
struct varlena* with_room(struct varlena* state, Capacities needed) {
  Capacities roomy{};
  Capacities min_capacities{};
  bool enough = true;
  for (const FlatSide side : kSides) {
    const size_t now = side_of(state, side).size();
    enough &= now >= needed[side];
    roomy[side] = now >= needed[side] ? now : grown_capacity(needed[side], needed[side] / 4);
    min_capacities[side] = std::max(needed[side], flat_used(header_of(state, side)));
  }
  if (enough) return state;
  if (roomy.bytes() > kMaxBytes) {  // both sides share what is left
    const size_t spare = kMaxBytes - std::min(min_capacities.bytes(), kMaxBytes);
    for (const FlatSide side : kSides) roomy[side] = min_capacities[side] + spare / 2;
  }
  struct varlena* const larger = state_with(roomy);
  for (const FlatSide side : kSides)
    memcpy(side_of(larger, side).data(), side_of(state, side).data(), flat_used(header_of(state, side)));
  return larger;
}

struct varlena* append(struct varlena* state, FlatSide side, TidItem pair) {
  std::span<std::byte> at = side_of(state, side);
  if (flat_append(at.data(), at.size(), pair)) return state;
  Capacities needed{};
  needed[side] = flat_used(flat_header(at.data())) + sizeof(TidItem) + kFlatSlack;
  state = with_room(state, needed);
  at = side_of(state, side);
  flat_append(at.data(), at.size(), pair);
  return state;
}

template <typename Integer>
Datum join_trans(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(2) || (PG_ARGISNULL(1) && PG_ARGISNULL(3))) return unchanged_state(fcinfo);
  struct varlena* state = writable_state(fcinfo);
  const int64_t b = integer_argument<Integer>(fcinfo, 2);
  if (!PG_ARGISNULL(1)) state = append(state, FlatSide::kLeft, {b, integer_argument<Integer>(fcinfo, 1)});
  if (!PG_ARGISNULL(3)) state = append(state, FlatSide::kRight, {b, integer_argument<Integer>(fcinfo, 3)});
  PG_RETURN_POINTER(state);
}

/// The finished form: both sides packed, without free space.
struct varlena* finished(struct varlena* state) {
  Capacities max_capacities{};
  for (const FlatSide side : kSides) max_capacities[side] = flat_finished_capacity(header_of(state, side));
  struct varlena* const value = state_allocate(max_capacities.bytes());
  std::byte* const sides = flat_bytes(value).data() + kFlatJoinHeaderBytes;
  const size_t left = flat_finish(side_of(state, FlatSide::kLeft).data(), sides);
  const size_t right = flat_finish(side_of(state, FlatSide::kRight).data(), sides + left);
  flat_join_layout(flat_bytes(value).data(), left);
  SET_VARSIZE(value, kFlatJoinHeaderBytes + left + right + VARHDRSZ);
  return value;
}

struct varlena* validated(struct varlena* value) {
  guarded([&] { flat_join_validate(flat_bytes(value)); });
  return value;
}

/// All answers of a small run at once.
struct JoinOfGroup {
  explicit JoinOfGroup(struct varlena* state) : meter(memory_limit_bytes(), session_memory()) {
    JoinQuery query;
    query.kernels = selected_kernels();
    const ExecutionOptions options{1, &meter, backend_cancel_token()};
    const auto chunks = [&](FlatSide side) { return JoinSide{flat_chunks(side_of(state, side).data()), {}}; };
    JoinRun run(join_relations(chunks(FlatSide::kLeft), chunks(FlatSide::kRight), options), query, options);
    PairBatch batch;
    while (run.next(batch)) rows.insert(rows.end(), batch.begin(), batch.end());
  }

  MemoryMeter meter;
  std::vector<PairRow> rows;
};

}  // namespace

BATMAP_FUNCTION(batmap_join_state_in) { PG_RETURN_POINTER(validated(flat_of_text(kType, PG_GETARG_CSTRING(0)))); }

BATMAP_FUNCTION(batmap_join_state_out) {
  PG_RETURN_CSTRING(flat_to_text(kType, flat_bytes(finished(state_argument(fcinfo, 0)))));
}

BATMAP_FUNCTION(batmap_join_state_recv) {
  PG_RETURN_POINTER(validated(flat_of_message(kType, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)))));
}

BATMAP_FUNCTION(batmap_join_state_send) { return sent(finished(state_argument(fcinfo, 0))); }

BATMAP_FUNCTION(batmap_join_trans_int4) { return join_trans<int32_t>(fcinfo); }
BATMAP_FUNCTION(batmap_join_trans_int8) { return join_trans<int64_t>(fcinfo); }

BATMAP_FUNCTION(batmap_join_merge) {
  if (PG_ARGISNULL(1)) return unchanged_state(fcinfo);
  struct varlena* const other = state_argument(fcinfo, 1);
  struct varlena* state = writable_state(fcinfo);
  Capacities needed{};
  for (const FlatSide side : kSides)
    needed[side] = guarded([&] { return flat_merged_capacity(header_of(state, side), side_of(other, side).data()); });
  state = with_room(state, needed);
  for (const FlatSide side : kSides) {
    const std::span<std::byte> at = side_of(state, side);
    guarded([&] { flat_merge(at.data(), at.size(), side_of(other, side).data(), backend_cancel_token()); });
  }
  PG_RETURN_POINTER(state);
}

BATMAP_FUNCTION(batmap_join_project_final) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap join", ALLOCSET_SMALL_SIZES);
  struct varlena* const state = finished(state_argument(fcinfo, 0));
  const JoinOfGroup* const join = ContextOwned<JoinOfGroup>::reserve(context)->emplace(state);
  const Datum array = pair_array(fcinfo, join->rows, "batmap_join_project");
  MemoryContextDelete(context);
  return array;
}
