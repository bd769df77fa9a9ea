// What the engine needs from this backend: threads, a memory budget, and when to stop.
#pragma once

#include "core/options.h"
#include "extension/server/budget.h"

namespace batmap::pg {

/// The threads that batmap.threads allows, at most 1 + batmap.max_threads. 1 inside a parallel worker: the
/// other workers use the other processors already.
int thread_count();

/// batmap.memory_limit in bytes. The limit of all runs together, batmap.max_memory, is kept in budget.h.
size_t memory_limit_bytes();

/// batmap.work_mem in bytes. If that is not set, at least 256 MB: with less, the use of files costs more than
/// the memory is worth. Never more than is left of batmap.max_memory, or 16 MB if less is left.
size_t work_memory_bytes();

/// The part of work_memory_bytes() that one run plans with. It is at least 1 MB, because a smaller run would
/// read its files again and again, and at most half of the memory limit and of what is left of batmap.max_memory, because a run
/// stays near this figure but may exceed it.
size_t run_work_bytes();

/// Asks for a stop when the statement is cancelled or the session ends. It only reads flags of the server, so
/// any thread may use it.
CancelToken backend_cancel_token();

}  // namespace batmap::pg
