// Counting by tracking: all occurrences grow at once, symbol by symbol, and at the end a largest set without
// overlaps is chosen. Source: EP IV; the bounded frontier is ours (frontier.h).
//
// There are two ways to use threads. A Tracker counts one episode at a time and keeps the frontiers of its
// prefixes for the next one; other threads count other episodes. track_in_blocks() uses all threads for one
// episode: every step extends blocks of the next symbol's list at once, and the results are compacted in one of
// EP's two ways, count-scan-write (IV-E) or atomic (IV-D).
//
// Cost: a step for each event of the episode's symbols; for track_all() a step for each occurrence, which may be very many.
#pragma once

#include <cstdint>
#include <vector>

#include "core/options.h"
#include "episodes/event_stream.h"
#include "episodes/frontier.h"

namespace batmap {

class Tracker {
 public:
  /// @param view, options  must outlive the object
  Tracker(const EventStreamView& view, const ExecutionOptions& options)
      : view_(view), options_(options), longer_{Level(*options.memory), Level(*options.memory)} {}

  /// The frontier of the first `length` symbols of an episode; valid until the next call.
  FrontierView frontier(EpisodeView episode, size_t length);

  /// Calls take(end, start) for the occurrences of an episode of two or more symbols, in order of their ends:
  /// for each end the one that starts latest.
  template <typename Take>
  void occurrences(EpisodeView episode, Take take) {
    const size_t before = episode.length() - 1;
    extend_polled(frontier(episode, before), view_.list(episode.last()), view_.cut(episode.gaps[before - 1]),
                  options_.cancel, take);
  }

  /// @param blocked_to  see with_rule()
  uint64_t count(EpisodeView episode, int64_t& blocked_to);

 private:
  // The frontiers of longer prefixes are not kept: few episodes are as long, and a given one may have any length.
  static constexpr size_t kKeptLength = 32;

  // The frontier of a prefix of two or more symbols.
  struct Level {
    explicit Level(MemoryMeter& meter) : ends(meter), starts(meter) {}
    FrontierView view() const { return {ends.begin(), starts.begin(), ends.size()}; }

    uint32_t symbol = 0;
    Gap gap{};
    GrowingBuffer<int64_t> ends;
    GrowingBuffer<int64_t> starts;
  };
  FrontierView level(size_t length) const;
  void extend(FrontierView from, EpisodeView episode, size_t length, Level& to);

  const EventStreamView& view_;
  const ExecutionOptions& options_;
  uint32_t first_ = 0;
  std::vector<Level> levels_;  // [k] for the first k + 2 symbols
  size_t valid_ = 0;           // length of the prefix whose frontiers are valid
  Level longer_[2];            // of the prefix that grows, and of the one before
};

enum class Compaction { kCountScanWrite, kAtomic };

/// The support of an episode with these entries, in order of their ends: by the rule of the axis.
/// @param blocked_to  see with_rule()
uint64_t count_entries(const EventStreamView& view, FrontierView frontier, int64_t& blocked_to, const CancelToken& cancel);

/// The support of a single symbol. @param blocked_to  see with_rule()
uint64_t count_symbol(const EventStreamView& view, uint32_t symbol, int64_t& blocked_to, const CancelToken& cancel);

/// Counts one episode on all threads of the options. @param blocked_to  see with_rule()
uint64_t track_in_blocks(const EventStreamView& view, EpisodeView episode, Compaction compaction, int64_t& blocked_to,
                         const ExecutionOptions& options);

/// EP's own tracking, for comparison: keeps every occurrence, and goes from the last symbol backwards, so that
/// they come out in order of their ends (IV-E). There may be very many. @throws Error{kMemoryLimit}
uint64_t track_all(const EventStreamView& view, EpisodeView episode, const ExecutionOptions& options);

}  // namespace batmap
