// Where an answer ends before its last row: after max_results rows, or when its time is up. Every run that hands rows over
// asks here how many it may, and all cut their answers off alike: an answer of exactly max_results rows is complete. The
// caller tells its user. Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/options.h"
#include "core/stopwatch.h"

namespace batmap {

/// What has cut an answer off.
struct Truncation {
  enum Cause { kNone, kMaxResults, kTimeout };

  Cause cause = kNone;
  int64_t limit = 0;  // max_results in rows, or the timeout in milliseconds
};

/// The limits of one answer, and how much of it has been handed over. One thread hands over; any may ask for the time.
class AnswerLimit {
 public:
  explicit AnswerLimit(std::optional<int64_t> max_results = {}, std::optional<int64_t> timeout_ms = {})
      : max_results_(max_results), timeout_ms_(timeout_ms) {}

  /// Lets the time begin now, instead of when the object was made. No other thread may be asking.
  void restart_clock() { watch_ = {}; }
  bool time_is_up() const { return timeout_ms_ && watch_.milliseconds() >= static_cast<double>(*timeout_ms_); }

  /// Takes rows that are to be handed over. @return how many of them may be; if not all, the answer is cut off
  uint64_t take(uint64_t rows) {
    const uint64_t room = max_results_ ? static_cast<uint64_t>(*max_results_) - taken_ : UINT64_MAX;
    if (rows > room) truncation_ = {Truncation::kMaxResults, *max_results_};
    taken_ += std::min(rows, room);
    return std::min(rows, room);
  }
  /// Cuts the answer off if the time is up. @return whether it did
  bool end_in_time() {
    if (!time_is_up()) return false;
    truncation_ = {Truncation::kTimeout, *timeout_ms_};
    return true;
  }
  /// For a run whose cancel token also asks for the time: cuts the answer off if only that has ended the run.
  /// @param cancel  the caller's token @return false: the error is for the caller
  bool was_ended_by_time(const Error& error, const CancelToken& cancel) {
    return error.code() == ErrorCode::kCancelled && !cancel.requested() && end_in_time();
  }

  uint64_t taken() const { return taken_; }
  bool is_cut_off() const { return truncation_.cause != Truncation::kNone; }
  const Truncation& truncation() const { return truncation_; }

 private:
  std::optional<int64_t> max_results_;
  std::optional<int64_t> timeout_ms_;
  Stopwatch watch_;
  uint64_t taken_ = 0;
  Truncation truncation_;
};

}  // namespace batmap
