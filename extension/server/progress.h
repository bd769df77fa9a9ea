// What the runs of all sessions are doing, for the view batmap_progress: one entry a backend in shared memory, where the
// library has been preloaded; otherwise nothing is kept and reporting does nothing. What they hold is in budget.h.
#pragma once

#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Called once, from _PG_init.
void request_progress_memory();

enum class Phase { kReading, kGrouping, kCounting };

/// The run in hand. Of runs that a backend has at once (cursors) the last one that reported is shown. No call can fail.
class ProgressReport {
 public:
  ProgressReport() = default;
  ProgressReport(const ProgressReport&) = delete;
  ProgressReport& operator=(const ProgressReport&) = delete;
  ~ProgressReport() { finish(); }

  void start(const char* operation);
  /// Cheap for most rows: every 4,096th is reported.
  void row(uint64_t rows) {
    if (rows % 4096 == 0) phase(Phase::kReading, rows);
  }
  void phase(Phase phase, uint64_t rows);
  void tasks(uint64_t done, uint64_t total, uint64_t results);
  void finish();

 private:
  char operation_[64] = "";
  TimestampTz started_ = 0;
};

}  // namespace batmap::pg
