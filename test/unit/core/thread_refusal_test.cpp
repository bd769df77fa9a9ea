// A run whose n-th thread is refused, by the system or by the budget of the host, for every n. It has fewer
// threads, gives the same answer and no error, and returns all lent threads. A program of its own, since it
// replaces pthread_create.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/thread_team.h"
#include "itemsets/itemset_stream.h"
#include "itemsets/rules/rules.h"
#include "pairs/pair_run.h"
#include "test/unit/shared/itemsets.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::atomic<int64_t> threads_left{kNever};  // threads that may start before one is refused
std::atomic<bool> later_ones_too{false};

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left.load() != kNever) {
    const int64_t left = threads_left.fetch_sub(1);
    if (left == 0 || (left < 0 && later_ones_too)) return EAGAIN;
  }
  return real(thread, attributes, body, argument);
}

namespace batmap::test {
namespace {

/// Lends a limited number of threads at once, and records what was lent.
class FewThreads final : public ThreadBudget {
 public:
  explicit FewThreads(size_t max_threads) : max_threads_(max_threads) {}
  size_t take(size_t wanted) noexcept override {
    std::lock_guard lock(mutex_);
    const size_t granted = std::min(wanted, max_threads_ - lent_);
    lent_ += granted;
    highest_ = std::max(highest_, lent_);
    return granted;
  }
  void give_back(size_t threads) noexcept override {
    std::lock_guard lock(mutex_);
    ASSERT_LE(threads, lent_);
    lent_ -= threads;
  }
  size_t lent() const { return lent_; }
  size_t highest() const { return highest_; }

