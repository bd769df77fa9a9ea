// The events of a run as they arrive: a log in memory, which moves to files if it takes too much.
//
// Cost: 16 bytes an event, or 24 with streams.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/options.h"
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

}  // namespace batmap
