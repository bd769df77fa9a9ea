// The rows of a run as they arrive: an append-only sequence of (tid, item) pairs, packed chunk by chunk
// (chunk.h). Appending costs a store; every 4,096 pairs one packing pass (about 1 ns a pair). Duplicates and
// order are kept; encoding the relation removes and sorts. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/memory.h"
#include "relation/chunk.h"

namespace batmap {

class PairLog {
 public:
  /// @param meter  charged for the packed chunks; must outlive the log
  /// @throws std::bad_alloc, Error{kMemoryLimit}
  explicit PairLog(MemoryMeter& meter) : meter_(&meter), open_(meter, kChunkRows) {}

  /// @throws Error{kMemoryLimit}, std::bad_alloc
  void append(int64_t tid, int64_t item) {
    open_[open_rows_] = {tid, item};
    if (++open_rows_ == kChunkRows) seal();
  }
  /// Appends a copy of a packed chunk. @throws Error{kMemoryLimit}, std::bad_alloc
  void append_chunk(const std::byte* chunk, size_t bytes);

  /// Packs what is still open. Call it before chunks().
  void seal();

  uint64_t rows() const { return rows_ + open_rows_; }
  /// Views into the log; valid until it is appended to or destroyed.
  std::vector<ChunkView> chunks() const;

 private:
  struct Block {
    Buffer<std::byte> bytes;
    size_t used = 0;
  };
  std::byte* room(size_t bytes);

  MemoryMeter* meter_;
  Buffer<Pair> open_;
  uint32_t open_rows_ = 0;
  uint64_t rows_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace batmap