 private:
  std::mutex mutex_;
  size_t max_threads_;
  size_t lent_ = 0;
  size_t highest_ = 0;
};

constexpr int kThreads = 4;

/// Calls run(options) with a budget of every size, then with every single thread refused by the system, then
/// with this thread and all later ones refused.
template <typename Run>
void with_every_refusal(Run run) {
  for (size_t max_threads = 0; max_threads <= kThreads; ++max_threads) {
    SCOPED_TRACE("budget of " + std::to_string(max_threads));
    FewThreads budget(max_threads);
    MemoryMeter meter;
    run(ExecutionOptions{.threads = kThreads, .memory = &meter, .cancel = {}, .helpers = &budget});
    EXPECT_EQ(budget.lent(), 0u);
    EXPECT_EQ(budget.highest() == 0, max_threads == 0) << "threads are asked for";
  }
  for (const bool all : {false, true}) {
    bool reached = true;
    for (int64_t n = 0; reached; ++n) {
      ASSERT_LT(n, 1000) << "threads without end";
      SCOPED_TRACE("thread " + std::to_string(n) + (all ? " and all later ones" : " alone"));
      FewThreads budget(kThreads);
      MemoryMeter meter;
      later_ones_too = all;
      threads_left = n;
      run(ExecutionOptions{.threads = kThreads, .memory = &meter, .cancel = {}, .helpers = &budget});
      reached = threads_left.exchange(kNever) < 0;
      EXPECT_EQ(budget.lent(), 0u);
      EXPECT_EQ(meter.current(), 0u);
    }
  }
}

TEST(ThreadRefusal, EveryTaskRunsOnce) {
  with_every_refusal([](const ExecutionOptions& options) {
    std::vector<std::atomic<int>> runs(100);
    parallel_for(options, runs.size(), [&](size_t task, int) { ++runs[task]; });
    for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
    OrderedTasks<size_t> ordered(options, 100, 8, [](size_t task, int) { return task; });
    for (size_t task = 0; task < 100; ++task) EXPECT_EQ(ordered.next(), task);
    EXPECT_FALSE(ordered.next());
  });
}

TEST(ThreadRefusal, TwoRunsShareABudget) {
  FewThreads budget(3);
  MemoryMeter meter;
  const ExecutionOptions options{.threads = kThreads, .memory = &meter, .cancel = {}, .helpers = &budget};
  const auto body = [](size_t task, int) { return task; };
  OrderedTasks<size_t> first(options, 50, 8, body);
  EXPECT_EQ(budget.lent(), 3u);
  OrderedTasks<size_t> second(options, 50, 8, body);
  EXPECT_EQ(budget.lent(), 3u);
  for (size_t task = 0; task < 50; ++task) {
    EXPECT_EQ(second.next(), task);
    EXPECT_EQ(first.next(), task);
  }
}

TEST(ThreadRefusal, PairsAreTheSame) {
  Random random(20261122);
  std::vector<TidItem> rows = random_rows(random, 1500, 150, 200);
  for (TidItem& row : rows) row.tid = scattered_key(row.tid);  // few rows start a thread only to be hashed
  const PackedRows packed(rows);
  PairQuery query;
  query.min_count = 2;
  const std::vector<PairRow> expected = Oracle(rows).answer(query).rows;
  for (const PairMethodName& entry : kPairMethodNames) {
    query.method = entry.method;
    with_every_refusal([&](const ExecutionOptions& options) {
      PairRun run(packed.chunks(), {}, query, options);
      std::vector<PairRow> found;
      PairBatch batch;
      while (run.next(batch)) found.insert(found.end(), batch.begin(), batch.end());
      EXPECT_EQ(difference(found, expected), "") << pair_method_name(entry.method);
    });
  }
}

/// Itemsets of noise, and the 2^`items` - 1 itemsets of transactions that are nearly equal.
std::vector<TidItem> nearly_alike(int64_t items) {
  Random random(20261123);
  std::vector<TidItem> rows = random_grid(random, 60, 20, 10);
  for (int64_t tid = 0; tid < 3; ++tid)
    for (int64_t item = 50; item <= 50 + items; ++item)
      if (item != 50 + tid) rows.push_back({100 + tid, item});
  return rows;
}

// If no thread can start, branches with more answers than a pass has room for are searched in several passes.
TEST(ThreadRefusal, ItemsetsAreTheSame) {
  const PackedRows many(nearly_alike(17));
  const PackedRows few(nearly_alike(9));
  std::vector<ItemsetQuery> queries(8);
  queries[1].target = ItemsetTarget::kClosed;
  queries[2].target = ItemsetTarget::kMaximal;
  queries[3].target = ItemsetTarget::kGenerators;
  queries[4].algorithm = ItemsetAlgorithm::kPbi;
  queries[5].algorithm = ItemsetAlgorithm::kTbi;
  queries[6].algorithm = ItemsetAlgorithm::kDfs;
  queries[7].top_k = 500;
  size_t max_results = 0;
  for (ItemsetQuery& query : queries) {
    const PackedRows& packed = &query == &queries[0] || &query == &queries[6] ? many : few;
    query.min_count = 2;
    std::vector<ItemsetRow> expected;
    with_every_refusal([&](const ExecutionOptions& options) {
      ItemsetRun run(packed.chunks(), {}, query, options);
      RowSink sink(run);
      if (expected.empty()) {
        run.search(sink);
        expected = std::move(sink.rows);
        sink.rows.clear();
      }
      ItemsetStream stream(run, options);
      std::vector<ItemsetStep> batch;
      while (stream.next(batch)) sink.take(batch);
      EXPECT_TRUE(sink.rows == expected) << sink.rows.size() << " itemsets for " << expected.size();
      EXPECT_EQ(stream.tasks_done(), stream.tasks());
      EXPECT_FALSE(stream.next(batch));
    });
    max_results = std::max(max_results, expected.size());
  }
  EXPECT_GT(max_results, 5 * 16384u) << "or a pass is enough";
}

// The search of the pulling thread respects bounds, and fails only if memory is missing.
TEST(ThreadRefusal, ASearchWithoutThreadsKeepsItsBounds) {
  std::vector<TidItem> rows;
  for (int64_t tid = 0; tid < 3; ++tid)
    for (int64_t item = 0; item < 40; ++item) rows.push_back({tid, item});
  const PackedRows packed(rows);
  FewThreads none(0);
  for (const int64_t max_results : {1, 16383, 16384, 16385, 16384 * 5 + 1, 400000}) {
    ItemsetQuery query;
    query.min_count = 3;
    query.max_results = max_results;
    MemoryMeter meter(size_t{32} << 20);
    const ExecutionOptions options{.threads = kThreads, .memory = &meter, .cancel = {}, .helpers = &none};
    ItemsetRun run(packed.chunks(), {}, query, options);
    ItemsetStream stream(run, options);
    RowSink sink(run);
    std::vector<ItemsetStep> batch;
    while (stream.next(batch)) sink.take(batch);
    EXPECT_EQ(sink.rows.size(), static_cast<size_t>(max_results));
    EXPECT_EQ(stream.truncation().cause, Truncation::kMaxResults);
  }
  ItemsetQuery query;
  query.min_count = 3;
  query.timeout_ms = 100;
  MemoryMeter meter(size_t{32} << 20);
  const ExecutionOptions options{.threads = 1, .memory = &meter, .cancel = {}, .helpers = &none};
  ItemsetRun run(packed.chunks(), {}, query, options);
  ItemsetStream stream(run, options);
  std::vector<ItemsetStep> batch;
  while (stream.next(batch)) {
  }
  EXPECT_EQ(stream.truncation().cause, Truncation::kTimeout);
}

TEST(ThreadRefusal, RulesAreTheSame) {
  Random random(20261124);
  const PackedRows packed(random_grid(random, 200, 12, 60));
  std::vector<size_t> counts;
  with_every_refusal([&](const ExecutionOptions& options) {
    RuleQuery query;
    query.itemsets.min_count = 20;
    RuleRun run(packed.chunks(), {}, query, options);
    RuleBatch batch(*options.memory);
    size_t rules = 0;
    while (run.next(batch)) rules += batch.rows.size();
    counts.push_back(rules);
    EXPECT_GT(rules, 100u);
    EXPECT_EQ(rules, counts.front());
  });
}

}  // namespace
}  // namespace batmap::test
