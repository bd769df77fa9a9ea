// The worker that owns the GPU process, and the way to it. See gpu_process.h.
#include "extension/server/gpu_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "extension/server/background_worker.h"
#include "extension/server/boundary.h"
#include "extension/server/device_use.h"
#include "extension/server/settings.h"
#include "process/client/gpu_client.h"
#include "process/gpu_channel.h"
#include "process/host/gpu_host.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

// Relative to the data folder, where all processes of the server work.
constexpr char kSocket[] = PG_STAT_TMP_DIR "/batmap_gpu.socket";
constexpr char kOwnerFile[] = PG_STAT_TMP_DIR "/batmap_gpu.owner";
constexpr char kStartFile[] = PG_STAT_TMP_DIR "/batmap_gpu.start";

constexpr int kStartMs = 10000;     // how long a session waits for a process that starts
constexpr int kSilenceMs = 30000;   // the worker kills a process that says nothing for so long
constexpr int kGoodRunMs = 60000;   // a process that lived so long does not count as a failure
constexpr int kMaxDelayMs = 60000;  // between an end and the next start

int64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

/// What the file of the owner says, in one write.
struct OwnerState {
  uint32_t version;
  int32_t failures;     // since the last good run
  int64_t retry_at_ms;  // monotonic; 0: the process runs, or is being started
  char why[160];
};
constexpr uint32_t kOwnerVersion = 1;

process::File open_file(const char* path) { return process::File(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)); }

bool lock_file(const process::File& file, int how) { return file.is_open() && flock(file.number(), how | LOCK_NB) == 0; }

std::string program_path() { return std::string(pkglib_path) + "/batmap_gpu"; }

uint64_t server_memory_limit() {
  return settings.gpu_memory_limit_kb < 0 ? 0 : std::max<uint64_t>(uint64_t{1024} * settings.gpu_memory_limit_kb, 1);
}

// ---- the worker

struct Child {
  pid_t pid = 0;
  process::File control;
  int error = 0;  // pid 0: why it could not be started, as errno
};

/// Starts the program. Between fork and exec only calls that are safe there.
Child start_program(bool is_to_wake) {
  Child child;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    child.error = errno;
    return child;
  }
  child.control = process::File(ends[0]);
  const process::File other(ends[1]);
  const std::string program = program_path();
  const std::string module = accelerator_path();
  constexpr int kControl = 3;
  char control_number[] = "3";
  char wake[] = "--wake";
  char* const arguments[] = {const_cast<char*>("batmap_gpu"),   const_cast<char*>(kSocket),
                             const_cast<char*>(module.c_str()), control_number,
                             is_to_wake ? wake : nullptr,       nullptr};
  const pid_t worker = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker) _exit(1);
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, 0);
    // If the socket has the number already, it must only lose its flag.
    if (other.number() == kControl ? fcntl(kControl, F_SETFD, 0) != 0 : dup2(other.number(), kControl) < 0) _exit(1);
    const long max_files = sysconf(_SC_OPEN_MAX);
    bool are_closed = false;
#ifdef SYS_close_range
    are_closed = syscall(SYS_close_range, kControl + 1, ~0u, 0) == 0;
#endif
    for (int number = kControl + 1; !are_closed && number < max_files; ++number) close(number);
    execv(program.c_str(), arguments);
    _exit(127);
  }
  if (pid < 0) {
    child.error = errno;
    child.control.reset();
    return child;
  }
  child.pid = pid;
  return child;
}

void send_limit(const Child& child) {
  const uint64_t limit = server_memory_limit();
  process::send_packet(child.control.number(), &limit, sizeof limit);
}

/// Kills it if it lives. @return its status
int end_program(Child& child) {
  int status = 0;
  kill(child.pid, SIGKILL);
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  child = {};
  return status;
}

