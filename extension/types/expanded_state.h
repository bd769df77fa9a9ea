// A batmap_state in the form in which it grows: an expanded object of the server around a CompactAccumulator. The server
// passes it from row to row by pointer, and makes it flat where it has to be stored or sent. States of few bytes stay flat
// (agg_set.cpp), because an object takes more.
//
// All objects of a context of groups share one memory context below it, so the server counts their bytes and frees them. With a
// context each, a hash aggregate, which adds up all contexts for every new group, would take time quadratic in the number of
// groups. The server deletes the context of an object only where a transition returns another value for it: ours never does.
//
// An expanded state is only changed for an aggregate of the extension (own_aggregate.h); everybody else gets flat copies.
#pragma once

#include "compact/compact_accumulator.h"
#include "extension/server/backend.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_state_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Memory of a context that many objects share, for one of them. It has the limit of a run for itself, and is charged to the
/// meter of the context besides, which gives back to the session what is left when the context ends.
class ContextSource final : public MemorySource {
 public:
  ContextSource(MemoryContext context, MemoryMeter* shared)
      : context_(context), shared_(shared), own_(memory_limit_bytes()) {}
  std::byte* take(size_t bytes) override;
  void give(std::byte* memory, size_t bytes) noexcept override;

 private:
  MemoryContext context_;
  MemoryMeter* shared_;
  MemoryMeter own_;
};

/// It is never destroyed: its memory ends with the context.
struct ExpandedState {
  ExpandedState(MemoryContext context, MemoryMeter* meter, StateKind kind, uint8_t width);

  ExpandedObjectHeader header;  // the first member
  StateKind kind;
  uint8_t width;
  struct varlena* flat = nullptr;  // its flat form, between the two questions of the server for its size and for its bytes
  ContextSource source;
  CompactAccumulator sets;
};

/// A new object without a set. @param parent  the context of the groups
ExpandedState* make_expanded(MemoryContext parent, StateKind kind, uint8_t width);
/// A new object with what a flat state has.
ExpandedState* expanded_of_flat(MemoryContext parent, struct varlena* state);

/// The object of a state. @return nullptr if the state is flat
ExpandedState* expanded_of_datum(Datum state);
/// The same for a state that may be changed: by a pointer that says so. @return nullptr if it is flat, or must not be changed
ExpandedState* writable_of_datum(Datum state);

/// What a transition returns for an object.
inline Datum datum_of_expanded(ExpandedState* state) { return EOHPGetRWDatum(&state->header); }

/// One more set.
void add_to_expanded(ExpandedState* state, const CompactView& set);

}  // namespace batmap::pg
