// Cuts consecutive rows of pairs into tasks. Tasks have about equal work and, as far as the caller knows,
// bounded results, and there are enough of them for all threads to end together. Handing over a task costs a
// thread about a microsecond, so there are few small ones. Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace batmap {

/// Increments of a task of counters: about a millisecond.
constexpr uint64_t kTaskIncrements = 1 << 20;

/// Work and results of counting one row of pairs.
struct RowCost {
  uint64_t work;     // in any unit
  uint64_t results;  // upper bound, or an estimate
};

class RowTasks {
 public:
  static constexpr uint64_t kMaxResults = 1 << 16;  // a task has fewer but for its last row

  /// @param max_work  of a task: about 100 us
  /// @param cost_of    RowCost of each row 0 .. rows - 1; called twice for each
  template <typename CostOf>
  RowTasks(uint32_t rows, uint64_t max_work, int threads, CostOf cost_of) {
    uint64_t all = 0;
    for (uint32_t row = 0; row < rows; ++row) all += cost_of(row).work;
    const uint64_t even = all / (kTasksOfAThread * static_cast<uint64_t>(std::max(threads, 1)));
    const uint64_t enough = std::clamp(even, max_work / kSmaller, max_work);
    RowCost task{};
    for (uint32_t row = 0; row < rows; ++row) {
      const RowCost cost = cost_of(row);
      task.work += cost.work;
      task.results += cost.results;
      max_results_ = std::max(max_results_, task.results);
      if (task.work < enough && task.results < kMaxResults && row + 1 < rows) continue;
      begin_.push_back(row + 1);
      task = {};
    }
  }

  size_t size() const { return begin_.size() - 1; }
  uint32_t begin(size_t task) const { return begin_[task]; }
  uint32_t end(size_t task) const { return begin_[task + 1]; }
  /// The results of the task with the most.
  uint64_t max_results() const { return max_results_; }

 private:
  static constexpr uint64_t kTasksOfAThread = 8;
  static constexpr uint64_t kSmaller = 8;  // with little work in all, tasks may have 1/8 of max_work

  std::vector<uint32_t> begin_{0};
  uint64_t max_results_ = 0;
};

}  // namespace batmap
