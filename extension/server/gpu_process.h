// The GPU process of the server (kernels/process): who starts it, and how a session finds it.
//
// A background worker owns it. The worker is a child of the postmaster, so it must not crash: it only starts the
// program batmap_gpu, waits for it, and starts it again after a while. The program has no part in the server's shared
// memory, so nothing happens to the server when it is killed. Sessions reach it through a socket in pg_stat_tmp, which
// needs no preloading. A lock on a file next to the socket says that there is a worker; the kernel lifts it with the
// worker, so nothing is left behind by a crash.
#pragma once

#include <string>

#include "accel/accelerator.h"

namespace batmap::pg {

/// Called once, from _PG_init: where the library is preloaded, the process starts with the server.
void register_gpu_process();

/// Is the program installed?
bool has_gpu_program();

struct ProcessSearch {
  std::string module;   // path that batmap.accelerator names
  bool is_to_start;     // if there is no process
  bool is_main_thread;  // may call the server
};
/// The functions of the GPU process. Starts it if nobody has, and waits until it is there.
/// @param why     set if there are none
/// @param use_own set if this session should load the module itself
const AcceleratorApi* find_gpu_process(const ProcessSearch& search, std::string& why, bool& use_own);

}  // namespace batmap::pg
