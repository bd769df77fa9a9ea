// How a run is to be executed: threads, memory, cancellation. Plain values that the caller fills once; the
// engine never reads settings, environment or globals of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/budget.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/temp_files.h"

namespace batmap {

/// Asks "should this run stop?". `poll` is called from any thread of the run, often (every few tens of
/// kilobytes of work), must be cheap and must not throw. An empty token never stops.
struct CancelToken {
  bool (*poll)(void* arg) = nullptr;
  void* arg = nullptr;

  bool requested() const { return poll != nullptr && poll(arg); }
  void throw_if_requested() const {
    if (requested()) stop();
  }

 private:
  // Out of line: making the text would take the registers of the loops that ask.
  [[noreturn, gnu::noinline, gnu::cold]] static void stop() { throw Error(ErrorCode::kCancelled, "run cancelled"); }
};

struct ExecutionOptions {
  int threads = 1;                // threads that may compute at once, the caller's own included; >= 1. It may become fewer
  MemoryMeter* memory = nullptr;  // not owned; required; charged by everything whose size depends on the input
  CancelToken cancel;
  TempFiles* files = nullptr;       // not owned; where rows go that are too many for work_bytes; none: they stay in memory
  size_t work_bytes = SIZE_MAX;     // memory that a run with files tries to stay within; not a limit
  ThreadBudget* helpers = nullptr;  // not owned; lends the threads beside the caller's; none: as many as `threads` says
};

}  // namespace batmap
