// The limits of all runs together: memory (batmap.max_memory) and helper threads (batmap.max_threads). They
// hold for all runs that this session has open at once and, if the library was preloaded, for all sessions
// of the server.
#pragma once

#include <cstdint>

#include "core/budget.h"

namespace batmap::pg {

/// The budgets of this session, for every meter and every run. Only the thread of the session may call these
/// functions; any thread may use the budgets.
MemoryBudget* session_memory();
ThreadBudget* session_threads();

/// Of this machine, at least 1. From any thread.
int processors();

/// The settings, with -1 replaced by its meaning. From any thread.
uint64_t max_memory_bytes();
uint64_t max_helper_threads();
/// Assign hooks of the settings.
void assign_max_memory(int megabytes, void*);
void assign_max_threads(int threads, void*);

struct BudgetShare {
  uint64_t memory;   // bytes
  uint64_t threads;  // helper threads, without the threads of the sessions
};
/// The share of the session in this slot. Shared memory must be attached.
BudgetShare budget_share(int slot);

/// The slot of this process in arrays of MaxBackends, or -1.
int own_slot();

/// Called once, from _PG_init.
void request_budget_memory();

}  // namespace batmap::pg
