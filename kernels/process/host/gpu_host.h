// The inside of the GPU process: it has the module, and does the calls of all sessions. A thread for each channel
// reads requests, checks every size, offset and number in them, and calls the module; gpu_turns.h says who is next.
// One more thread watches: it passes on what sessions cancel, drops the jobs of sessions that are gone, and ends the
// process if a call shows no sign of life. After an error of a device the process ends, too, because a CUDA context
// does not outlive such an error; who started it starts it again. Source: ours.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "process/gpu_channel.h"
#include "process/gpu_wire.h"

namespace batmap::process {

struct HostOptions {
  File listener;
  /// To the one who started the process. When it closes, the process ends. It brings the limit of device memory in
  /// bytes (uint64_t, 0: none), and takes a byte every kBeatMs.
  File control;
  std::string module;  // path
  /// Loads it; called after the process listens. @return nullptr and the reason
  std::function<const AcceleratorApi*(std::string& why)> load;
  bool is_to_wake = false;  // wake all devices at once
  int at_once = 8;          // sessions that use devices at the same time
  int quantum_ms = 100;     // how long one keeps its turn while others wait
  int idle_ms = 10;         // how long one may pause without losing its turn
  int hung_ms = 60000;      // a call that does not ask for `stop` for so long hangs
};

inline constexpr int kBeatMs = 2000;

/// How the process ends.
enum HostExit : int {
  kExitEnded = 0,
  kExitUsage = 2,
  kExitDeviceFailed = 4,  // the module said kFailed
  kExitHung = 5,
};

/// A number for a path, by which both sides see whether they mean the same module.
uint64_t mark_of(const std::string& path);

/// Serves until `control` closes.
[[noreturn]] void run_host(HostOptions options);

}  // namespace batmap::process
