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
  static const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::min(1 + max_parallel_workers_per_gather, processors);
}

size_t memory_limit_bytes() {
  return settings.memory_limit_kb < 0 ? MemoryMeter::kUnlimited : static_cast<size_t>(settings.memory_limit_kb) * 1024;
}

size_t work_memory_bytes() {
  constexpr size_t kLeast = size_t{256} << 20;
  const size_t wanted = settings.work_mem_kb < 0 ? std::max(get_hash_memory_limit(), kLeast)
                                                 : static_cast<size_t>(settings.work_mem_kb) * 1024;
  return std::min(wanted, memory_limit_bytes());
}

CancelToken backend_cancel_token() {
  return {[](void*) { return is_to_end(); }, nullptr};
}

}  // namespace batmap::pg
