// Events in order of time and, for each symbol, as a list of times: the form that every episode counter reads.
//
// Several streams lie one behind the other on one axis, so far apart that no gap reaches from one into the next. So the
// count of an axis is the sum of the counts of its streams. The axis starts at 0 and stays below 2^62, so that no sum of
// a time and a gap overflows. Streams that do not fit go to further axes, whose counts are added, too. A row that repeats
// symbol and time is left out: it can add nothing, because occurrences at one time overlap. So lists ascend strictly.
// Events of one time are in order of their symbols.
//
// Cost: 20 bytes for each event that is kept, and 16 more while the axis is built. Before that the log takes 16
// bytes, or 24 with streams. Linear time if the rows of each stream come in order of time.
//
// Events that exceed the memory of a run go to files (event_partitions.h). Then the axes of some streams are a part that
// fits into memory. Parts wait in files and are loaded one after the other, and their counts are added. Cost: two passes over
// the rows, and 12 bytes an event of a file that is read each time a part is loaded.
//
// A stream that is too large by itself waits in pieces, which follow each other in order of time. Counters take pieces in this
// order and keep, for each episode, up to when occurrences are blocked (counting_rule.h): those that end before the piece are,
// because they have been counted or overlap one that was. A piece is loaded behind the context that the counter asks for: the
// last events before it. Tracking keeps more for each episode (tracking.h), so its context has only to be as long as the lower
// ends of the gaps. For other counters it is as long as an occurrence may be. If a context is long, several pieces are
// loaded at once, so that at most half of the events that are loaded were seen before. Who counts pairs of events within a
// window so long that its context does not fit gets each piece alone, with the numbers of events in earlier pieces that are
// wholly in reach, and then with each earlier piece that is partly in reach. So each piece is read a few times.
//
// Source: EP IV-A (lists of positions); the axis is ours.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.h"
#include "core/run_record.h"
#include "episodes/episode.h"
#include "episodes/event_partitions.h"

namespace batmap {

/// Rows as they arrive, in any order. If the run has files, a log that exceeds its share of the work memory moves to files,
/// and later rows follow.
class EventLog {
 public:
  using Row = EventRow;

  /// @param with_streams  whether rows have a stream; if not, all are of stream 0
  /// @param expected      number of rows, if known to be few: the log then takes no more memory than they need
  EventLog(const ExecutionOptions& options, bool with_streams, uint64_t expected = kMaxRowsABlock);

  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
  void append(int64_t time, int64_t event, int64_t stream = 0) {
    if (rows_ >> shift_ == blocks_.size()) add_block();
    int64_t* const at = blocks_.back().data() + offset(rows_++);
    at[0] = time;
    at[1] = event;
    if (columns_ == 3) at[2] = stream;
  }
  uint64_t rows() const { return rows_ + (partitions_ ? partitions_->rows() : 0); }
  void clear() {
    blocks_.clear();
    rows_ = 0;
    partitions_.reset();
  }

  /// Writes what is left to the files. @return where the rows are if the log has moved there; nullptr: they are in memory
  /// @throws as append()
  EventPartitions* seal();

  /// A row of a log in memory.
  Row operator[](uint64_t k) const {
    const int64_t* const at = blocks_[k >> shift_].data() + offset(k);
    return {at[0], at[1], columns_ == 3 ? at[2] : 0};
  }

 private:
  static constexpr uint64_t kMaxRowsABlock = uint64_t{1} << 16;

  /// The log may take 1 / 4 of the work memory, as RowLog.
  static constexpr size_t kShareOfWorkMemory = 4;

  size_t offset(uint64_t row) const { return (row & ((uint64_t{1} << shift_) - 1)) * columns_; }
  void add_block();
  void write_blocks();

  MemoryMeter* meter_;
  size_t columns_;
  int shift_;          // log2 of the rows of a block
  uint64_t rows_ = 0;  // in the blocks
  std::vector<Buffer<int64_t>> blocks_;
  TempFiles* files_ = nullptr;
  CancelToken cancel_;
  size_t max_bytes_ = SIZE_MAX;
  std::optional<EventPartitions> partitions_;
};

/// The place of a piece on the axis of its stream.
struct PieceBounds {
  int64_t counted_to = -1;  // if it continues a stream: events up to this time were on the axis before
  int64_t context = 0;      // those of so many ticks are on it again
  int64_t step = 0;         // how much of the context is for one gap; 0 if the context is the whole stream
  bool crosses = false;     // two events after counted_to were on one axis before, too

