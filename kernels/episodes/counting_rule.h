// What the support of an episode counts, as a choice among its occurrences in order of their ends. Both rules count the
// occurrences that they take, and take greedily: the first one, then the next one that starts late enough.
//
// Neither support grows when an event is taken away from the front or from the end of an episode, and neither shrinks:
// what is left occurs wherever the whole did. So discovery by levels is complete under both (level_wise.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "episodes/event_stream.h"
#include "episodes/frontier.h"

namespace batmap {

/// Takes each occurrence that starts later than the last taken one has ended. The result is a largest set (EP, Algorithm 1).
struct NonOverlapped {
  int64_t last_end = -1;
  uint64_t count = 0;

  bool take(int64_t end, int64_t start) {
    const bool chosen = start > last_end;
    count += chosen;
    last_end = chosen ? end : last_end;
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
  explicit OneAStream(std::span<const int64_t> stream_ends) : streams(stream_ends) {}

  bool take(int64_t end, int64_t) {
    if (end <= last_end) return false;
    last_end = streams.end_of(end);
    ++count;
    return true;
  }

  StreamCursor streams;
  int64_t last_end = -1;  // of the stream of the occurrence that was taken last
  uint64_t count = 0;
};

/// @return what body(rule) returns, for the rule of the axis
template <typename Body>
auto with_rule(const EventStreamView& view, Body body) {
  if (view.counts_streams()) return body(OneAStream(view.stream_ends));
  return body(NonOverlapped());
}

}  // namespace batmap
