// Background workers of the library.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// A worker that is never started again.
/// @param name      in the list of processes
/// @param function  that the library exports
inline BackgroundWorker worker_of_library(const char* name, const char* function, int flags, BgWorkerStartTime start) {
  BackgroundWorker worker{};
  strlcpy(worker.bgw_name, name, sizeof worker.bgw_name);
  strlcpy(worker.bgw_type, name, sizeof worker.bgw_type);
  strlcpy(worker.bgw_library_name, "$libdir/batmap", sizeof worker.bgw_library_name);
  strlcpy(worker.bgw_function_name, function, sizeof worker.bgw_function_name);
  worker.bgw_flags = flags;
  worker.bgw_start_time = start;
  worker.bgw_restart_time = BGW_NEVER_RESTART;
  return worker;
}

}  // namespace batmap::pg
