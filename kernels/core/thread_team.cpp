// Fork and join of workers with blocked signals. See thread_team.h.
#include "core/thread_team.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>

namespace batmap {

std::thread start_worker(std::function<void()> body) {
  // A thread inherits the mask of the one that makes it: block everything around the creation.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

void parallel_for(const ExecutionOptions& options, size_t tasks, const std::function<void(size_t task, int worker)>& body) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  auto work = [&](int worker) {
    try {
      for (size_t task; !failed.load(std::memory_order_relaxed) && (task = next.fetch_add(1)) < tasks;) {
        options.cancel.throw_if_requested();
        body(task, worker);
      }
    } catch (...) {
      std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
      failed.store(true);
    }
  };

  const size_t workers = std::min<size_t>(static_cast<size_t>(std::max(options.threads, 1)), tasks);
  std::vector<std::thread> threads;
  threads.reserve(workers);  // before the first thread: nothing may fail between making one and keeping it
  try {
    for (size_t i = 1; i < workers; ++i) threads.push_back(start_worker([&work, i] { work(static_cast<int>(i)); }));
  } catch (...) {
    failed.store(true);
    for (std::thread& thread : threads) thread.join();
    throw;
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace batmap