/// @param error  of a program that could not be started; else 0
void describe_end(int status, int error, char* text, size_t bytes) {
  if (error != 0)
    snprintf(text, bytes, "it could not be started: %s", strerror(error));
  else if (WIFSIGNALED(status))
    snprintf(text, bytes, "it was ended by signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) == process::kExitDeviceFailed)
    snprintf(text, bytes, "a GPU failed");
  else if (WEXITSTATUS(status) == process::kExitHung)
    snprintf(text, bytes, "a GPU did not answer");
  else if (WEXITSTATUS(status) == 127)
    snprintf(text, bytes, "\"%s\" cannot be started", program_path().c_str());
  else
    snprintf(text, bytes, "it ended with status %d", WEXITSTATUS(status));
}

/// Waits for an event, at most so long, and does what the server asks of every worker. @return false: the worker is to end
bool wait_for_events(Child& child, int timeout_ms, bool& is_readable) {
  int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT;
  if (child.pid != 0) events |= WL_SOCKET_READABLE;
  const int happened = WaitLatchOrSocket(MyLatch, events, child.pid != 0 ? child.control.number() : PGINVALID_SOCKET,
                                         std::max(timeout_ms, 1), PG_WAIT_EXTENSION);
  ResetLatch(MyLatch);
  is_readable = (happened & WL_SOCKET_READABLE) != 0;
  if (ShutdownRequestPending) return false;
  if (ConfigReloadPending) {
    ConfigReloadPending = false;
    const bool was_on = settings.gpu_process;
    ProcessConfigFile(PGC_SIGHUP);
    if (was_on && !settings.gpu_process) return false;
    if (child.pid != 0) send_limit(child);
  }
  return true;
}

/// Starts the process again and again, until the server or the setting ends it.
void own_process(const process::File& file, bool is_to_wake) {
  OwnerState state{};
  state.version = kOwnerVersion;
  const auto publish = [&] { (void)!pwrite(file.number(), &state, sizeof state, 0); };
  Child child;
  bool is_readable = false;
  for (;;) {
    state.retry_at_ms = 0;
    publish();
    child = start_program(is_to_wake);
    const int64_t started = monotonic_ms();
    int status = 0;
    if (child.pid != 0) {
      send_limit(child);
      int64_t heard = started;
      bool is_silent = false;
      for (;;) {
        if (!wait_for_events(child, kSilenceMs / 3, is_readable)) {
          end_program(child);
          return;
        }
        const int64_t now = monotonic_ms();
        char beat[8];
        if (is_readable) {
          const ssize_t received = recv(child.control.number(), beat, sizeof beat, MSG_DONTWAIT);
          if (received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR)) break;
          heard = now;
        }
        is_silent = now - heard > kSilenceMs;
        if (is_silent) break;
      }
      // Its socket is closed, but it may not be dead yet.
      for (int waited = 0; !is_silent && waited < 1000; ++waited) {
        siginfo_t info{};
        if (waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0) break;
        pg_usleep(1000);
      }
      status = end_program(child);
    }
    if (monotonic_ms() - started >= kGoodRunMs) state.failures = 0;
    const int delay_ms = static_cast<int>(std::min<int64_t>(int64_t{1000} << std::min(state.failures, 6), kMaxDelayMs));
    ++state.failures;
    describe_end(status, child.error, state.why, sizeof state.why);
    state.retry_at_ms = monotonic_ms() + delay_ms;
    publish();
    ereport(LOG, (errmsg("the GPU process of batmap has ended: %s", state.why),
                  errdetail("Sessions count on the CPU. It starts again in %d s.", delay_ms / 1000)));
    is_to_wake = false;
    for (int64_t left = delay_ms; left > 0; left = state.retry_at_ms - monotonic_ms())
      if (!wait_for_events(child, static_cast<int>(left), is_readable)) return;
  }
}

/// @param is_static  the server starts it
BackgroundWorker owner_worker(bool is_static) {
  BackgroundWorker worker =
      worker_of_library("batmap GPU owner", "batmap_gpu_worker", BGWORKER_SHMEM_ACCESS, BgWorkerStart_ConsistentState);
  if (is_static) worker.bgw_restart_time = 10;
  worker.bgw_main_arg = BoolGetDatum(is_static);
  return worker;
}

