// Makes, changes and flattens expanded states. See expanded_state.h.
#include "extension/types/expanded_state.h"

#include <new>
#include <type_traits>

#include "extension/server/backend.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/server/settings.h"

#include "extension/server/pg.h"

namespace batmap::pg {

std::byte* ContextSource::take(size_t bytes) {
  own_.charge(bytes);
  try {
    shared_->charge(bytes);
  } catch (...) {
    own_.release(bytes);
    throw;
  }
  // With this flag it does not raise an error, which must not jump over frames of the engine.
  void* const memory = MemoryContextAllocExtended(context_, bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
  if (memory == nullptr) {
    shared_->release(bytes);
    own_.release(bytes);
    throw std::bad_alloc();
  }
  return static_cast<std::byte*>(memory);
}

void ContextSource::give(std::byte* memory, size_t bytes) noexcept {
  pfree(memory);
  shared_->release(bytes);
  own_.release(bytes);
}

namespace {

/// The memory context of all objects below one context, in that context itself.
struct StateContext {
  MemoryContext parent;
  MemoryContext context;
  MemoryMeter* meter;
  StateContext* next;
  MemoryContextCallback at_end;
};

StateContext* state_contexts = nullptr;  // all of the backend: one for each aggregate that runs and has objects

void forget(void* ended) {
  StateContext** at = &state_contexts;
  while (*at != ended) at = &(*at)->next;
  *at = (*at)->next;
}

const StateContext& state_context(MemoryContext parent) {
  for (const StateContext* known = state_contexts; known != nullptr; known = known->next)
    if (known->parent == parent) return *known;
  const MemoryContext context = AllocSetContextCreate(parent, "batmap states", ALLOCSET_START_SMALL_SIZES);
  MemoryMeter* const meter = ContextOwned<MemoryMeter>::reserve(context)->emplace(MemoryMeter::kUnlimited, session_memory());
  auto* const made = static_cast<StateContext*>(MemoryContextAllocZero(context, sizeof(StateContext)));
  made->parent = parent;
  made->context = context;
  made->meter = meter;
  made->at_end.func = forget;
  made->at_end.arg = made;
  MemoryContextRegisterResetCallback(context, &made->at_end);
  made->next = state_contexts;
  state_contexts = made;
  return *made;
}

struct varlena* flattened(ExpandedState* state) {
  if (state->flat != nullptr) return state->flat;
  SetWork* const work = open_work();
  const size_t bytes = guarded([&] {
    state->sets.write(work->compact);
    return state_bytes(work->compact.bytes(), 0);
  });
  const MemoryContext caller = MemoryContextSwitchTo(state->header.eoh_context);
  struct varlena* const flat = state_allocate(bytes);
  MemoryContextSwitchTo(caller);
  state_init(state_data(flat), state->kind, state->width);
  guarded([&] { state_assign(state_data(flat), work->compact); });
  close_work(work);
  state->flat = flat;
  return flat;
}

void drop_flat(ExpandedState* state) {
  if (state->flat != nullptr) pfree(state->flat);
  state->flat = nullptr;
}

Size flat_size(ExpandedObjectHeader* header) { return VARSIZE(flattened(reinterpret_cast<ExpandedState*>(header))); }

void flatten_into(ExpandedObjectHeader* header, void* result, Size size) {
  auto* const state = reinterpret_cast<ExpandedState*>(header);
  memcpy(result, flattened(state), size);
  drop_flat(state);
}

const ExpandedObjectMethods kMethods = {flat_size, flatten_into};

ExpandedState* object_of_datum(Datum state) {
  ExpandedObjectHeader* const header = DatumGetEOHP(state);
  return header->eoh_methods == &kMethods ? reinterpret_cast<ExpandedState*>(header) : nullptr;
}

}  // namespace

ExpandedState::ExpandedState(MemoryContext context, MemoryMeter* meter, StateKind state_kind, uint8_t state_width)
    : kind(state_kind),
      width(state_width),
      source(context, meter),
      sets(operation_of(state_kind), *selected_set_kernel().compact, source, backend_cancel_token()) {
  EOH_init_header(&header, &kMethods, context);
}

ExpandedState* make_expanded(MemoryContext parent, StateKind kind, uint8_t width) {
  static_assert(std::is_trivially_destructible_v<CompactAccumulator>);
  const StateContext& shared = state_context(parent);
  return new (MemoryContextAlloc(shared.context, sizeof(ExpandedState)))
      ExpandedState(shared.context, shared.meter, kind, width);
}

ExpandedState* expanded_of_flat(MemoryContext parent, struct varlena* state) {
  const StateHeader flat = state_header(state_data(state));
  ExpandedState* const expanded = make_expanded(parent, flat.kind, flat.width);
  SetWork* const work = open_work();
  guarded([&] {
    const CompactView set =
        state_set(state_data(state), *selected_set_kernel().compact, work->compact, work->bytes, work->options);
    expanded->sets.add(set);
  });
  close_work(work);
  return expanded;
}

ExpandedState* expanded_of_datum(Datum state) {
  return VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(state)) ? object_of_datum(state) : nullptr;
}

ExpandedState* writable_of_datum(Datum state) {
  return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(state)) ? object_of_datum(state) : nullptr;
}

void add_to_expanded(ExpandedState* state, const CompactView& set) {
  drop_flat(state);
  guarded([&] { state->sets.add(set); });
}

}  // namespace batmap::pg
