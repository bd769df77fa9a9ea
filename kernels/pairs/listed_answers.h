// Answers for each row of a list of pairs, in the order of the list: how many tids have both items, and the supports of the
// items if they are asked for. A pair that is on the list twice has two answers; an item without rows has a support of 0.
//
// All pairs are counted before the first answer (listed_run.h). Rows in files are counted part by part, and the counts of all
// parts are added. Memory besides: 4 bytes a row of the list, 12 with supports. Source: ours.
#pragma once

#include <optional>
#include <vector>

#include "pairs/listed_run.h"
#include "pairs/pair_batch.h"
#include "relation/row_parts.h"

namespace batmap {

class ListedAnswers {
 public:
  /// @param shown     the list as the answers name it: rows of two items, to stay valid while there are answers
  /// @param list      the same rows with the items that `relation` has. Chunks like this and `relation` must stay valid until
  ///                  the constructor returns
  /// @param relation  rows (tid, item)
  /// @param supports  also the supports of the items, and the number of all tids
  /// @param device    may count the pairs
  /// @throws what ListedRun throws
  ListedAnswers(std::vector<ChunkView> shown, const std::vector<ChunkView>& list, const std::vector<ChunkView>& relation,
                bool supports, const DeviceUse& device, const ExecutionOptions& options);

  /// The same over rows in files, on the CPU.
  /// @param shown, list  as above; both must stay valid while there are answers
  /// @param relation     sealed; the files must outlive this object
  /// @throws also Error{kNoDevice} if `device` is required, and what the files throw; so does next()
  ListedAnswers(std::vector<ChunkView> shown, std::vector<ChunkView> list, const RowPartitions& relation, bool supports,
                const DeviceUse& device, const ExecutionOptions& options);

  /// Gets the answers for the next rows of the list. The first call counts.
  /// @param batch  overwritten; valid until the next call
  /// @return false after the last answer; `batch` is then empty
  /// @throws Error, std::bad_alloc; after that next() must not be called again
  bool next(PairBatch& batch);

  /// As that of ListedRun; results: answers so far.
  const RunRecord& record() const { return record_; }

 private:
  void make_counts();
  uint64_t listed_items_with_rows() const;
  void count();
  void count_part(size_t part);
  void add(ListedRun& run);

  std::vector<ChunkView> shown_;
  std::vector<ChunkView> list_;  // if the rows are in files
  size_t next_chunk_ = 0;
  uint64_t next_row_ = 0;
  bool has_supports_;
  ExecutionOptions options_;
  RunRecord record_;
  bool is_counted_ = false;
  std::optional<ListedRun> run_;   // until all pairs are counted
  std::optional<RowParts> parts_;  // instead, if the rows are in files
  Buffer<uint32_t> counts_;        // [rows of the list]
  Buffer<uint32_t> supports_[2];   // the same
  PairList answers_;
};

}  // namespace batmap
