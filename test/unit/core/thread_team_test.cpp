// Threads of a run: every task runs once, results come in order, any task may throw or be cancelled, no thread remains.
#include "core/thread_team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace batmap::test {
namespace {

ExecutionOptions options_for(int threads, CancelToken cancel = {}) {
  return {.threads = threads, .memory = nullptr, .cancel = cancel};
}

/// Threads of this process. A joined thread may stay in the list for a moment.
size_t threads_now(size_t expected) {
  size_t count = 0;
  for (int i = 0; i < 200; ++i) {
    count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
    if (count == expected) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return count;
}

size_t threads_at_rest() {
  static const size_t count = [] {
    std::thread([] {}).join();  // a sanitizer may start a thread of its own with the first one
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++n;
    return n;
  }();
  return count;
}

class ThreadTeam : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { threads_at_rest(); }
  void TearDown() override { EXPECT_EQ(threads_now(threads_at_rest()), threads_at_rest()) << "threads left behind"; }
};

struct Flag {
  std::atomic<bool> raised{false};
  CancelToken token() {
    return {[](void* arg) { return static_cast<Flag*>(arg)->raised.load(); }, this};
  }
};

TEST_P(ThreadTeam, RunsEveryTaskOnce) {
  for (const size_t tasks : {0, 1, 2, 3, 64, 1000}) {
    std::vector<std::atomic<int>> runs(tasks);
    std::atomic<bool> worker_in_range{true};
    parallel_for(options_for(GetParam()), tasks, [&](size_t task, int worker) {
      ++runs.at(task);
      if (worker < 0 || worker >= GetParam()) worker_in_range = false;
    });
    for (size_t task = 0; task < tasks; ++task) EXPECT_EQ(runs[task], 1) << task << " of " << tasks;
    EXPECT_TRUE(worker_in_range);
  }
}

TEST_P(ThreadTeam, DealsTasksInAscendingOrder) {
  std::mutex mutex;
  std::vector<std::vector<size_t>> by_worker(static_cast<size_t>(GetParam()));
  parallel_for(options_for(GetParam()), 500, [&](size_t task, int worker) {
    std::lock_guard lock(mutex);
    by_worker[static_cast<size_t>(worker)].push_back(task);
  });
  for (const std::vector<size_t>& tasks : by_worker) EXPECT_TRUE(std::is_sorted(tasks.begin(), tasks.end()));
}

TEST_P(ThreadTeam, NoTwoTasksOfOneWorkerAtOnce) {
  std::vector<std::atomic<int>> busy(static_cast<size_t>(GetParam()));
  std::atomic<bool> collided{false};
  const auto body = [&](size_t, int worker) {
    if (busy[static_cast<size_t>(worker)]++ != 0) collided = true;
    std::this_thread::yield();
    --busy[static_cast<size_t>(worker)];
    return 0;
  };
  parallel_for(options_for(GetParam()), 300, body);
  OrderedTasks<int> ordered(options_for(GetParam()), 300, 8, body);
  while (ordered.next()) {
  }
  EXPECT_FALSE(collided);
}

TEST_P(ThreadTeam, RethrowsTheExceptionOfAnyTask) {
  for (size_t bad = 0; bad < 20; ++bad) {
    try {
      parallel_for(options_for(GetParam()), 20, [&](size_t task, int) {
        if (task == bad) throw std::runtime_error("task " + std::to_string(task));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "task " + std::to_string(bad));
    }
  }
  EXPECT_THROW(parallel_for(options_for(GetParam()), 50, [](size_t, int) { throw std::logic_error("all"); }),
               std::logic_error);
}

TEST_P(ThreadTeam, StopsDealingAfterAnException) {
  std::atomic<size_t> ran{0};
  EXPECT_THROW(parallel_for(options_for(GetParam()), 100000,
                            [&](size_t, int) {
                              ++ran;
                              throw std::runtime_error("first");
                            }),
               std::runtime_error);
  EXPECT_LE(ran, static_cast<size_t>(GetParam()));
}

TEST_P(ThreadTeam, CancelsBetweenTasks) {
  Flag flag;
  std::atomic<size_t> ran{0};
  try {
    parallel_for(options_for(GetParam(), flag.token()), 100000, [&](size_t task, int) {
      ++ran;
      if (task == 10) flag.raised = true;
    });
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  EXPECT_LT(ran, 100000u);
}

TEST_P(ThreadTeam, OrderedResultsComeInOrder) {
  for (const size_t tasks : {0, 1, 2, 3, 50, 700})
    for (const size_t window : {0, 1, 2, 8, 1000}) {
      std::vector<std::atomic<int>> runs(tasks);
      OrderedTasks<size_t> ordered(options_for(GetParam()), tasks, window, [&](size_t task, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, GetParam());
        ++runs.at(task);
        if (task % 7 == 0) std::this_thread::yield();
        return task * 10;
      });
      for (size_t task = 0; task < tasks; ++task) {
        const std::optional<size_t> result = ordered.next();
        ASSERT_TRUE(result.has_value());
        ASSERT_EQ(*result, task * 10) << "window " << window;
      }
      EXPECT_FALSE(ordered.next().has_value());
      EXPECT_FALSE(ordered.next().has_value());
      for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
    }
}

/// A result that counts the living results.
struct Counted {
  explicit Counted(std::atomic<int>& count) : live(&count) { ++*live; }
  Counted(Counted&& other) noexcept : live(other.live) { other.live = nullptr; }
  Counted& operator=(Counted&& other) noexcept {
    std::swap(live, other.live);
    return *this;
  }
  ~Counted() {
    if (live != nullptr) --*live;
  }
  std::atomic<int>* live;
};

TEST_P(ThreadTeam, AtMostAWindowOfResultsExists) {
  for (const size_t window : {1, 2, 5}) {
    std::atomic<int> live{0};
    std::atomic<int> most{0};
    {
      OrderedTasks<Counted> ordered(options_for(GetParam()), 200, window, [&](size_t, int) {
        Counted result(live);
        int seen = most;
        while (seen < live && !most.compare_exchange_weak(seen, live)) {
        }
        return result;
      });
      while (const std::optional<Counted> result = ordered.next()) std::this_thread::yield();
    }
    EXPECT_EQ(live, 0);
    EXPECT_LE(most, static_cast<int>(window) + 1) << "the window and the one that was handed over";
  }
}

TEST_P(ThreadTeam, OrderedTasksMayBeDroppedAtAnyTime) {
  std::atomic<int> live{0};
  for (int taken = 0; taken < 20; ++taken) {
    OrderedTasks<Counted> ordered(options_for(GetParam()), 50, 6, [&](size_t, int) { return Counted(live); });
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(ordered.next().has_value());
  }
  EXPECT_EQ(live, 0);
}

TEST_P(ThreadTeam, OrderedTasksRethrowTheExceptionOfAnyTask) {
  for (size_t bad = 0; bad < 30; ++bad) {
    OrderedTasks<size_t> ordered(options_for(GetParam()), 30, 4, [&](size_t task, int) {
      if (task == bad) throw std::runtime_error("task " + std::to_string(task));
      return task;
    });
    size_t handed_over = 0;
    try {
      while (const std::optional<size_t> result = ordered.next()) EXPECT_EQ(*result, handed_over++);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "task " + std::to_string(bad));
    }
    EXPECT_LE(handed_over, bad);
  }
}

TEST_P(ThreadTeam, OrderedTasksCanBeCancelled) {
  for (const size_t when : {0, 1, 10, 49}) {
    Flag flag;
    OrderedTasks<size_t> ordered(options_for(GetParam(), flag.token()), 100000, 4, [&](size_t task, int) {
      if (task == when) flag.raised = true;
      return task;
    });
    try {
      while (ordered.next()) {
      }
      ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    }
  }
}

// The caller waits for a task of a worker that ends only when the run is cancelled.
TEST_P(ThreadTeam, TheWaitingCallerNoticesCancellation) {
  Flag flag;
  std::atomic<bool> entered{false};
  OrderedTasks<int> ordered(options_for(GetParam(), flag.token()), 3, 3, [&](size_t, int) {
    entered = true;
    while (!flag.raised) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 0;
  });
  std::thread other([&] {
    while (!entered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    flag.raised = true;
  });
  try {
    while (ordered.next()) {
    }
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  other.join();
}

bool all_signals_blocked() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT, SIGCHLD, SIGPIPE, SIGIO})
    if (sigismember(&mask, number) == 0) return false;
  return true;
}