// ---- the session

/// Has a worker the lock? @param state  what it says of itself
bool has_owner(OwnerState& state) {
  const process::File file(open(kOwnerFile, O_RDWR | O_CLOEXEC));
  if (!file.is_open() || lock_file(file, LOCK_SH)) return false;
  if (pread(file.number(), &state, sizeof state, 0) != sizeof state || state.version != kOwnerVersion) state = {};
  state.why[sizeof state.why - 1] = '\0';
  return true;
}

bool start_worker() {
  bool is_started = false;
  server_call([&] {
    BackgroundWorker worker = owner_worker(false);
    BackgroundWorkerHandle* handle;
    is_started = RegisterDynamicBackgroundWorker(&worker, &handle);
  });
  return is_started;
}

process::ClientOptions client_options(const std::string& module) {
  process::ClientOptions options;
  options.socket = kSocket;
  options.module_mark = process::mark_of(module);
  options.stop = is_to_end;
  return options;
}

}  // namespace

bool has_gpu_program() { return access(program_path().c_str(), X_OK) == 0; }

void register_gpu_process() {
  if (!process_shared_preload_libraries_in_progress || !settings.gpu_process || IsBinaryUpgrade) return;
  if (access(accelerator_path().c_str(), R_OK) != 0 || !has_gpu_program()) return;
  BackgroundWorker worker = owner_worker(true);
  RegisterBackgroundWorker(&worker);
}

const AcceleratorApi* find_gpu_process(const ProcessSearch& search, std::string& why, bool& use_own) {
  use_own = false;
  const process::ClientOptions options = client_options(search.module);
  const int64_t deadline = monotonic_ms() + kStartMs;
  process::File start_lock;
  bool has_started = false;
  for (;;) {
    switch (process::connect(options, why)) {
      case process::Connected::kYes: return process::client_api();
      case process::Connected::kRefused: use_own = true; return nullptr;
      case process::Connected::kNoModule: return nullptr;
      case process::Connected::kNobody: break;
    }
    if (!search.is_to_start) return nullptr;
    OwnerState owner{};
    if (has_owner(owner)) {
      const int64_t left = owner.retry_at_ms == 0 ? 0 : owner.retry_at_ms - monotonic_ms();
      if (left > 0) {
        why = "the GPU process has ended: " + std::string(owner.why) + "; it starts again in " +
              std::to_string(left / 1000 + 1) + " s";
        return nullptr;
      }
    } else if (!has_started) {
      if (!start_lock.is_open()) start_lock = open_file(kStartFile);
      if (!start_lock.is_open() || !search.is_main_thread) {
        why = "the GPU process cannot be started";
        use_own = true;
        return nullptr;
      }
      // Who has the lock starts the worker; the others wait for it. The lock goes with the file.
      if (lock_file(start_lock, LOCK_EX)) {
        OwnerState again{};
        has_started = true;
        if (!has_owner(again) && !start_worker()) {
          why = "no background worker is free for the GPU process";
          use_own = true;
          return nullptr;
        }
      }
    }
    if (is_to_end() || monotonic_ms() > deadline) {
      why = "the GPU process did not start";
      use_own = !is_to_end();
      return nullptr;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace batmap::pg

extern "C" PGDLLEXPORT void batmap_gpu_worker(Datum is_static);

/// The main function of the worker.
void batmap_gpu_worker(Datum is_static) {
  using namespace batmap::pg;
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
  BackgroundWorkerUnblockSignals();
  const batmap::process::File file = open_file(kOwnerFile);
  // A session may be looking at the lock at this very moment.
  bool is_owner = false;
  for (int tries = 0; tries < 20 && !is_owner; ++tries) {
    if (tries > 0) pg_usleep(5000);
    is_owner = lock_file(file, LOCK_EX);
  }
  if (is_owner) own_process(file, DatumGetBool(is_static));
  proc_exit(0);
}
