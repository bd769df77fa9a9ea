// Counting by tracking: all occurrences grow at once, symbol by symbol, and at the end a largest set without
// overlaps is chosen. Source: EP IV; the bounded frontier is ours (frontier.h).
//
// There are two ways to use threads. A Tracker counts one episode at a time and keeps the frontiers of its
// prefixes for the next one; other threads count other episodes. track_in_blocks() uses all threads for one
// episode: every step extends blocks of the next symbol's list at once, and the results are compacted in one of
// EP's two ways, count-scan-write (IV-E) or atomic (IV-D).
//
// If a stream comes in pieces, the axis of a piece makes the entries of a prefix that end after a certain time
// (PieceBounds::settled_to()), and a Tracker carries one entry for each prefix from piece to piece: the last one that ends up to
// that time. Earlier ones cannot matter, because an event takes the last entry that ends early enough. So the upper end of a gap
// may be as large as it likes. The lower end may not: an event looks for its entry so far back, and so long is the context.
//
// Cost: a step for each event of the episode's symbols; for track_all() a step for each occurrence, which may be very many.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "episodes/event_axis.h"
#include "episodes/frontier.h"

namespace batmap {

class Tracker {
 public:
  /// @param view, options  must outlive the object
  Tracker(const EventAxisView& view, const ExecutionOptions& options)
      : view_(view),
        options_(options),
        first_level_(*options.memory),
        longer_{Level(*options.memory), Level(*options.memory)} {}

  /// The frontier of the first `length` symbols of an episode; valid until the next call.
  /// @param carried  [length] of a piece: the entry of each prefix, read and set; empty: there is none, as nothing is carried
  FrontierView frontier(EpisodeView episode, size_t length, std::span<Occurrence> carried);

  /// Calls take(end, start) for the occurrences of an episode of two or more symbols, in order of their ends:
  /// for each end that is new on the axis the one that starts latest.
  /// @param carried  [length - 1], or empty
  template <typename Take>
  void occurrences(EpisodeView episode, std::span<Occurrence> carried, Take take) {
    const size_t before = episode.length() - 1;
    extend_polled(frontier(episode, before, carried), view_.new_list(episode.last()), view_.cut(episode.gaps[before - 1]),
                  options_.cancel, take);
  }

  /// @param blocked_to  see with_rule() @param carried  [length - 1], or empty
  uint64_t count(EpisodeView episode, int64_t& blocked_to, std::span<Occurrence> carried);

 private:
  // The frontiers of longer prefixes are not kept: few episodes are as long, and a given one may have any length.
  static constexpr size_t kKeptLength = 32;

  // The frontier of a prefix.
  struct Level {
    explicit Level(MemoryMeter& meter) : ends(meter), starts(meter) {}
    FrontierView view() const { return {ends.begin(), starts.begin(), ends.size()}; }

    uint32_t symbol = 0;
    Gap gap{};
    GrowingBuffer<int64_t> ends;
    GrowingBuffer<int64_t> starts;
  };
  FrontierView level(size_t length) const;
  void start(uint32_t symbol, std::span<Occurrence> carried);
  void extend(FrontierView from, EpisodeView episode, size_t length, std::span<Occurrence> carried, Level& to);
  void carry(FrontierView frontier, size_t length, std::span<Occurrence> carried) const;

  const EventAxisView& view_;
  const ExecutionOptions& options_;
  uint32_t first_ = 0;
  bool is_carried_ = false;  // whether first_level_ holds the frontier of the first symbol; else its list does
  GrowingBuffer<int64_t> first_level_;
  std::vector<Level> levels_;  // [k] for the first k + 2 symbols
  size_t valid_ = 0;           // length of the prefix whose frontiers are valid
  Level longer_[2];            // of the prefix that grows, and of the one before
};

enum class Compaction { kCountScanWrite, kAtomic };

/// The support of an episode with these entries, in order of their ends: by the rule of the axis.
/// @param blocked_to  see with_rule()
uint64_t count_entries(const EventAxisView& view, FrontierView frontier, int64_t& blocked_to, const CancelToken& cancel);

/// The support of a single symbol. @param blocked_to  see with_rule()
uint64_t count_symbol(const EventAxisView& view, uint32_t symbol, int64_t& blocked_to, const CancelToken& cancel);

/// Counts one episode on all threads of the options. @param blocked_to  see with_rule()
uint64_t track_in_blocks(const EventAxisView& view, EpisodeView episode, Compaction compaction, int64_t& blocked_to,
                         const ExecutionOptions& options);

/// EP's own tracking, for comparison: keeps every occurrence, and goes from the last symbol backwards, so that
/// they come out in order of their ends (IV-E). There may be very many. @throws Error{kMemoryLimit}
uint64_t track_all(const EventAxisView& view, EpisodeView episode, const ExecutionOptions& options);

}  // namespace batmap
