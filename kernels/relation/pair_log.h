// The rows of a run as they arrive: an append-only sequence of (tid, item) pairs, packed chunk by chunk
// (chunk.h). Appending costs a store; every 4,096 pairs one packing pass (about 1 ns a pair). Duplicates and
// order are kept; encoding the relation removes and sorts. Past a bound on its memory the log moves to partitions in
// temporary files (row_partitions.h), where later rows follow. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"
#include "relation/row_partitions.h"

namespace batmap {

class PairLog {
 public:
  /// @param meter  charged for the packed chunks; must outlive the log
  /// @throws std::bad_alloc, Error{kMemoryLimit}
  explicit PairLog(MemoryMeter& meter) : meter_(&meter), open_(meter, kChunkRows) {}
  /// A log that moves to files, if there are any, when it is larger than its share of the work memory. The move can be
  /// cancelled.
  explicit PairLog(const ExecutionOptions& options) : PairLog(*options.memory) {
    files_ = options.files;
    cancel_ = options.cancel;
    if (files_ != nullptr) most_bytes_ = options.work_bytes / kShareOfWorkMemory;
  }
  /// Of the work memory, the log takes one part of so many: what is counted is made from it and is larger.
  static constexpr size_t kShareOfWorkMemory = 4;

  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw; so do the next two
  void append(int64_t tid, int64_t item) {
    open_[open_rows_] = {tid, item};
    if (++open_rows_ == kChunkRows) pack_open();
  }
  /// Appends a copy of a packed chunk.
  void append_chunk(const std::byte* chunk, size_t bytes);

  /// Packs what is still open. Call it before chunks().
  void seal();

  uint64_t rows() const { return rows_ + open_rows_; }
  /// Where the rows are, once the log has moved to files; else nullptr, and they are in chunks().
  const RowPartitions* partitions() const { return partitions_ ? &*partitions_ : nullptr; }
  /// Views into the log; valid until it is appended to or destroyed.
  std::vector<ChunkView> chunks() const;

 private:
  struct Block {
    Buffer<std::byte> bytes;
    size_t used = 0;
  };
  std::byte* room(size_t bytes);
  void pack_open();
  void spill_if_large();

  MemoryMeter* meter_;
  Buffer<Pair> open_;
  uint32_t open_rows_ = 0;
  uint64_t rows_ = 0;
  std::vector<Block> blocks_;
  size_t block_bytes_ = 0;
  TempFiles* files_ = nullptr;
  CancelToken cancel_;
  size_t most_bytes_ = SIZE_MAX;
  std::optional<RowPartitions> partitions_;
};

}  // namespace batmap