bool same_mask(const sigset_t& x, const sigset_t& y) {
  for (int number = 1; number < SIGRTMIN; ++number)
    if (sigismember(&x, number) != sigismember(&y, number)) return false;
  return true;
}

TEST_P(ThreadTeam, SignalsAreBlockedInWorkersAndUntouchedInTheCaller) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> blocked{true};
  std::atomic<bool> caller_blocked{false};
  const auto body = [&](size_t, int worker) {
    if ((worker == 0) != (std::this_thread::get_id() == caller)) ADD_FAILURE() << "the caller is worker 0";
    if (worker == 0)
      caller_blocked = caller_blocked || all_signals_blocked();
    else
      blocked = blocked && all_signals_blocked();
    return 0;
  };
  parallel_for(options_for(GetParam()), 200, body);
  OrderedTasks<int> ordered(options_for(GetParam()), 200, 8, body);
  while (ordered.next()) {
  }
  EXPECT_TRUE(blocked);
  EXPECT_FALSE(caller_blocked);
  bool worker_blocked = false;
  Helpers helper(options_for(1));
  helper.start(1, [&](int) { worker_blocked = all_signals_blocked(); });
  helper.join();
  EXPECT_TRUE(worker_blocked);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_TRUE(same_mask(before, after));
}

// Helpers do help: as many tasks run at once as there are threads.
TEST_P(ThreadTeam, TasksRunAtOnce) {
  std::atomic<int> waiting{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  parallel_for(options_for(GetParam()), static_cast<size_t>(GetParam()), [&](size_t, int) {
    ++waiting;
    while (waiting < GetParam() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  EXPECT_EQ(waiting, GetParam());
  EXPECT_LT(std::chrono::steady_clock::now(), deadline) << "never all at once";
}

TEST(ThreadTeamAlone, ThreadsAreUsedAgain) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  ExecutionOptions options = options_for(4);
  options.pool = new_thread_pool(nullptr);
  for (int phase = 0; phase < 200; ++phase) {
    std::atomic<int> waiting{0};
    parallel_for(options, 4, [&](size_t, int) {
      {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      ++waiting;
      while (waiting < 4) std::this_thread::yield();
    });
  }
  EXPECT_GE(threads.size(), 4u);
  EXPECT_LT(threads.size(), 300u) << "601 if each phase starts its own";
}

/// Counts what is lent.
struct LentThreads final : ThreadBudget {
  size_t take(size_t wanted) noexcept override {
    lent += wanted;
    return wanted;
  }
  void give_back(size_t threads) noexcept override { lent -= threads; }
  std::atomic<size_t> lent{0};
};

TEST(ThreadTeamAlone, ThreadsOfAPoolEndWithItOrWithoutWork) {
  threads_at_rest();
  LentThreads budget;
  ExecutionOptions options = options_for(5);
  options.helpers = &budget;
  options.pool = new_thread_pool(&budget);
  parallel_for(options, 5, [](size_t, int) {});
  for (int i = 0; i < 200 && budget.lent > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(budget.lent, 0u) << "they do not wait for long";
  std::atomic<int> waiting{0};
  parallel_for(options, 5, [&](size_t, int) {
    ++waiting;
    while (waiting < 5) std::this_thread::yield();
  });
  EXPECT_LE(budget.lent, 4u);
  options.pool.reset();
  EXPECT_EQ(budget.lent, 0u);
  EXPECT_EQ(threads_now(threads_at_rest()), threads_at_rest()) << "threads left behind";
}

// Those of one team do not wait for those of another, and each has its own numbers.
TEST(ThreadTeamAlone, TeamsAtOnce) {
  threads_at_rest();
  std::vector<std::thread> callers;
  const std::shared_ptr<ThreadPool> pool = new_thread_pool(nullptr);
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      ExecutionOptions options = options_for(3);
      options.pool = pool;
      for (int round = 0; round < 300; ++round) {
        std::vector<std::atomic<int>> done(40);
        std::vector<std::atomic<int>> busy(3);
        parallel_for(options, done.size(), [&](size_t task, int worker) {
          EXPECT_EQ(busy[static_cast<size_t>(worker)]++, 0) << "two threads have one number";
          ++done[task];
          --busy[static_cast<size_t>(worker)];
        });
        for (const std::atomic<int>& times : done) ASSERT_EQ(times, 1);
      }
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadTeamAlone, OneThreadStartsNothing) {
  const std::thread::id caller = std::this_thread::get_id();
  const auto body = [&](size_t, int worker) {
    EXPECT_EQ(worker, 0);
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return 0;
  };
  parallel_for(options_for(1), 10, body);
  OrderedTasks<int> ordered(options_for(1), 10, 4, body);
  while (ordered.next()) {
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadTeam, testing::Values(1, 2, 4, 9));

}  // namespace
}  // namespace batmap::test
