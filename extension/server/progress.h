// The progress of all runs in the server, for the view batmap_progress. If the library was preloaded, each
// backend has one entry in shared memory; otherwise nothing is kept, and a report does nothing. budget.h
// counts the memory and threads of the runs.
#pragma once

#include <cstdint>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Called once, from _PG_init.
void request_progress_memory();

enum class Phase { kReading, kGrouping, kCounting };

/// The progress of one run. If a backend has several runs (cursors), the one that reported last is shown. No
/// call can fail.
class ProgressReport {
 public:
  ProgressReport() = default;
  ProgressReport(const ProgressReport&) = delete;
  ProgressReport& operator=(const ProgressReport&) = delete;
  ~ProgressReport() { finish(); }

  void start(const char* operation);
  /// Cheap: only every 4,096th row is reported.
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
