// Events in order of time and, for each symbol, as a list of times: the form that every episode counter reads.
//
// Several streams lie one behind the other on one axis, so far apart that no gap reaches from one into the next. So the
// count of an axis is the sum of the counts of its streams. The axis starts at 0 and stays below 2^62, so that no sum of
// a time and a gap overflows. A row that repeats symbol and time is left out: it can add nothing, because occurrences at
// one time overlap. So lists ascend strictly. Events of one time are in order of their symbols.
//
// Cost: 20 bytes an event, and 16 more while the axis is built.
// Source: EP IV-A (lists of positions); the axis is ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/options.h"
#include "episodes/episode.h"

namespace batmap {

/// The place of a piece on the axis of its stream: what was counted with earlier pieces (event_parts.h).
struct PieceBounds {
  int64_t counted_to = -1;  // events up to this time were on an earlier axis; -1: the piece is the first of its stream
  int64_t context = 0;      // of these, the events of the last so many ticks are on this axis again
  int64_t step = 0;         // how much of the context is for one gap; 0 if the context is the whole stream
  bool crosses = false;     // two events after counted_to were on one earlier axis, too

  /// The entries of a prefix of `length` events (frontier.h) that end after this time are made on the axis. Of those that end up
  /// to it, the last one is carried from piece to piece.
  /// @param before  the last time before the piece: counted_to or, as the next piece sees it, the last time of this one
  int64_t settled_to(size_t length, int64_t before) const {
    return before < 0 ? -1 : before - context + static_cast<int64_t>(length - 1) * step;
  }
};

/// One axis, as plain arrays.
struct EventAxisView {
  size_t events;
  const int64_t* times;     // [events] ascending
  const uint32_t* symbols;  // [events]
  uint32_t symbol_count;
  const uint32_t* begin;      // [symbol_count + 1] first index of each symbol in list_times
  const int64_t* list_times;  // [events] by symbol, strictly ascending in each
  int64_t reach;              // gaps are cut to this: it separates streams, and no two events of a stream are further apart
  std::span<const int64_t> stream_ends = {};  // [streams] if these are counted: the last time before the next one begins
  PieceBounds piece = {};

  bool counts_streams() const { return !stream_ends.empty(); }

  std::span<const int64_t> list(uint32_t symbol) const {
    return {list_times + begin[symbol], list_times + begin[symbol + 1]};
  }
  /// Without the events that were on the axis before.
  std::span<const int64_t> new_list(uint32_t symbol) const { return later(list(symbol), piece.counted_to); }
  static std::span<const int64_t> later(std::span<const int64_t> times, int64_t than) {
    if (times.empty() || times.front() > than) return times;
    return {std::upper_bound(times.begin(), times.end(), than), times.end()};
  }
  /// The index of the first event that was not on the axis before.
  size_t first_new() const { return events - later({times, events}, piece.counted_to).size(); }
  Gap cut(const Gap& gap) const { return {gap.low < reach ? gap.low : reach, gap.high < reach ? gap.high : reach}; }
  /// @pre events > 0
  int64_t ticks() const { return times[events - 1] - times[0] + 1; }
};

class EventAxis {
 public:
  static constexpr uint64_t kMaxSpan = uint64_t{1} << 61;  // ticks: the span of a stream is less
  static constexpr size_t kMaxEvents = UINT32_MAX - 1;

  /// Of one stream on the axis.
  struct Stretch {
    int64_t at;     // time on the axis of its first event
    int64_t first;  // time of that event in the input
    int64_t stream;
  };

  /// @param events, times, symbols  in order of time, without repetitions; the buffers may be larger
  EventAxis(size_t events, Buffer<int64_t> times, Buffer<uint32_t> symbols, uint32_t symbol_count, int64_t reach,
            GrowingBuffer<Stretch> stretches, EpisodeCounting counting, const ExecutionOptions& options,
            const PieceBounds& piece = {});

  EventAxisView view() const;
  /// The stream at a time on the axis.
  const Stretch& stretch_of(int64_t time) const;

  /// Writes the axis. read_sizes() and read_events() read it. @throws what the file throws
  void write(TempFile& file, const CancelToken& cancel) const;
  struct Sizes {
    uint64_t events;
    uint64_t stretches;
  };
  static Sizes read_sizes(TempFile& file);
  /// Appends the stretches. @param times, symbols  [sizes.events] filled
  static void read_events(TempFile& file, const Sizes& sizes, int64_t* times, uint32_t* symbols,
                          GrowingBuffer<Stretch>& stretches, const CancelToken& cancel);

 private:
  size_t events_;
  int64_t reach_;
  PieceBounds piece_;
  Buffer<int64_t> times_;
  Buffer<uint32_t> symbols_;
  Buffer<uint32_t> begin_;  // [symbols + 1]
  Buffer<int64_t> list_times_;
  GrowingBuffer<Stretch> stretches_;
  Buffer<int64_t> stream_ends_;  // [stretches] if streams are counted
};

}  // namespace batmap