  /// Entries of the first `length` events that end later are made from the axis and the entry that is carried for one event
  /// less. Of those that end up to this time, the last one is carried.
  /// @param before  the last time before the piece: counted_to or, as the next piece sees it, the last time of this one
  int64_t settled_to(size_t length, int64_t before) const {
    return before < 0 ? -1 : before - context + static_cast<int64_t>(length - 1) * step;
  }
};

/// One axis, as plain arrays.
struct EventStreamView {
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

class EventStream {
 public:
  /// Of one stream on the axis.
  struct Stretch {
    int64_t at;     // time on the axis of its first event
    int64_t first;  // time of that event in the input
    int64_t stream;
  };

  /// @param events, times, symbols  in order of time, without repetitions; the buffers may be larger
  EventStream(size_t events, Buffer<int64_t> times, Buffer<uint32_t> symbols, uint32_t symbol_count, int64_t reach,
              GrowingBuffer<Stretch> stretches, EpisodeCounting counting, const ExecutionOptions& options,
              const PieceBounds& piece = {});

  EventStreamView view() const;
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

/// Axes that are counted at once.
struct EventPart {
  std::span<const EventStream> axes;
  bool is_piece;   // it has one axis, with some pieces of one stream
  bool continues;  // this stream began in the part before
  // [symbol] events that are not on the axis, each in reach of each on it, if windows ask (for_windows); empty: none
  std::span<const uint64_t> in_reach = {};
};

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
    PartReader reader(*this, length, step, options);
    while (const std::optional<EventPart> part = reader.next()) visit(*part);
  }
  /// The same for those who count pairs of events that are at most reach() apart. The pairs of a part are those on an axis that
  /// its PieceBounds do not exclude, and those of an event on the axis and one of EventPart::in_reach.
  template <typename Visit>
  void for_windows(const ExecutionOptions& options, Visit visit) const {
    if (!in_files_) return visit(EventPart{axes_, false, false});
    constexpr size_t kPair = 2;
    PartReader reader(*this, kPair, reach_, options, has_long_windows(options));
    while (const std::optional<EventPart> part = reader.next()) visit(*part);
  }
  /// Is a context of reach() too long for the memory of a part?
  bool has_long_windows(const ExecutionOptions& options) const;
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
  const std::vector<EventStream>& axes() const { return axes_; }

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
  struct StoredPart {
    TempFile* file;
    size_t axes;
    bool is_piece;
    bool continues;   // the stream of the part before
    uint64_t events;  // of a piece, like the next two
    int64_t first_time;
    int64_t last_time;
  };
  class Grouping;

  /// Loads one part after the other.
  class PartReader {
   public:
    /// @param by_twos  whether pieces come alone and in twos, not behind a context
    PartReader(const EventStreams& streams, size_t length, int64_t step, const ExecutionOptions& options,
               bool by_twos = false);
    /// The next part, which is valid until the next call. Empty at the end.
    std::optional<EventPart> next();

   private:
    struct PieceRange {
      size_t begin;
      size_t end;
    };
    void load_axes(const StoredPart& part);
    void load_pieces();
    void load_two();
    void count_in_reach();
    void add_counts(size_t piece, bool add);
    void load_axis(std::initializer_list<PieceRange> ranges, Buffer<int64_t> kept_times = {},
                   Buffer<uint32_t> kept_symbols = {});
    void read_piece(size_t piece, int64_t* times, uint32_t* symbols, GrowingBuffer<EventStream::Stretch>& stretches);

    const EventStreams& streams_;
    const ExecutionOptions& options_;
    PieceBounds bounds_;
    bool by_twos_;
    size_t at_ = 0;  // of the next stored part
    // By twos:
    size_t earlier_ = 0;     // the piece that comes with it, or at_
    size_t stream_ = 0;      // the first piece of its stream
    size_t reach_from_ = 0;  // the pieces [from, to) are counted in in_reach_
    size_t reach_to_ = 0;
    Buffer<uint64_t> in_reach_;  // [symbol]
    std::vector<EventStream> axes_;
  };

  void group_rows(EventLog log, Grouping& grouping);
  void group_files(EventPartitions& rows, Grouping& grouping);

  std::vector<EventStream> axes_;
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
