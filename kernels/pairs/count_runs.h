// Pair counts of several sets of transactions, in files until they are added up. The pairs of one set are a run:
// rows in ascending order, each with an item a, its partners b and their counts, as varints of differences. Runs
// are written and read once, front to back, however many pairs there are. Rows are then added up one at a time
// (Gustavson 1978), so that memory is that of the rows that are loaded together, and of one row of counters a
// thread. Cost: about 4 bytes and 10 ns for each pair of each run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/options.h"
#include "pairs/counters/pair_counter.h"
#include "relation/wanted_pairs.h"

namespace batmap {

class CountRuns {
 public:
  /// @param items    ranks are below this
  /// @param options  with files; must outlive this object
  CountRuns(uint32_t items, const WantedPairs& pairs, const ExecutionOptions& options);
  CountRuns(const CountRuns&) = delete;
  CountRuns& operator=(const CountRuns&) = delete;
  ~CountRuns();

  /// Starts a run.
  void begin_run();
  /// Encodes whole rows. @param counts  in order of (a, b), with counts above 0 @note thread-safe
  static void encode(std::span<const PairCount> counts, GrowingBuffer<std::byte>& out);
  /// Appends encoded rows, which lie behind those that the run has. @throws what the file throws, std::bad_alloc
  void append(std::span<const std::byte> rows);
  /// Forgets all runs, and gives their files back.
  void clear() noexcept;

  /// What has been appended.
  uint64_t pairs() const { return pairs_; }
  uint64_t bytes() const { return bytes_; }

  /// Loads the next rows of all runs, as many as fit into `max_bytes` and at least one. Counts are added up in
  /// `Count`, uint32_t or uint64_t.
  /// @param supports   [items] of the counter; must outlive it
  /// @param min_count  of a pair that is handed out
  /// @return nullptr after the last row
  /// @throws Error, std::bad_alloc, what the files throw
  template <typename Count>
  std::unique_ptr<PairCounter> next_block(std::span<const Count> supports, uint64_t min_count, uint64_t max_bytes);

 private:
  /// Reads the rows of one run.
  class Reader;

  uint32_t items_;
  WantedPairs wanted_;
  const ExecutionOptions& options_;
  std::vector<TempFile*> runs_;
  Buffer<uint64_t> row_bytes_;  // [leading] bytes of a row in all runs
  uint64_t pairs_ = 0;
  uint64_t bytes_ = 0;
  std::vector<Reader> readers_;  // from the first next_block() on: a heap, the reader of the smallest row first
  uint32_t next_row_ = 0;
};

}  // namespace batmap
