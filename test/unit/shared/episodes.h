// Episodes for tests: small streams, and an oracle too simple to be wrong. It lists every occurrence. Then it
// finds the largest set without overlaps: by trying all sets if there are few occurrences, and by interval
// scheduling (sort by end, take what fits) if there are more. Written from kernels/episodes/episode.h alone.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "episodes/event_streams.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {

struct Event {
  int64_t time;
  int64_t event;
  int64_t stream = 0;
};

struct Pattern {
  std::vector<int64_t> events;
  std::vector<Gap> gaps;  // [events.size() - 1]
  auto operator<=>(const Pattern& other) const {
    const auto key = [](const Pattern& x) {
      std::vector<std::pair<int64_t, int64_t>> gaps_of;
      for (const Gap& gap : x.gaps) gaps_of.push_back({gap.low, gap.high});
      return std::make_tuple(x.events.size(), x.events, gaps_of);
    };
    return key(*this) <=> key(other);
  }
  bool operator==(const Pattern& other) const { return (*this <=> other) == 0; }
};

/// Every occurrence in one stream as (start, end), with repetitions.
inline void list_occurrences(const std::vector<Event>& events, const Pattern& pattern, size_t position, int64_t start,
                             int64_t before, std::vector<std::pair<int64_t, int64_t>>& found) {
  if (position == pattern.events.size()) {
    found.push_back({start, before});
    return;
  }
  for (const Event& event : events) {
    if (event.event != pattern.events[position]) continue;
    if (position > 0) {
      // The distance of two times may not fit 64 bits.
      __extension__ const __int128 distance = static_cast<__int128>(event.time) - before;
      if (distance <= pattern.gaps[position - 1].low || distance > pattern.gaps[position - 1].high) continue;
    }
    list_occurrences(events, pattern, position + 1, position == 0 ? event.time : start, event.time, found);
  }
}

/// The largest set without overlaps, by trying all sets. For up to a dozen intervals.
inline uint64_t largest_set(const std::vector<std::pair<int64_t, int64_t>>& intervals) {
  uint64_t best = 0;
  for (uint32_t chosen = 0; chosen < 1u << intervals.size(); ++chosen) {
    bool apart = true;
    uint64_t size = 0;
    for (size_t x = 0; x < intervals.size() && apart; ++x) {
      if ((chosen >> x & 1) == 0) continue;
      ++size;
      for (size_t y = 0; y < x; ++y)
        if ((chosen >> y & 1) != 0 && intervals[x].first <= intervals[y].second && intervals[y].first <= intervals[x].second)
          apart = false;
    }
    if (apart) best = std::max(best, size);
  }
  return best;
}

inline uint64_t scheduled(std::vector<std::pair<int64_t, int64_t>> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  uint64_t count = 0;
  const std::pair<int64_t, int64_t>* last = nullptr;
  for (const auto& interval : intervals) {
    if (last != nullptr && interval.first <= last->second) continue;
    ++count;
    last = &interval;
  }
  return count;
}

inline uint64_t oracle_support(const std::vector<Event>& events, const Pattern& pattern,
                               EpisodeCounting counting = EpisodeCounting::kNonOverlapped) {
  std::map<int64_t, std::vector<Event>> streams;
  for (const Event& event : events) streams[event.stream].push_back(event);
  uint64_t support = 0;
  for (const auto& [stream, own] : streams) {
    std::vector<std::pair<int64_t, int64_t>> found;
    list_occurrences(own, pattern, 0, 0, 0, found);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (counting == EpisodeCounting::kStreams)
      support += !found.empty();
    else
      support += found.size() <= 10 ? largest_set(found) : scheduled(found);
  }
  return support;
}

inline EventLog log_of(const std::vector<Event>& events, const ExecutionOptions& options) {
  bool with_streams = false;
  for (const Event& event : events) with_streams |= event.stream != 0;
  EventLog log(options, with_streams);
  for (const Event& event : events) log.append(event.time, event.event, event.stream);
  return log;
}

inline EventStreams streams_of_events(const std::vector<Event>& events, int64_t reach, const ExecutionOptions& options,
                                      EpisodeCounting counting = EpisodeCounting::kNonOverlapped) {
  return {log_of(events, options), {}, [](const EventTotals&) { return EventFilter{}; }, reach, options, counting};
}

/// `count` events at random times below `span`; times may repeat and are in no order.
inline std::vector<Event> random_events(Random& random, size_t count, uint64_t span, uint64_t symbols,
                                        uint64_t streams = 1) {
  std::vector<Event> events;
  for (size_t k = 0; k < count; ++k)
    events.push_back({random.signed_below(span), random.signed_below(symbols), random.signed_below(streams)});
  return events;
}

/// A random gap; sometimes it is empty, unbounded, or has a low end above 0.
inline Gap random_gap(Random& random, uint64_t span) {
  const int64_t low = random.chance(50) ? 0 : random.signed_below(span / 3 + 1);
  if (random.chance(5)) return {low, low};
  if (random.chance(10)) return {low, Gap::kUnbounded};
  return {low, low + 1 + random.signed_below(span / 2 + 1)};
}

inline Pattern random_pattern(Random& random, size_t length, uint64_t symbols, uint64_t span) {
  Pattern pattern;
  for (size_t k = 0; k < length; ++k) {
    pattern.events.push_back(random.signed_below(symbols));
    if (k > 0) pattern.gaps.push_back(random_gap(random, span));
  }
  return pattern;
}

/// Makes steps of one time at random: there the events ascend.
inline void join_steps(Random& random, Pattern& pattern) {
  for (size_t k = 0; k < pattern.gaps.size(); ++k)
    if (pattern.events[k] < pattern.events[k + 1] && random.chance(50)) pattern.gaps[k] = kSameTime;
}

inline constexpr EpisodeCounting kEpisodeCountings[] = {EpisodeCounting::kNonOverlapped, EpisodeCounting::kStreams};

}  // namespace batmap::test
