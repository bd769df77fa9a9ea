// The rows of a run as they arrive: an append-only sequence of (tid, item) pairs, packed chunk by chunk
// (chunk.h). Appending costs a store, and one packing pass every 4,096 pairs (about 1 ns a pair). Duplicates
// and order are kept. When the log exceeds a bound on its memory it moves to partitions in temporary files
// (row_partitions.h), and later rows follow. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"
#include "relation/row_partitions.h"

namespace batmap {

class RowLog {
 public:
  /// @param meter  charged for the packed chunks; must outlive the log
  /// @throws std::bad_alloc, Error{kMemoryLimit}
  explicit RowLog(MemoryMeter& meter) : meter_(&meter), open_(meter, kChunkRows) {}
  /// A log that moves to files, if `options` has any, when it exceeds its share of the work memory. The
  /// move can be cancelled.
  explicit RowLog(const ExecutionOptions& options) : RowLog(*options.memory) {
    files_ = options.files;
    cancel_ = options.cancel;
    if (files_ != nullptr) max_bytes_ = options.work_bytes / kShareOfWorkMemory;
  }
  /// The log may take 1 / 4 of the work memory, and in the end of the memory that is left: the counted forms are made from it
  /// and are larger.
  static constexpr size_t kShareOfWorkMemory = 4;

  /// All four: @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
  void append(int64_t tid, int64_t item) {
    open_[open_rows_] = {tid, item};
    if (++open_rows_ == kChunkRows) pack_open();
  }
  void append_rows(std::span<const TidItem> rows);
  /// Appends a copy of a packed chunk.
  void append_chunk(const std::byte* chunk, size_t bytes);

  /// Packs the open pairs. Call it before chunks() and partitions().
  void seal();

  uint64_t rows() const { return rows_ + open_rows_; }
  /// Where the rows are if the log has moved to files; nullptr: they are in chunks().
  const RowPartitions* partitions() const { return partitions_ ? &*partitions_ : nullptr; }
  /// Views into the log, valid until it is appended to or destroyed.
  std::vector<ChunkView> chunks() const;

 private:
  struct Block {
    Buffer<std::byte> bytes;
    size_t used = 0;
  };
  std::byte* room(size_t bytes);
  std::byte* room_unless_moved(size_t bytes);
  void pack_open();
  bool is_cramped() const;
  void spill_if_large();
  void move_to_files();

  MemoryMeter* meter_;
  Buffer<TidItem> open_;
  uint32_t open_rows_ = 0;
  uint64_t rows_ = 0;
  std::vector<Block> blocks_;
  size_t block_bytes_ = 0;
  TempFiles* files_ = nullptr;
  CancelToken cancel_;
  size_t max_bytes_ = SIZE_MAX;
  size_t checked_blocks_ = 0;  // how many there were when it was last asked whether they are too many
  std::optional<RowPartitions> partitions_;
};

}  // namespace batmap
