// Figures of a breadth-first search, level by level. Any thread may read them, while the search runs or afterwards.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/run_record.h"

namespace batmap {

struct SearchLevel {
  uint64_t candidates;  // itemsets of this length that were counted
  uint64_t frequent;
  double candidate_ms;  // joining and pruning
  double counting_ms;
};

class SearchLevels {
 public:
  void clear() {
    std::lock_guard lock(mutex_);
    levels_.clear();
  }
  /// Adds figures for itemsets of one length. They may come in pieces.
  void add(size_t length, const SearchLevel& level) {
    std::lock_guard lock(mutex_);
    if (levels_.size() < length) levels_.resize(length);
    SearchLevel& sum = levels_[length - 1];
    sum = {sum.candidates + level.candidates, sum.frequent + level.frequent, sum.candidate_ms + level.candidate_ms,
           sum.counting_ms + level.counting_ms};
  }
  /// Copies the first `max_levels` levels. @return how many were copied
  size_t copy(SearchLevel* to, size_t max_levels) const {
    std::lock_guard lock(mutex_);
    const size_t count = levels_.size() < max_levels ? levels_.size() : max_levels;
    for (size_t k = 0; k < count; ++k) to[k] = levels_[k];
    return count;
  }
  std::vector<RunLevel> record() const {
    std::lock_guard lock(mutex_);
    std::vector<RunLevel> levels;
    for (const SearchLevel& level : levels_)
      levels.push_back({level.candidates, level.frequent, level.candidate_ms + level.counting_ms});
    return levels;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<SearchLevel> levels_;
};

}  // namespace batmap
