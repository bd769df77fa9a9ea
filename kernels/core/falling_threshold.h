// The threshold of a search for the k answers of largest support. It begins high and falls by a quarter until k answers
// reach it; these are the best. So the rare answers, which are the most, are searched only if they are needed. Each search
// begins anew, but the last one takes most of the time. Source: ours.
//
//   FallingThreshold threshold(k, highest, lowest);
//   do answers = search(threshold.min_count()); while (threshold.falls_after(answers));
#pragma once

#include <algorithm>
#include <cstdint>

namespace batmap {

class FallingThreshold {
 public:
  /// @param highest  where it begins; no answer has more support. Less than `lowest` means `lowest`
  /// @param lowest   where it ends, although fewer than k answers may reach it
  FallingThreshold(uint64_t k, uint64_t highest, uint64_t lowest)
      : k_(k), lowest_(lowest), min_count_(std::max(highest, lowest)) {}

  /// What the next search finds answers from.
  uint64_t min_count() const { return min_count_; }
  /// @param answers  found by the search from min_count() on
  /// @return whether to search again, now from a lower min_count() on
  bool falls_after(uint64_t answers) {
    if (answers >= k_ || min_count_ == lowest_) return false;
    min_count_ = std::max(lowest_, min_count_ - min_count_ / 4 - 1);
    return true;
  }

 private:
  uint64_t k_;
  uint64_t lowest_;
  uint64_t min_count_;
};

}  // namespace batmap
