// The entries in shared memory, and the function behind the view. See progress.h.
#include "extension/server/progress.h"

#include <initializer_list>
#include <optional>

#include "extension/server/boundary.h"
#include "extension/server/budget.h"
#include "extension/server/device_use.h"
#include "extension/server/shared_memory.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

struct Entry {
  slock_t lock;
  int pid;  // 0: no run
  Oid database;
  Oid role;
  const ProgressReport* run;  // an address in that backend; it identifies the run
  char operation[64];
  Phase phase;
  TimestampTz started;
  uint64_t rows;
  uint64_t tasks_done;
  uint64_t tasks_total;
  uint64_t results;
};

Entry* entries;  // [MaxBackends], see own_slot()

Size entries_bytes() { return mul_size(static_cast<Size>(MaxBackends), sizeof(Entry)); }

void attach_entries(void* memory, bool is_new) {
  entries = static_cast<Entry*>(memory);
  for (int slot = 0; is_new && slot < MaxBackends; ++slot) {
    entries[slot] = {};
    SpinLockInit(&entries[slot].lock);
  }
}

constexpr SharedPart kEntriesPart = {"batmap progress", entries_bytes, attach_entries};

Entry* own_entry() {
  const int slot = entries == nullptr ? -1 : own_slot();
  return slot < 0 ? nullptr : &entries[slot];
}

/// Calls change(entry) on the entry of this backend, if it has one, under a spinlock: `change`
/// may only assign.
template <typename Change>
void update(Change change) {
  Entry* const entry = own_entry();
  if (entry == nullptr) return;
  SpinLockAcquire(&entry->lock);
  change(*entry);
  SpinLockRelease(&entry->lock);
}

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::kReading: return "reading rows";
    case Phase::kGrouping: return "grouping";
    case Phase::kCounting: return "counting";
  }
  return "";
}

}  // namespace

void request_progress_memory() {
  if (process_shared_preload_libraries_in_progress) request_shared_part(kEntriesPart);
}

void ProgressReport::start(const char* operation) {
  strlcpy(operation_, operation, sizeof operation_);
  started_ = GetCurrentTimestamp();
  phase(Phase::kReading, 0);
}

void ProgressReport::phase(Phase phase, uint64_t rows) {
  update([&](Entry& entry) {
    entry.pid = MyProcPid;
    entry.database = MyDatabaseId;
    entry.role = GetUserId();
    entry.run = this;
    memcpy(entry.operation, operation_, sizeof entry.operation);
    entry.started = started_;
    entry.phase = phase;
    entry.rows = rows;
    entry.tasks_done = entry.tasks_total = entry.results = 0;
  });
}

void ProgressReport::tasks(uint64_t done, uint64_t total, uint64_t results) {
  update([&](Entry& entry) {
    if (entry.run != this) return;
    entry.phase = Phase::kCounting;
    entry.tasks_done = done;
    entry.tasks_total = total;
    entry.results = results;
  });
}

void ProgressReport::finish() {
  update([&](Entry& entry) {
    if (entry.run == this) entry.pid = 0, entry.run = nullptr;
  });
}

}  // namespace batmap::pg

using namespace batmap::pg;

namespace {

/// A row of the GPU process, if there is one and a GPU is awake: how many sessions it works for, and the memory of the GPUs.
void show_gpu_process(ReturnSetInfo* result, bool sees_all) {
  int32_t pid = 0;
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint64_t memory = 0;
  guarded([&] {
    const std::optional<batmap::process::ProcessUse> use = awake_gpu_process_use();
    if (!use) return;
    pid = use->pid;
    running = use->running;
    waiting = use->waiting;
    for (const uint64_t bytes : use->memory_bytes) memory += bytes;
  });
  if (pid == 0) return;
  Datum values[12] = {Int32GetDatum(pid)};
  bool nulls[12];
  memset(nulls, true, sizeof nulls);
  nulls[0] = false;
  if (sees_all) {
    values[3] = CStringGetTextDatum("GPU process");
    values[4] = CStringGetTextDatum(psprintf("%u running, %u waiting", running, waiting));
    values[11] = Int64GetDatum(static_cast<int64>(memory));
    nulls[3] = nulls[4] = nulls[11] = false;
  }
  tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

}  // namespace

BATMAP_FUNCTION(batmap_progress) {
  if (entries == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("batmap must be loaded via shared_preload_libraries to show progress"),
             errhint("Add batmap to shared_preload_libraries and restart the server. Without that, batmap_last_run() tells "
                     "of the last run of this session.")));
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const bool sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
  for (int slot = 0; slot < MaxBackends; ++slot) {
    SpinLockAcquire(&entries[slot].lock);
    const Entry entry = entries[slot];
    SpinLockRelease(&entries[slot].lock);
    if (entry.pid == 0) continue;
    const BudgetShare share = budget_share(slot);
    Datum values[12];
    bool nulls[12] = {};
    int at = 0;
    values[at++] = Int32GetDatum(entry.pid);
    values[at++] = ObjectIdGetDatum(entry.database);
    values[at++] = ObjectIdGetDatum(entry.role);
    if (sees_all || has_privs_of_role(GetUserId(), entry.role)) {
      values[at++] = CStringGetTextDatum(entry.operation);
      values[at++] = CStringGetTextDatum(phase_name(entry.phase));
      values[at++] = TimestampTzGetDatum(entry.started);
      for (const uint64_t number :
           {entry.rows, entry.tasks_done, entry.tasks_total, entry.results, share.threads, share.memory})
        values[at++] = Int64GetDatum(static_cast<int64>(number));
    } else {
      while (at < 12) nulls[at++] = true;
    }
    Assert(at == 12);
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  show_gpu_process(result, sees_all);
  return Datum{0};
}
