// Workers with blocked signals: start, share out tasks, join. See thread_team.h.
#include "core/thread_team.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>

namespace batmap {

namespace {

/// @throws std::system_error or std::bad_alloc if the system refuses the thread
template <typename Body>
std::thread start_worker(Body body) {
  // A thread inherits the signal mask of its creator: block all signals around the creation.
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

}  // namespace

void Helpers::start(size_t wanted, const std::function<void(int worker)>& body) noexcept {
  if (wanted == 0) return;
  const size_t lent = budget_ == nullptr ? wanted : budget_->take(wanted);
  try {
    threads_.reserve(lent);  // before the first thread: push_back must not fail once a thread runs
    while (threads_.size() < lent)
      threads_.push_back(start_worker([body, worker = static_cast<int>(threads_.size()) + 1] { body(worker); }));
  } catch (...) {
    // A limit of the user, of the address space, or of a container: the threads that have started do all the work.
  }
  if (budget_ != nullptr) budget_->give_back(lent - threads_.size());
}

void Helpers::join() noexcept {
  for (std::thread& thread : threads_) thread.join();
  if (budget_ != nullptr) budget_->give_back(threads_.size());
  threads_.clear();
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

  Helpers helpers(options.helpers);
  if (tasks > 1) helpers.start(std::min(static_cast<size_t>(std::max(options.threads, 1)), tasks) - 1, work);
  work(0);
  helpers.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace batmap
