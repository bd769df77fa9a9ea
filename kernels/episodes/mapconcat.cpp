// Segments, their machines, and how the machines meet. See mapconcat.h.
#include "episodes/mapconcat.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

#include "core/thread_team.h"
#include "episodes/automaton.h"
#include "episodes/counting_rule.h"

namespace batmap {

namespace {

/// What one machine found in its segment.
struct Path {
  int64_t after;  // where the last occurrence before the segment is assumed to end, or its stream if streams are counted
  uint64_t count;
  int64_t last_end;  // `after` if it found nothing
};

struct Segment {
  Segment(size_t begin_at, size_t end_at, MemoryMeter& meter) : begin(begin_at), end(end_at), paths(meter) {}

  size_t begin;  // events
  size_t end;
  int64_t far_back = kNothingBlocked;  // earlier ends all give the same result
  GrowingBuffer<Path> paths;           // ascending in `after`; the first stands for all ends up to far_back
};

class Map {
 public:
  Map(const EventAxisView& view, EpisodeView episode, int64_t reach, int64_t blocked_to, Segment& segment,
      const ExecutionOptions& options)
      : view_(view),
        episode_(episode),
        segment_(segment),
        options_(options),
        machine_(view, episode, options),
        ends_(*options.memory) {
    const int64_t before = segment.begin == 0 ? kNothingBlocked : view.times[segment.begin - 1];
    segment.far_back = std::max(before - reach, blocked_to);
    if (view.counts_streams()) {
      // The stream before the segment has been counted or not.
      const auto end = std::lower_bound(view.stream_ends.begin(), view.stream_ends.end(), before);
      if (end != view.stream_ends.begin()) segment.far_back = std::max(segment.far_back, *(end - 1));
      run(segment.far_back);
      run(*end);
      return;
    }
    run(segment.far_back);
    const std::span<const int64_t> list = view.list(episode.last());
    for (auto end = std::upper_bound(list.begin(), list.end(), segment.far_back); end != list.end() && *end <= before; ++end)
      run(*end);
  }

 private:
  void run(int64_t after) {
    machine_.start_after(after);
    Path path{after, 0, after};
    const bool first = ends_.empty();
    size_t at = static_cast<size_t>(std::upper_bound(view_.times, view_.times + segment_.end, after) - view_.times);
    for (; at < segment_.end; ++at) {
      if (at % 4096 == 0) options_.cancel.throw_if_requested();
      if (!machine_.step_symbol(view_.symbols[at], view_.times[at])) continue;
      if (at < segment_.begin) return;
      ++path.count;
      path.last_end = machine_.after();
      if (first) {
        ends_.push_back(path.last_end);
      } else if (const auto met = std::lower_bound(ends_.begin(), ends_.end(), path.last_end);
                 met != ends_.end() && *met == path.last_end) {
        path.count += static_cast<uint64_t>(ends_.end() - met - 1);
        path.last_end = ends_[ends_.size() - 1];
        break;
      }
    }
    segment_.paths.push_back(path);
  }

  const EventAxisView& view_;
  EpisodeView episode_;
  Segment& segment_;
  const ExecutionOptions& options_;
  EpisodeMachine machine_;
  GrowingBuffer<int64_t> ends_;  // of the first machine that found any occurrence
};

/// Cuts between events of different times. No segment is shorter than `reach`, except perhaps the last.
std::vector<Segment> cut_segments(const EventAxisView& view, size_t segments, int64_t reach, MemoryMeter& meter) {
  std::vector<Segment> all;
  for (size_t begin = 0; begin < view.events;) {
    size_t end = std::min(view.events, begin + view.events / segments + 1);
    const int64_t min_time = view.times[begin] + reach;
    while (end < view.events && (view.times[end] == view.times[end - 1] || view.times[end] < min_time)) ++end;
    all.emplace_back(begin, end, meter);
    begin = end;
  }
  return all;
}

}  // namespace

uint64_t count_by_mapconcat(const EventAxisView& view, EpisodeView episode, size_t segments, int64_t& blocked_to,
                            const ExecutionOptions& options) {
  if (view.events == 0) return 0;
  int64_t reach = 0;
  const int64_t whole = view.times[view.events - 1] + 1;
  for (size_t k = 0; k + 1 < episode.length(); ++k) reach = std::min(whole, reach + view.cut(episode.gaps[k]).high);
  std::vector<Segment> all = cut_segments(view, segments, reach, *options.memory);
  parallel_for(options, all.size(), [&](size_t k, int) { Map(view, episode, reach, blocked_to, all[k], options); });

  uint64_t count = 0;
  for (const Segment& segment : all) {
    const int64_t after = std::max(blocked_to, segment.far_back);
    const auto path = std::lower_bound(segment.paths.begin(), segment.paths.end(), after,
                                       [](const Path& x, int64_t wanted) { return x.after < wanted; });
    assert(path != segment.paths.end() && path->after == after);
    count += path->count;
    if (path->count > 0) blocked_to = path->last_end;
  }
  return count;
}

}  // namespace batmap
