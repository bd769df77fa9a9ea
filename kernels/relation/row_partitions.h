// Rows past the memory of a run: partitions by transaction, packed chunk by chunk (chunk.h), in temporary files.
//
// A transaction lies in one partition with all its rows, so counts over partitions add up. Neighbouring tids stay together
// at the first level: chunks stay narrow and codes dense where rows arrive by tid. A partition that is still too large
// is split again, by single tids then. Source: the partitions of Savasere, Omiecinski & Navathe (1995); ours.
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

/// Hands visit(chunk) all its chunks, one at a time. @throws Error{kMemoryLimit, kCancelled}, what the file throws
void visit_chunks(const RowPartition& part, MemoryMeter& meter, const CancelToken& cancel,
                  const std::function<void(const ChunkView&)>& visit);

/// Shares of a run's work memory: for the rows of partitions that are loaded at once (what is counted is made from them and
/// is larger), and for codes of all rows in the files, which bound a table of direct ones.
inline uint64_t most_loaded_bytes(const ExecutionOptions& options) { return options.work_bytes / 8; }
inline uint64_t most_coded_rows(const ExecutionOptions& options) { return options.work_bytes / 256; }

class RowPartitions {
 public:
  static constexpr size_t kPartitions = 64;
  static constexpr uint32_t kOpenRows = 1024;  // of a partition, before they are written as a chunk
  static constexpr size_t kOpenBytes = kPartitions * kOpenRows * sizeof(Pair);

  /// @throws Error{kMemoryLimit}, std::bad_alloc, what the files throw; so do the others
  RowPartitions(TempFiles& files, MemoryMeter& meter, int level = 0);

  void append(Pair pair);
  void append(const ChunkView& chunk);
  /// Writes what is still open. The partitions can then be read.
  void seal();

  uint64_t rows() const { return rows_; }
  /// Of rows that have been written.
  const KeyBounds& item_bounds() const { return item_bounds_; }
  /// [kPartitions] A transaction has the same number in all objects of one level.
  std::span<const RowPartition> parts() const { return parts_; }
  bool can_split() const { return level_ + 1 < kMostLevels; }
  /// The rows of one of the parts, sealed: a level below. Its own file is closed.
  RowPartitions split(const RowPartition& part, const CancelToken& cancel) const;
  /// The partitions that have rows, those above `most_bytes` split (unless one tid alone has more): to be
  /// called once.
  std::vector<RowPartition> partitions(uint64_t most_bytes, const CancelToken& cancel) const;

 private:
  static constexpr int kMostLevels = 4;

  void write_open(size_t part);

  TempFiles* files_;
  MemoryMeter* meter_;
  int level_;
  uint64_t rows_ = 0;
  KeyBounds item_bounds_;
  std::vector<RowPartition> parts_;  // [kPartitions]
  Buffer<Pair> open_;                // [kPartitions][rows of a chunk]
  std::vector<uint32_t> open_rows_;  // [kPartitions]
  Buffer<std::byte> packed_;         // one chunk
};

/// The rows of partitions, in memory again.
class LoadedRows {
 public:
  /// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
  LoadedRows(std::span<const RowPartition> partitions, const ExecutionOptions& options);

  /// Views; valid as long as the object.
  std::vector<ChunkView> chunks() const;

 private:
  Buffer<std::byte> bytes_;
};

}  // namespace batmap
