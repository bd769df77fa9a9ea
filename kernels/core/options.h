// How a run is executed: threads, memory, cancellation. The caller fills these plain values once; the engine
// reads no settings, no environment and no globals of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/budget.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/temp_files.h"

namespace batmap {

/// Asks whether the run should stop. Every thread of the run calls `poll` after every few tens of kilobytes
/// of work, so it must be cheap and must not throw. An empty token never stops a run.
struct CancelToken {
  bool (*poll)(void* arg) = nullptr;
  void* arg = nullptr;

  bool requested() const { return poll != nullptr && poll(arg); }
  void throw_if_requested() const {
    if (requested()) stop();
  }

 private:
  // Out of line: building the text inline would cost registers in the loops that poll.
  [[noreturn, gnu::noinline, gnu::cold]] static void stop() { throw Error(ErrorCode::kCancelled, "run cancelled"); }
};

class ThreadPool;  // core/thread_team.h

struct ExecutionOptions {
  // most threads that compute at once, the caller's included; >= 1. The run may get fewer
  int threads = 1;
  // not owned; required; charged for everything whose size depends on the input
  MemoryMeter* memory = nullptr;
  CancelToken cancel;
  // not owned; takes the rows that do not fit into work_bytes; nullptr: rows stay in memory
  TempFiles* files = nullptr;
  // memory that a run with files tries to stay within; not a hard limit
  size_t work_bytes = SIZE_MAX;
  // not owned; lends the threads beside the caller's; nullptr: `threads` - 1 of them may start
  ThreadBudget* helpers = nullptr;
  // of a run of several phases: its threads, lent by `helpers`; nullptr: each phase starts its own
  std::shared_ptr<ThreadPool> pool = nullptr;
};

}  // namespace batmap
