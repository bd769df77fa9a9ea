// What the support of an episode counts, as a choice among its occurrences in order of their ends. Both rules count the
// occurrences that they take, and take greedily: the first one, then the next one that starts late enough.
//
// Neither support grows when an event is taken away from the front or from the end of an episode, and neither shrinks:
// what is left occurs wherever the whole did. So discovery by levels is complete under both (level_wise.h).
//
// Both rules remember one time: up to which occurrences that start are blocked. So the count of a stream that comes in pieces
// (event_parts.h) goes on where it stopped, if this time is kept for each episode.
#pragma once

#include <cstdint>
#include <span>

#include "episodes/event_axis.h"
#include "episodes/frontier.h"

namespace batmap {

/// Blocks nothing: all times of an axis are later.
inline constexpr int64_t kNothingBlocked = -1;

/// Takes each occurrence that starts later than the last taken one has ended. The result is a largest set (EP, Algorithm 1).
struct NonOverlapped {
  int64_t blocked_to = kNothingBlocked;
  uint64_t count = 0;

  bool take(int64_t end, int64_t start) {
    const bool chosen = start > blocked_to;
    count += chosen;
    blocked_to = chosen ? end : blocked_to;
    return chosen;
  }
};

/// The streams that lie on an axis, for times that ascend.
class StreamCursor {
 public:
  explicit StreamCursor(std::span<const int64_t> ends) : ends_(ends) {}

  /// The last time of the axis that belongs to the stream at `time`. @param time  not below that of the call before
  int64_t end_of(int64_t time) {
    if (ends_[at_] < time) at_ = gallop(ends_.data(), at_, ends_.size(), [&](int64_t end) { return end < time; });
    return ends_[at_];
  }

 private:
  std::span<const int64_t> ends_;
  size_t at_ = 0;
};

/// Takes one occurrence of each stream. An occurrence lies in one stream, so the end tells which.
struct OneAStream {
  OneAStream(std::span<const int64_t> stream_ends, int64_t blocked) : streams(stream_ends), blocked_to(blocked) {}

  bool take(int64_t end, int64_t) {
    if (end <= blocked_to) return false;
    blocked_to = streams.end_of(end);
    ++count;
    return true;
  }

  StreamCursor streams;
  int64_t blocked_to;  // the end of the stream of the occurrence that was taken last
  uint64_t count = 0;
};

/// Counts by the rule of the axis. @param blocked_to  of the episode, on this axis: read and set
/// @param body  gets a rule, and returns it after it has taken occurrences
template <typename Body>
uint64_t with_rule(const EventAxisView& view, int64_t& blocked_to, Body body) {
  const auto count = [&](auto rule) {
    const auto after = body(rule);
    blocked_to = after.blocked_to;
    return after.count;
  };
  if (view.counts_streams()) return count(OneAStream(view.stream_ends, blocked_to));
  return count(NonOverlapped{blocked_to});
}

}  // namespace batmap
