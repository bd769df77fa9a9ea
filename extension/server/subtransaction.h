// Runs server code that may fail, and goes on.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// What becomes of a subtransaction that succeeds.
enum class Success { kKept, kRolledBack };

/// Runs body() in a subtransaction. The body must not own anything. A caller that raises the error again must not hold interrupts.
/// @return the error that it raised, in the memory context of the caller; nullptr: it succeeded
template <typename Body>
ErrorData* error_of(Body&& body, Success success = Success::kKept) {
  const MemoryContext caller = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  const uint32 held = InterruptHoldoffCount;  // an error sets it to 0
  ErrorData* volatile error = nullptr;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(caller);
  PG_TRY();
  {
    body();
    if (success == Success::kKept) ReleaseCurrentSubTransaction();
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
  if (error == nullptr && success == Success::kRolledBack) RollbackAndReleaseCurrentSubTransaction();
  MemoryContextSwitchTo(caller);
  CurrentResourceOwner = owner;
  return error;
}

/// Runs body() in a subtransaction that is rolled back: the locks that it takes are released. What it allocates in the memory context
/// of the caller stays.
template <typename Body>
void without_traces(Body&& body) {
  if (ErrorData* const error = error_of(body, Success::kRolledBack); error != nullptr) ReThrowError(error);
}

}  // namespace batmap::pg
