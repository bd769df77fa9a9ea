// The streams of one input, on axes: what a run of episodes counts on.
//
// Streams that do not fit on an axis go to further axes, whose counts are added. Events that exceed the memory of a run go
// to files (event_partitions.h), and their axes are loaded in parts (event_parts.h).
//
// Cost: that of the log and of the axes (event_log.h, event_axis.h), and 16 bytes a row between them. Linear time if the
// rows of each stream come in order of time. In files: two passes over the rows, and 12 bytes an event of a file that is
// read each time a part is loaded. Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.h"
#include "core/run_record.h"
#include "episodes/event_axis.h"
#include "episodes/event_log.h"
#include "episodes/event_parts.h"

namespace batmap {

/// Which events stay. Values are those of the log or, if there are ranks, ranks; lists ascend.
struct EventFilter {
  uint64_t min_rows = 1;                          // an event with fewer rows is dropped
  const std::vector<int64_t>* only = nullptr;     // only these stay; nullptr: all
  const std::vector<int64_t>* exclude = nullptr;  // these are dropped; nullptr: none
};

/// A sum of durations that is larger counts as this one.
inline constexpr uint64_t kMaxDuration = (uint64_t{1} << 62) - 1;  // ticks

/// @param x, y  at most kMaxDuration
inline uint64_t sum_of_durations(uint64_t x, uint64_t y) { return std::min(x + y, kMaxDuration); }

/// Totals of the rows before any event is dropped.
struct EventTotals {
  uint64_t rows = 0;
  uint64_t streams = 0;
  uint64_t events = 0;  // distinct ones
  uint64_t most_event_rows = 0;
  std::optional<uint64_t> times;  // distinct ones of all streams; only counted if they may be swapped, and are few
  uint64_t duration = 0;          // ticks between first and last row of each stream, added up; at most kMaxDuration
};

/// The axes of one input, and the events behind its symbols. Symbols are numbered in ascending order of the events.
class EventStreams {
 public:
  /// @param log         consumed
  /// @param event_rank  [event] rank of an event of the log; empty: the event itself
  /// @param filter      called once
  /// @param reach       the largest gap that will be used
  /// @param options     its files must outlive the object
  /// @param counting    the rule of all counters of these axes
  /// @throws Error{kTooLarge} if a stream spans 2^61 ticks or more; Error, std::bad_alloc, what the files throw
  EventStreams(EventLog log, std::span<const uint32_t> event_rank,
               const std::function<EventFilter(const EventTotals&)>& filter, int64_t reach, const ExecutionOptions& options,
               EpisodeCounting counting = EpisodeCounting::kNonOverlapped);

  /// Calls visit(const EventPart&) for each part. In memory there is one; in files there are several, and each is loaded for
  /// its call. To be called by the thread of the run.
  /// @param length  of the episodes that are counted
  /// @param step    ticks of the context of a piece for each of their length - 1 gaps: reach(), or lag() if all are tracked
  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
  template <typename Visit>
  void for_parts(size_t length, int64_t step, const ExecutionOptions& options, Visit visit) const {
    if (!in_files_) return visit(EventPart{axes_, false, false});
    ContextReader reader(stored(), length, step, options);
    while (const std::optional<EventPart> part = reader.next()) visit(*part);
  }
  /// The same for those who count pairs of events that are at most reach() apart. The pairs of a part are those on an axis that
  /// its PieceBounds do not exclude, and those of an event on the axis and one of EventPart::in_reach.
  template <typename Visit>
  void for_windows(const ExecutionOptions& options, Visit visit) const {
    if (!has_long_windows(options)) return for_parts(kPair, reach_, options, visit);
    TwosReader reader(stored(), options);
    while (const std::optional<EventPart> part = reader.next()) visit(*part);
  }
  /// Is a context of reach() too long for the memory of a part?
  bool has_long_windows(const ExecutionOptions& options) const { return stored().have_long_windows(options); }
  /// Gaps are cut to this.
  int64_t reach() const { return reach_; }
  /// The largest lower end of these gaps, but for those that no two events have.
  int64_t lag(std::span<const Gap> gaps) const {
    int64_t lag = 0;
    for (const Gap& gap : gaps)
      if (gap.low < std::min(gap.high, reach_)) lag = std::max(lag, gap.low);
    return lag;
  }
  /// Are the axes in files?
  bool in_files() const { return in_files_; }
  /// Is there a stream in pieces?
  bool has_pieces() const { return has_pieces_; }
  /// Of axes in memory.
  const std::vector<EventAxis>& axes() const { return axes_; }

  const EventTotals& totals() const { return totals_; }
  EpisodeCounting counting() const { return counting_; }
  uint64_t rows_kept() const { return rows_kept_; }
  /// Events on all axes.
  uint64_t events() const { return events_; }
  uint32_t symbols() const { return static_cast<uint32_t>(values_.size()); }
  int64_t value(uint32_t symbol) const { return values_[symbol]; }
  /// @return empty for an event that does not occur or was dropped
  std::optional<uint32_t> symbol_of(int64_t value) const;

  /// Of the rows in files or, if they are more, of the axes.
  uint64_t file_bytes() const { return file_bytes_; }
  /// For the reason of a run; empty if the axes are in memory.
  std::string describe_files() const;

 private:
  class Grouping;

  static constexpr size_t kPair = 2;

  StoredParts stored() const { return {parts_, symbols(), reach_, counting_}; }
  void group_rows(EventLog log, Grouping& grouping);
  void group_files(EventPartitions& rows, Grouping& grouping);

  std::vector<EventAxis> axes_;
  bool in_files_ = false;
  bool has_pieces_ = false;
  std::vector<StoredPart> parts_;
  int64_t reach_ = 0;
  uint64_t file_bytes_ = 0;
  EventTotals totals_;
  EpisodeCounting counting_;
  uint64_t rows_kept_ = 0;
  uint64_t events_ = 0;
  Buffer<int64_t> values_;  // [symbols] ascending
};

/// Sets the sizes of the record of a run over these axes.
inline void record_streams(const EventStreams& streams, RunRecord& record) {
  record.transactions = streams.totals().streams;
  record.items = streams.totals().events;
  record.items_kept = streams.symbols();
  record.occurrences = streams.rows_kept();
  record.file_bytes = streams.file_bytes();
}

}  // namespace batmap
