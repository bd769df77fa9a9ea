// Workers with blocked signals: lend, share out tasks, wait. See thread_team.h.
#include "core/thread_team.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>

namespace batmap {

/// What the threads of one Helpers do.
struct Helpers::Job {
  std::mutex mutex;  // guards the following
  std::condition_variable ended;
  size_t running = 0;
  std::function<void(int worker)> body;  // gone with the last that runs
};

namespace {

constexpr auto kIdleTime = std::chrono::milliseconds(10);

/// A thread that runs one body after the other. It lies on the stack of the thread.
struct Worker {
  std::shared_ptr<Helpers::Job> job;  // the next one
  int number = 0;
  std::condition_variable wake;
  Worker* next_idle = nullptr;
};

/// Threads without a job, the last one first. Never destroyed: at the end of the process some may still wait.
struct IdleWorkers {
  std::mutex mutex;  // guards the list, and the jobs of those in it
  Worker* first = nullptr;

  void add(Worker& worker) {
    worker.next_idle = first;
    first = &worker;
  }
  /// Gives a job to a thread. @return false: there is none
  bool give(const std::shared_ptr<Helpers::Job>& job, int number) {
    const std::lock_guard lock(mutex);
    if (first == nullptr) return false;
    Worker& worker = *std::exchange(first, first->next_idle);
    worker.job = job;
    worker.number = number;
    worker.wake.notify_one();
    return true;
  }
  void remove(const Worker& worker) {
    Worker** at = &first;
    while (*at != &worker) at = &(*at)->next_idle;
    *at = worker.next_idle;
  }
};
IdleWorkers& idle = *new IdleWorkers;

void run_jobs(std::shared_ptr<Helpers::Job> first, int number) {
  Worker self;
  self.job = std::move(first);
  self.number = number;
  while (self.job != nullptr) {
    const std::shared_ptr<Helpers::Job> job = std::move(self.job);
    job->body(self.number);
    // Before the end of the job is known: who waits for it may have the next one.
    {
      const std::lock_guard lock(idle.mutex);
      idle.add(self);
    }
    {
      const std::lock_guard lock(job->mutex);
      if (--job->running == 0) {
        job->body = nullptr;
        job->ended.notify_all();
      }
    }
    std::unique_lock lock(idle.mutex);
    if (!self.wake.wait_for(lock, kIdleTime, [&] { return self.job != nullptr; })) idle.remove(self);
  }
}

/// @throws std::system_error or std::bad_alloc if the system refuses the thread
void start_worker(std::shared_ptr<Helpers::Job> job, int number) {
  // A thread inherits the signal mask of its creator: block all signals around the creation.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(run_jobs, std::move(job), number).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace

void Helpers::start(size_t wanted, const std::function<void(int worker)>& body) noexcept {
  if (wanted == 0) return;
  const size_t lent = budget_ == nullptr ? wanted : budget_->take(wanted);
  if (lent == 0) return;
  try {
    job_ = std::make_shared<Job>();
    job_->body = body;
    job_->running = lent;
    for (; size_ < lent; ++size_) {
      const int number = static_cast<int>(size_) + 1;
      if (!idle.give(job_, number)) start_worker(job_, number);
    }
  } catch (...) {
    // A limit of the user, of the address space, or of a container: the threads that have started do all the work.
  }
  if (size_ == lent) return;
  if (budget_ != nullptr) budget_->give_back(lent - size_);
  if (job_ == nullptr) return;
  const std::lock_guard lock(job_->mutex);
  job_->running -= lent - size_;
}

void Helpers::join() noexcept {
  if (size_ == 0) return;
  {
    std::unique_lock lock(job_->mutex);
    job_->ended.wait(lock, [&] { return job_->running == 0; });
  }
  job_.reset();
  if (budget_ != nullptr) budget_->give_back(size_);
  size_ = 0;
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
