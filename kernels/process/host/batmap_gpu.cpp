// The program of the GPU process. A background worker of the server starts it (extension/server/gpu_process.h) in the
// data folder. It knows nothing of the server: it has a socket for sessions and one to the worker, and ends when the
// worker does.
//
// usage: batmap_gpu SOCKET MODULE CONTROL [--wake]
//   SOCKET   path of the socket to listen at
//   MODULE   path of the module that drives the devices
//   CONTROL  number of the open socket to the worker
//   --wake   wake all devices at once
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <utility>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "accel/loader.h"
#include "process/host/gpu_host.h"

int main(int argc, char** argv) {
  using namespace batmap;
  if (argc < 4 || argc > 5 || (argc == 5 && std::strcmp(argv[4], "--wake") != 0)) {
    std::fprintf(stderr, "usage: batmap_gpu SOCKET MODULE CONTROL [--wake]\n");
    return process::kExitUsage;
  }
  // The worker takes the process with it, even where it hangs.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : {SIGINT, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  // Each session has some channels, and each channel has a file.
  if (rlimit files{}; getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  process::HostOptions options;
  options.module = argv[2];
  options.control = process::File(std::atoi(argv[3]));
  options.is_to_wake = argc == 5;
  options.listener = process::listen_at(argv[1]);
  if (!options.listener.is_open()) {
    std::fprintf(stderr, "batmap GPU process: cannot listen at \"%s\": %s\n", argv[1], std::strerror(errno));
    return process::kExitUsage;
  }
  options.load = [path = options.module](std::string& why) { return load_accelerator(path, why); };
  process::run_host(std::move(options));
}
