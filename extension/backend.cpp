// Settings and interrupt flags of this backend, as the engine sees them. See backend.h.
#include "extension/backend.h"

#include <algorithm>
#include <thread>

#include "extension/settings.h"

#include "extension/pg.h"

namespace batmap::pg {

int thread_count() {
  if (IsParallelWorker()) return 1;
  if (settings.threads > 0) return settings.threads;
  const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::min(1 + max_parallel_workers_per_gather, processors);
}

size_t memory_limit_bytes() {
  return settings.memory_limit_kb < 0 ? MemoryMeter::kUnlimited : static_cast<size_t>(settings.memory_limit_kb) * 1024;
}

CancelToken backend_cancel_token() {
  return {[](void*) { return InterruptPending && (QueryCancelPending || ProcDiePending); }, nullptr};
}

}  // namespace batmap::pg
