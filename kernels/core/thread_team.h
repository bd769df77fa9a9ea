// The threads of a run; no other file of the engine creates any. Workers start with all signals blocked, so
// the host's signal handlers run in the calling thread only, and workers never call the host. The first
// exception of any thread is rethrown to the caller after all threads have been joined.
//
// Two forms: `parallel_for` (fork, share out tasks, join) and `OrderedTasks` (results are handed over in task
// order while later tasks are still being computed). With one thread both run in the caller and start
// nothing. If the budget or the system refuses a thread, the run continues with fewer. Source: ours.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/options.h"

namespace batmap {

/// Runs `body(task, worker)` for every task in [0, tasks), with worker in [0, threads). Tasks start in ascending order.
/// @throws the first exception of `body`; Error{kCancelled}
void parallel_for(const ExecutionOptions& options, size_t tasks, const std::function<void(size_t task, int worker)>& body);

class ThreadPool;

/// With fewer rows for each, more threads take longer: to start one takes as long as some ten thousand rows.
constexpr uint64_t kRowsWorthAThread = 1 << 18;

/// How many threads share so many rows. @param least  of each
inline size_t threads_for_rows(uint64_t rows, const ExecutionOptions& options, uint64_t least = kRowsWorthAThread) {
  return std::clamp<uint64_t>(rows / least, 1, static_cast<uint64_t>(std::max(options.threads, 1)));
}

/// The options with that number of threads.
inline ExecutionOptions sized_for_rows(uint64_t rows, const ExecutionOptions& options) {
  ExecutionOptions sized = options;
  sized.threads = static_cast<int>(threads_for_rows(rows, options));
  return sized;
}

/// How many threads have something to do beside the calling one. @param tasks  at least one
inline size_t helpers_wanted(const ExecutionOptions& options, size_t tasks) {
  return std::min(static_cast<size_t>(std::max(options.threads, 1)), tasks) - 1;
}

/// Threads that help the calling one: those of the run's pool, or of a pool for these helpers alone. If the budget is used up
/// or the system refuses a thread, there are fewer than wanted, perhaps none. All their signals are blocked. The destructor
/// joins.
class Helpers {
 public:
  struct Job;

  explicit Helpers(const ExecutionOptions& options);
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() { join(); }

  /// Runs body(1), body(2), ... each in its own thread. Call it once. @param body  must not throw
  void start(size_t wanted, const std::function<void(int worker)>& body) noexcept;
  size_t size() const { return size_; }
  /// Waits until all bodies have ended.
  void join() noexcept;

 private:
  std::shared_ptr<ThreadPool> pool_;
  ThreadBudget* budget_;
  std::shared_ptr<Job> job_;
  size_t size_ = 0;  // threads
};

/// For ExecutionOptions. @return nullptr: there is no memory
std::shared_ptr<ThreadPool> new_thread_pool(ThreadBudget* budget) noexcept;

/// The threads of a run. A run has many phases, and to start a thread takes longer than to wake one: so a thread without work
/// waits some milliseconds for the next phase before it ends and is given back to the budget. The destructor ends all.
class ThreadPool {
 public:
  /// @param budget  must outlive this object; nullptr: none
  explicit ThreadPool(ThreadBudget* budget);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  /// Lets up to `wanted` threads run the body of a job. @return how many these are
  size_t start(size_t wanted, const std::shared_ptr<Helpers::Job>& job) noexcept;

 private:
  struct Worker;

  void work(Worker& self);

  ThreadBudget* budget_;
  std::mutex mutex_;  // guards the following, and the workers
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  bool is_over_ = false;
};

/// Computes tasks 0 .. n-1 on `threads` threads, the caller's among them, and yields the results in task
/// order. At most `window` results exist at once. The caller computes only while it waits in next(). Between
/// two calls the other threads go on, so the caller may do slow things with a result (hand rows to the
/// server). Not thread-safe: one consumer. The destructor stops the threads and joins them.
template <typename Result>
class OrderedTasks {
 public:
  using Body = std::function<Result(size_t task, int worker)>;

  OrderedTasks(const ExecutionOptions& options, size_t tasks, size_t window, Body body)
      : cancel_(options.cancel), tasks_(tasks), window_(window < 1 ? 1 : window), body_(std::move(body)), helpers_(options) {
    if (tasks > 1) helpers_.start(helpers_wanted(options, tasks), [this](int worker) { work(worker); });
  }
  OrderedTasks(const OrderedTasks&) = delete;
  OrderedTasks& operator=(const OrderedTasks&) = delete;
  ~OrderedTasks() { stop(); }

  /// The result of the next task; nothing after the last one.
  /// @throws the first exception of a task, after joining all threads; Error{kCancelled}
  std::optional<Result> next() {
    std::unique_lock lock(mutex_);
    if (handed_over_ == tasks_) return std::nullopt;
    if (cancel_.requested()) fail_cancelled();
    while (!front_ready()) {
      if (failure_) break;
      if (claimed_ < tasks_ && claimed_ < handed_over_ + window_) {
        run_claimed(lock, 0);
      } else {
        ready_.wait_for(lock, std::chrono::milliseconds(10));
        if (cancel_.requested()) fail_cancelled();
      }
    }
    if (failure_) {
      const std::exception_ptr failure = failure_;
      lock.unlock();
      stop();
      std::rethrow_exception(failure);
    }
    Result result = std::move(*slots_.front());
    slots_.pop_front();
    ++handed_over_;
    lock.unlock();
    room_.notify_one();
    return result;
  }

 private:
  void fail_cancelled() {
    if (!failure_) failure_ = std::make_exception_ptr(Error(ErrorCode::kCancelled, "run cancelled"));
  }
  bool front_ready() const { return !slots_.empty() && slots_.front().has_value(); }

  void run_claimed(std::unique_lock<std::mutex>& lock, int worker) {
    std::optional<Result> result;
    std::exception_ptr failure;
    const size_t task = claimed_;
    try {
      slots_.emplace_back();
      ++claimed_;
      lock.unlock();
      cancel_.throw_if_requested();
      result.emplace(body_(task, worker));
    } catch (...) {
      failure = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    if (failure) {
      if (!failure_) failure_ = failure;
      stopping_ = true;
      room_.notify_all();
    } else {
      slots_[task - handed_over_] = std::move(result);
    }
    if (failure || task == handed_over_) ready_.notify_one();
  }

  void work(int worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [this] { return stopping_ || claimed_ == tasks_ || claimed_ < handed_over_ + window_; });
      if (stopping_ || claimed_ == tasks_) return;
      run_claimed(lock, worker);
    }
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    helpers_.join();
  }

  CancelToken cancel_;
  size_t tasks_;
  size_t window_;
  Body body_;

  std::mutex mutex_;
  std::condition_variable ready_;  // the next result is ready, or a task has failed
  std::condition_variable room_;   // a task may be claimed, or it is time to stop
  std::deque<std::optional<Result>> slots_;
  size_t claimed_ = 0;
  size_t handed_over_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  Helpers helpers_;
};

}  // namespace batmap
