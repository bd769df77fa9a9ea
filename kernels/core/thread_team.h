// Threads of a run, and the only place that makes any. Workers start with all signals blocked, so the host's
// handlers run in the calling thread alone; they never call the host. The first exception of any thread is
// rethrown to the caller after all have been joined.
//
// Two forms: `parallel_for` (fork, share out tasks, join) and `OrderedTasks` (results are handed over in task
// order while later tasks are still being computed). With one thread both run in the caller and start nothing; a thread that
// the budget or the system refuses is done without.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/options.h"

namespace batmap {

/// Runs `body(task, worker)` for every task in [0, tasks), worker in [0, threads); tasks are dealt in ascending order.
/// @throws what `body` throws first; Error{kCancelled}
void parallel_for(const ExecutionOptions& options, size_t tasks, const std::function<void(size_t task, int worker)>& body);

/// Threads that help the calling one: as many as are wanted, or fewer, down to none, where the budget is used up or the
/// system refuses one. Their signals are all blocked. The destructor joins.
class Helpers {
 public:
  /// @param budget  outlives them; nullptr: none
  explicit Helpers(ThreadBudget* budget) : budget_(budget) {}
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() { join(); }

  /// Runs body(1), body(2), ... each in a thread of its own. To be called once. @param body  must not throw
  void start(size_t wanted, const std::function<void(int worker)>& body) noexcept;
  size_t size() const { return threads_.size(); }
  /// Waits for their ends, and gives them back to the budget.
  void join() noexcept;

 private:
  ThreadBudget* budget_;
  std::vector<std::thread> threads_;
};

/// Computes tasks 0 .. n-1 on `threads` threads, the caller's among them, and yields their results in order.
/// At most `window` results exist at once. The caller helps only while it waits in next(); between the calls
/// the others go on, so that the caller can do slow things with a result (hand rows to the server).
/// Not thread-safe: one consumer. The destructor stops and joins.
template <typename Result>
class OrderedTasks {
 public:
  using Body = std::function<Result(size_t task, int worker)>;

  OrderedTasks(const ExecutionOptions& options, size_t tasks, size_t window, Body body)
      : cancel_(options.cancel),
        tasks_(tasks),
        window_(window < 1 ? 1 : window),
        body_(std::move(body)),
        helpers_(options.helpers) {
    if (tasks > 1)
      helpers_.start(std::min(static_cast<size_t>(options.threads), tasks) - 1, [this](int worker) { work(worker); });
  }
  OrderedTasks(const OrderedTasks&) = delete;
  OrderedTasks& operator=(const OrderedTasks&) = delete;
  ~OrderedTasks() { stop(); }

  /// The result of the next task, or nothing when all have been handed over.
  /// @throws what a task threw first, after joining all threads; Error{kCancelled}
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
  std::condition_variable ready_;  // the next result or a failure is there
  std::condition_variable room_;   // a task may be claimed, or it is time to stop
  std::deque<std::optional<Result>> slots_;
  size_t claimed_ = 0;
  size_t handed_over_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  Helpers helpers_;
};

}  // namespace batmap
