// Events that exceed the memory of a run: partitions by stream, packed block by block, in temporary files.
//
// All events of a stream lie in one partition, so counts over partitions add up. A partition that is too large is split again.
// A stream that is too large by itself is split into pieces: ranges of time, at times that a sample of its events gives.
// A block is two chunks (relation/chunk.h): time and event, and the stream.
// Cost: one write and one read of the packed events for each level, one more read for a level of pieces, and 384 KiB for
// open rows while a level is written. Source: row_partitions.h, for events.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"

namespace batmap {

struct EventRow {
  int64_t time;
  int64_t event;
  int64_t stream;
};

struct EventPartition {
  TempFile* file = nullptr;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  KeyBounds streams;
  KeyBounds times;
  bool is_piece = false;   // of a stream that has several, which follow each other in order of time
  bool continues = false;  // it goes on with the stream of the partition before
};

/// Calls visit(row) for all rows of a partition.
/// @throws Error{kMemoryLimit, kCancelled}, what the file throws
void visit_events(const EventPartition& part, MemoryMeter& meter, const CancelToken& cancel,
                  const std::function<void(const EventRow&)>& visit);

class EventPartitions {
 public:
  static constexpr size_t kPartitions = 64;
  static constexpr uint32_t kOpenRows = 256;  // open rows of a partition, which become one block

  /// All of them: @throws Error{kMemoryLimit}, std::bad_alloc, what the files throw
  EventPartitions(TempFiles& files, MemoryMeter& meter, int level = 0);

  void append(const EventRow& row);
  /// Writes the open rows. The partitions can be read after this.
  void seal();

  uint64_t rows() const { return rows_; }
  /// Bounds of the events in rows that have been written.
  const KeyBounds& event_bounds() const { return event_bounds_; }
  /// All partitions that have rows. Those with more than `max_rows` are split, unless all their events have one time and one
  /// stream. Call it once.
  std::vector<EventPartition> partitions(uint64_t max_rows, const CancelToken& cancel) const;

 private:
  static constexpr int kMaxLevels = 4;
  static constexpr int kMaxTimeLevels = 8;

  size_t part_of(const EventRow& row) const;
  void write_open(size_t part);
  std::optional<EventPartitions> smaller_for(const EventPartition& part, uint64_t max_rows, const CancelToken& cancel) const;

  TempFiles* files_;
  MemoryMeter* meter_;
  int level_;
  std::vector<int64_t> cuts_;  // ascending; if there are any, rows are parted by time, and part k begins at cuts_[k - 1]
  uint64_t rows_ = 0;
  KeyBounds event_bounds_;
  std::vector<EventPartition> parts_;  // [kPartitions]
  Buffer<EventRow> open_;              // [kPartitions][kOpenRows]
  std::vector<uint32_t> open_rows_;    // [kPartitions]
  Buffer<std::byte> packed_;           // one chunk
};

}  // namespace batmap
