// Chains the hooks of the server once for all parts. See shared_memory.h.
#include "extension/server/shared_memory.h"

#include <array>

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

std::array<const SharedPart*, 4> parts;
size_t part_count = 0;
shmem_request_hook_type next_request;
shmem_startup_hook_type next_startup;

void request_parts() {
  if (next_request != nullptr) next_request();
  for (size_t k = 0; k < part_count; ++k) RequestAddinShmemSpace(MAXALIGN(parts[k]->bytes()));
}

void attach_parts() {
  if (next_startup != nullptr) next_startup();
  LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
  for (size_t k = 0; k < part_count; ++k) {
    bool found;
    void* const memory = ShmemInitStruct(parts[k]->name, parts[k]->bytes(), &found);
    parts[k]->attach(memory, !found);
  }
  LWLockRelease(AddinShmemInitLock);
}

}  // namespace

void request_shared_part(const SharedPart& part) {
  if (part_count == 0) {
    next_request = shmem_request_hook;
    shmem_request_hook = request_parts;
    next_startup = shmem_startup_hook;
    shmem_startup_hook = attach_parts;
  }
  if (part_count == parts.size()) elog(ERROR, "too many parts of shared memory");
  parts[part_count++] = &part;
}

}  // namespace batmap::pg
