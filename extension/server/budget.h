// What all runs together may have: memory (batmap.max_memory) and helper threads (batmap.max_threads). Kept over the runs
// that this session has open at once, and, where the library has been preloaded, over all sessions of the server.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/budget.h"

namespace batmap::pg {

/// For every meter and every run of this session. To be called by the session's own thread; the budgets by any.
MemoryBudget* session_memory();
ThreadBudget* session_threads();

/// The settings, with -1 resolved. From any thread.
uint64_t max_memory_bytes();
uint64_t max_helper_threads();
/// Hooks of the settings.
void assign_max_memory(int megabytes, void*);
void assign_max_threads(int threads, void*);

struct BudgetShare {
  uint64_t memory;   // bytes
  uint64_t threads;  // helpers, without the sessions' own
};
/// Of the session at a place of the array of processes. Shared memory must be there.
BudgetShare budget_share(int place);

/// This process in arrays of MaxBackends, or -1.
int own_place();

/// Room in shared memory, and its first use, with AddinShmemInitLock held.
size_t budget_shared_bytes();
void attach_budget();

}  // namespace batmap::pg
