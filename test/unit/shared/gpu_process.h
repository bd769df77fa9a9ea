// A GPU process for tests: the real one, with a fake accelerator, in a child of the test. The state of the fake is that
// of the test when the process starts.
#pragma once

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "process/client/gpu_client.h"
#include "process/host/gpu_host.h"
#include "test/unit/shared/fake_itemsets.h"

namespace batmap::test {

class GpuProcess {
 public:
  explicit GpuProcess(const std::function<void(process::HostOptions&)>& change = {}) {
    char folder[] = "/tmp/batmap_gpu_XXXXXX";
    if (mkdtemp(folder) == nullptr) std::abort();
    folder_ = folder;
    process::HostOptions options;
    options.listener = process::listen_at(socket());
    int ends[2];
    if (!options.listener.is_open() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    control_ = process::File(ends[0]);
    options.control = process::File(ends[1]);
    options.module = "fake";
    options.load = [](std::string&) { return FakeItemsets::accelerator(); };
    if (change) change(options);
    pid_ = fork();
    if (pid_ != 0) return;
    control_.reset();
    process::run_host(std::move(options));
  }
  GpuProcess(const GpuProcess&) = delete;
  GpuProcess& operator=(const GpuProcess&) = delete;
  ~GpuProcess() {
    process::disconnect();
    if (pid_ != 0) end();
    unlink(socket().c_str());
    rmdir(folder_.c_str());
  }

  std::string socket() const { return folder_ + "/socket"; }
  pid_t pid() const { return pid_; }
  int control() const { return control_.number(); }
  /// Waits until it has ended. @return its exit status, or minus its signal
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  /// As the worker of the server does when it ends.
  int end() {
    control_.reset();
    return wait();
  }
  process::ClientOptions client() const {
    process::ClientOptions options;
    options.socket = socket();
    return options;
  }
  void connect() {
    std::string why;
    ASSERT_EQ(process::connect(client(), why), process::Connected::kYes) << why;
  }

 private:
  std::string folder_;
  process::File control_;
  pid_t pid_ = 0;
};

}  // namespace batmap::test
