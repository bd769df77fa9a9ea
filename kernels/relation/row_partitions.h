// Rows that exceed the memory of a run: partitions by transaction, packed chunk by chunk (chunk.h), in temporary files.
//
// All rows of a transaction lie in one partition, so counts over partitions add up. The first level keeps
// neighbouring tids together: if rows arrive by tid, chunks stay narrow and codes dense. A partition that is
// still too large is split again, now by single tids. Cost: one write and one read of the packed rows for
// each level, and 1 MiB for open rows while a level is written. Source: the partitions of Savasere,
// Omiecinski & Navathe (1995); the layout is ours.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/options.h"
#include "relation/chunk.h"

namespace batmap {

struct RowPartition {
  TempFile* file = nullptr;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

/// Calls visit(chunk) for all its chunks, one at a time.
/// @throws Error{kMemoryLimit, kCancelled}, what the file throws
void visit_chunks(const RowPartition& part, MemoryMeter& meter, const CancelToken& cancel,
                  const std::function<void(const ChunkView&)>& visit);

/// Shares of a run's work memory. The first is for the rows of partitions that are loaded at once; the forms made
/// from them are larger. The second is the number of rows passed to KeyCodes, which bounds the range of direct codes.
constexpr uint64_t max_loaded_bytes(uint64_t work_bytes) { return work_bytes / 8; }
inline uint64_t max_loaded_bytes(const ExecutionOptions& options) { return max_loaded_bytes(options.work_bytes); }
inline uint64_t max_coded_rows(const ExecutionOptions& options) { return options.work_bytes / 256; }

class RowPartitions {
 public:
  static constexpr size_t kPartitions = 64;
  static constexpr uint32_t kOpenRows = 1024;  // open pairs of a partition, which become one chunk
  static constexpr size_t kOpenBytes = kPartitions * kOpenRows * sizeof(TidItem);

  /// All of them: @throws Error{kMemoryLimit}, std::bad_alloc, what the files throw
  RowPartitions(TempFiles& files, MemoryMeter& meter, int level = 0);

  void append(TidItem pair);
  void append(const ChunkView& chunk);
  /// Writes the open pairs. The partitions can be read after this.
  void seal();

  uint64_t rows() const { return rows_; }
  /// Bounds of the tids and of the items in rows that have been written.
  const KeyBounds& tid_bounds() const { return tid_bounds_; }
  const KeyBounds& item_bounds() const { return item_bounds_; }
  /// [kPartitions] A tid belongs to the same partition number in all objects of one level.
  std::span<const RowPartition> parts() const { return parts_; }
  bool can_split() const { return level_ + 1 < kMaxLevels; }
  /// The rows of one part, partitioned one level below and sealed. Closes the file of the part.
  RowPartitions split(const RowPartition& part, const CancelToken& cancel) const;
  /// All partitions that have rows. Those larger than `max_bytes` are split, down to the fourth level. Call it once.
  std::vector<RowPartition> partitions(uint64_t max_bytes, const CancelToken& cancel) const;

 private:
  static constexpr int kMaxLevels = 4;

  void write_open(size_t part);

  TempFiles* files_;
  MemoryMeter* meter_;
  int level_;
  uint64_t rows_ = 0;
  KeyBounds tid_bounds_;
  KeyBounds item_bounds_;
  std::vector<RowPartition> parts_;  // [kPartitions]
  Buffer<TidItem> open_;             // [kPartitions][kOpenRows]
  std::vector<uint32_t> open_rows_;  // [kPartitions]
  Buffer<std::byte> packed_;         // one chunk
};

/// The rows of some partitions, loaded into memory.
class LoadedRows {
 public:
  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
  LoadedRows(std::span<const RowPartition> partitions, const ExecutionOptions& options);

  /// Views, valid as long as this object.
  std::vector<ChunkView> chunks() const;

 private:
  Buffer<std::byte> bytes_;
};

}  // namespace batmap
