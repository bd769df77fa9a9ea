// Records a run that finds pairs. See pair_stream.h.
#include "extension/functions/pair_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

void record_pairs(const PairReport& report, LastRun& run) {
  strlcpy(run.method, report.method.c_str(), sizeof run.method);
  strlcpy(run.kernel, report.kernel.c_str(), sizeof run.kernel);
  strlcpy(run.device, report.device.c_str(), sizeof run.device);
  strlcpy(run.reason, report.reason.c_str(), sizeof run.reason);
  run.transactions = static_cast<int64_t>(report.transactions);
  run.items = static_cast<int64_t>(report.items);
  run.items_kept = static_cast<int64_t>(report.items_kept);
  run.occurrences = static_cast<int64_t>(report.occurrences);
  run.pair_instances = static_cast<int64_t>(report.pair_instances);
  run.results = static_cast<int64_t>(report.results);
  run.file_bytes = static_cast<int64_t>(report.file_bytes);
  run.truncated = report.truncated();
  run.group_ms = report.group_ms;
  run.count_ms = report.count_ms;
}

}  // namespace batmap::pg
