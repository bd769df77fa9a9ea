// Runs server code that may fail, and goes on.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Runs body() in a subtransaction. The body must not own anything. A caller that raises the error again must not hold interrupts.
/// @return the error that it raised, in the memory context of the caller; nullptr: it succeeded
template <typename Body>
ErrorData* error_of(Body&& body) {
  const MemoryContext caller = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  const uint32 held = InterruptHoldoffCount;  // an error sets it to 0
  ErrorData* volatile error = nullptr;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(caller);
  PG_TRY();
  {
    body();
    ReleaseCurrentSubTransaction();
  }
  PG_CATCH();
  {
    MemoryContextSwitchTo(caller);
    error = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
    InterruptHoldoffCount = held;
  }
  PG_END_TRY();
  MemoryContextSwitchTo(caller);
  CurrentResourceOwner = owner;
  return error;
}

}  // namespace batmap::pg
