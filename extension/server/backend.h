// What the engine needs from this backend: threads, memory budget, and when to stop.
#pragma once

#include "core/options.h"
#include "extension/server/budget.h"

namespace batmap::pg {

/// Threads by batmap.threads, cut to batmap.max_threads; 1 inside a parallel worker, whose siblings compute already.
int thread_count();

/// Bytes by batmap.memory_limit. What all runs may have, batmap.max_memory, is the budget's affair.
size_t memory_limit_bytes();

/// Bytes by batmap.work_mem. Unless that is set, at least 256 MB: with less, going through files costs more than memory is
/// worth. No more than is left of batmap.max_memory.
size_t work_memory_bytes();

/// Of it, what a run has: at least 1 MB, as less is spent on going through files again and again, and at most half of the
/// memory limit, as a run stays near it, not within it.
size_t run_work_bytes();

/// Stops when the statement is cancelled or the session is ended. Reads the server's flags only: any thread may ask.
CancelToken backend_cancel_token();

}  // namespace batmap::pg
