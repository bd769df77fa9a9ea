// Settings and interrupt flags of this backend, for the engine. See backend.h.
#include "extension/server/backend.h"

#include <algorithm>

#include "extension/server/budget.h"
#include "extension/server/settings.h"

#include "extension/server/pg.h"

namespace batmap::pg {

int thread_count() {
  if (IsParallelWorker()) return 1;
  const int wanted = settings.threads > 0 ? settings.threads : std::min(1 + max_parallel_workers_per_gather, processors());
  return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(wanted), 1 + max_helper_threads()));
}

size_t memory_limit_bytes() {
  return settings.memory_limit_kb < 0 ? MemoryMeter::kUnlimited : static_cast<size_t>(settings.memory_limit_kb) * 1024;
}

/// What a run may use. If the whole budget is in use at the moment, files of a fair size are used: some memory may be free again
/// by then.
static size_t memory_left() {
  constexpr size_t kMinShare = size_t{16} << 20;
  return std::min(
      {memory_limit_bytes(), std::max(session_memory()->available(), kMinShare), session_memory()->attainable()});
}

size_t work_memory_bytes() {
  constexpr size_t kMin = size_t{256} << 20;
  const size_t wanted =
      settings.work_mem_kb < 0 ? std::max(get_hash_memory_limit(), kMin) : static_cast<size_t>(settings.work_mem_kb) * 1024;
  return std::min(wanted, memory_left());
}

size_t run_work_bytes() {
  constexpr size_t kMin = size_t{1} << 20;
  return std::min(std::max(work_memory_bytes(), kMin), memory_left() / 2);
}

CancelToken backend_cancel_token() {
  return {[](void*) { return is_to_end(); }, nullptr};
}

}  // namespace batmap::pg
