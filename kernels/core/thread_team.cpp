// Workers with blocked signals: lend, share out tasks, wait. See thread_team.h.
#include "core/thread_team.h"

#include <pthread.h>

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

/// @throws std::system_error or std::bad_alloc if the system refuses the thread
template <typename Body>
std::thread start_thread(Body body) {
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

struct ThreadPool::Worker {
  std::thread thread;
  std::shared_ptr<Helpers::Job> job;  // the next one
  int number = 0;
  bool is_over = false;  // it ends now
  std::condition_variable wake;
};

std::shared_ptr<ThreadPool> new_thread_pool(ThreadBudget* budget) noexcept {
  try {
    return std::make_shared<ThreadPool>(budget);
  } catch (...) {
    return nullptr;
  }
}

ThreadPool::ThreadPool(ThreadBudget* budget) : budget_(budget) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (Worker* worker : idle_) worker->wake.notify_one();
  }
  for (const std::unique_ptr<Worker>& worker : workers_) worker->thread.join();
}

size_t ThreadPool::start(size_t wanted, const std::shared_ptr<Helpers::Job>& job) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(workers_, [](const std::unique_ptr<Worker>& worker) {
    if (worker->is_over) worker->thread.join();
    return worker->is_over;
  });
  size_t started = 0;
  for (; started < wanted && !idle_.empty(); ++started) {
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.job = job;
    worker.number = static_cast<int>(started) + 1;
    worker.wake.notify_one();
  }
  size_t lent = started == wanted ? 0 : budget_ == nullptr ? wanted - started : budget_->take(wanted - started);
  try {
    for (; lent > 0; --lent) {
      auto worker = std::make_unique<Worker>();
      worker->job = job;
      worker->number = static_cast<int>(started) + 1;
      workers_.reserve(workers_.size() + 1);
      idle_.reserve(workers_.size() + 1);  // a thread that becomes idle allocates nothing
      worker->thread = start_thread([this, at = worker.get()] { work(*at); });
      workers_.push_back(std::move(worker));
      ++started;
    }
  } catch (...) {
    // A limit of the user, of the address space, or of a container: the threads that have started do all the work.
  }
  if (budget_ != nullptr && lent > 0) budget_->give_back(lent);
  return started;
}

/// Runs one job after the other.
void ThreadPool::work(Worker& self) {
  while (self.job != nullptr) {
    const std::shared_ptr<Helpers::Job> job = std::move(self.job);
    job->body(self.number);
    // Before the end of the job is known: who waits for it may have the next one.
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(&self);
    }
    {
      const std::lock_guard lock(job->mutex);
      if (--job->running == 0) {
        job->body = nullptr;
        job->ended.notify_all();
      }
    }
    std::unique_lock lock(mutex_);
    self.wake.wait_for(lock, kIdleTime, [&] { return self.job != nullptr || is_over_; });
    if (self.job != nullptr) continue;
    std::erase(idle_, &self);
    self.is_over = true;
    if (budget_ != nullptr) budget_->give_back(1);
  }
}

Helpers::Helpers(const ExecutionOptions& options) : pool_(options.pool), budget_(options.helpers) {}

void Helpers::start(size_t wanted, const std::function<void(int worker)>& body) noexcept {
  if (wanted == 0) return;
  try {
    if (pool_ == nullptr) pool_ = new_thread_pool(budget_);
    if (pool_ == nullptr) return;
    job_ = std::make_shared<Job>();
    job_->body = body;
  } catch (...) {
    return;  // the caller does all the work
  }
  job_->running = wanted;
  size_ = pool_->start(wanted, job_);
  const std::lock_guard lock(job_->mutex);
  job_->running -= wanted - size_;
}

void Helpers::join() noexcept {
  if (size_ > 0) {
    std::unique_lock lock(job_->mutex);
    job_->ended.wait(lock, [&] { return job_->running == 0; });
  }
  size_ = 0;
  job_.reset();
  pool_.reset();  // if it is that of these helpers alone, its threads end
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

  Helpers helpers(options);
  if (tasks > 1) helpers.start(helpers_wanted(options, tasks), work);
  work(0);
  helpers.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace batmap
