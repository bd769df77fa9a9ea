// Consecutive rows of pairs, cut into tasks: of about equal work, enough of them for all threads to end together, and each
// of a bounded result, as far as the caller knows it. Handing over a task costs about a microsecond of one thread, so small
// ones are few.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace batmap {

/// What counting one row of pairs costs and may find.
struct RowCost {
  uint64_t work;     // in any unit
  uint64_t results;  // at most, or about
};

class RowTasks {
 public:
  /// @param most_work  of a task: some 100 us
  /// @param cost_of    RowCost of row 0, 1, ... rows - 1; called twice for each
  template <typename CostOf>
  RowTasks(uint32_t rows, uint64_t most_work, int threads, CostOf cost_of) {
    uint64_t all = 0;
    for (uint32_t row = 0; row < rows; ++row) all += cost_of(row).work;
    const uint64_t even = all / (kTasksOfAThread * static_cast<uint64_t>(std::max(threads, 1)));
    const uint64_t enough = std::clamp(even, most_work / kSmaller, most_work);
    RowCost task{};
    for (uint32_t row = 0; row < rows; ++row) {
      const RowCost cost = cost_of(row);
      task.work += cost.work;
      task.results += cost.results;
      most_results_ = std::max(most_results_, task.results);
      if (task.work < enough && task.results < kMostResults && row + 1 < rows) continue;
      begin_.push_back(row + 1);
      task = {};
    }
  }

  size_t size() const { return begin_.size() - 1; }
  uint32_t begin(size_t task) const { return begin_[task]; }
  uint32_t end(size_t task) const { return begin_[task + 1]; }
  /// Of the task with the largest number of them.
  uint64_t most_results() const { return most_results_; }

 private:
  static constexpr uint64_t kTasksOfAThread = 8;
  static constexpr uint64_t kSmaller = 8;  // than most_work, where there is little to do
  static constexpr uint64_t kMostResults = 1 << 16;

  std::vector<uint32_t> begin_{0};
  uint64_t most_results_ = 0;
};

}  // namespace batmap
