// A batmap_state in the form in which it grows: an expanded object of the server around a CompactAccumulator. The server
// passes it from row to row by pointer, and makes it flat where it has to be stored or sent. Its memory context is below that
// of the group, so the server counts its bytes and frees it. States of few bytes stay flat (agg_set.cpp), because an object takes
// some kilobytes.
//
// An expanded state is only changed for an aggregate of the extension (own_aggregate.h); everybody else gets flat copies.
#pragma once

#include "compact/compact_accumulator.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_state_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Memory of a context, charged to a meter.
class ContextSource final : public MemorySource {
 public:
  ContextSource(MemoryContext context, MemoryMeter* meter) : context_(context), meter_(meter) {}
  std::byte* take(size_t bytes) override;
  void give(std::byte* memory, size_t bytes) noexcept override;

 private:
  MemoryContext context_;
  MemoryMeter* meter_;
};

struct ExpandedState {
  ExpandedState(MemoryContext context, MemoryMeter* meter, StateKind kind, uint8_t width);

  ExpandedObjectHeader header;  // the first member
  StateKind kind;
  uint8_t width;
  struct varlena* flat = nullptr;  // its flat form, if that has been asked for since the last change
  ContextSource source;
  CompactAccumulator sets;
};

/// A new object without a set, below `parent`.
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
