// Axes in files, which are loaded in parts that fit into memory.
//
// A part is the axes of some streams, or some pieces of one. A stream that is too large by itself waits in pieces, which
// follow each other in order of time. Counters take pieces in this order and keep, for each episode, up to when occurrences
// are blocked (counting_rule.h): those that end before the piece are, because they have been counted or overlap one that
// was. There are two ways to load a piece.
//
// Behind its context: the last events before it, as many as the counter asks for. Tracking keeps more for each episode
// (tracking.h), so its context has only to be as long as the lower ends of the gaps. For other counters it is as long as an
// occurrence may be. If a context is long, several pieces are loaded at once, so that at most half of the events that are
// loaded were seen before.
//
// By twos, for pairs of events within a window so long that its context does not fit: each piece alone, with the numbers of
// events in earlier pieces that are wholly in reach, and then with each earlier piece that is partly in reach. So each piece
// is read a few times. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "episodes/event_axis.h"

namespace batmap {

/// Axes that are counted at once.
struct EventPart {
  std::span<const EventAxis> axes;
  bool is_piece;   // it has one axis, with some pieces of one stream
  bool continues;  // this stream began in the part before
  // [symbol] events that are not on the axis, each in reach of each on it, if pairs in windows are counted; empty: none
  std::span<const uint64_t> in_reach = {};
};

/// Axes in a file: those of some streams, or one piece.
struct StoredPart {
  TempFile* file;
  size_t axes;
  bool is_piece;
  bool continues;   // the stream of the part before
  uint64_t events;  // of a piece, like the next two
  int64_t first_time;
  int64_t last_time;
};

/// All of an input. A view: the parts, and what their axes have in common.
struct StoredParts {
  std::span<const StoredPart> parts;
  uint32_t symbols;
  int64_t reach;
  EpisodeCounting counting;

  /// Is a context of `reach` too long for the memory of a part?
  bool have_long_windows(const ExecutionOptions& options) const;
};

/// Loads one part after the other. The files and the options must outlive it.
class PartReader {
 public:
  virtual ~PartReader() = default;
  /// The next part, which is valid until the next call. Empty at the end.
  /// @throws Error{kMemoryLimit, kCancelled, kTooLarge}, std::bad_alloc, what the files throw
  std::optional<EventPart> next();

 protected:
  struct PieceRange {
    size_t begin;
    size_t end;
  };
  /// Events before a piece, as a counter sees them: those of another axis, copied.
  struct Kept {
    Buffer<int64_t> times;
    Buffer<uint32_t> symbols;
  };

  /// @param context  of a piece; its counted_to and crosses are set for each
  PartReader(const StoredParts& stored, const PieceBounds& context, const ExecutionOptions& options)
      : stored_(stored), options_(options), bounds_(context) {}

  /// Loads the piece at_, and others that come with it, and moves at_ behind the last that is done.
  /// @return EventPart::in_reach
  virtual std::span<const uint64_t> load_piece() = 0;
  /// Makes the axis of these ranges of pieces. @param kept  comes before them
  void load_axis(std::initializer_list<PieceRange> ranges, Kept kept = {});
  /// @param times, symbols  [events of the piece] filled @param stretches  replaced
  void read_piece(size_t piece, int64_t* times, uint32_t* symbols, GrowingBuffer<EventAxis::Stretch>& stretches) const;

  StoredParts stored_;
  const ExecutionOptions& options_;
  PieceBounds bounds_;
  size_t at_ = 0;  // of the next stored part
  std::vector<EventAxis> axes_;

 private:
  void load_streams(const StoredPart& part);
};

/// Loads pieces behind their contexts.
class ContextReader : public PartReader {
 public:
  /// @param length, step  see EventStreams::for_parts()
  ContextReader(const StoredParts& stored, size_t length, int64_t step, const ExecutionOptions& options);

 private:
  std::span<const uint64_t> load_piece() final;
};

/// Loads pieces by twos, for pairs of events that are at most `reach` apart.
class TwosReader : public PartReader {
 public:
  TwosReader(const StoredParts& stored, const ExecutionOptions& options);

 private:
  std::span<const uint64_t> load_piece() final;
  void count_in_reach();
  void add_counts(size_t piece, bool add);
  /// Does an earlier piece have events in reach of the piece at_?
  bool is_partly_in_reach(size_t earlier) const;

  std::optional<size_t> partner_;  // the earlier piece that comes with the piece at_; empty: that comes alone
  size_t stream_ = 0;              // the first piece of its stream
  // The pieces [from, to) are wholly in reach of the piece at_, and counted.
  size_t reach_from_ = 0;
  size_t reach_to_ = 0;
  Buffer<uint64_t> in_reach_;  // [symbol]
};

}  // namespace batmap
