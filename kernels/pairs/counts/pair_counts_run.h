// Answers questions about stored pair counts (pair_counts.h): the selections of pair_run.h without counting.
// Cost: a few nanoseconds a stored pair, except in rows of dropped items, which are skipped; memory 33 bytes
// an item. Source: ours.
//
// Without top_k, answers come by rising item_a, then item_b. Of join counts, item_a is an a, and item_b a c.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/options.h"
#include "pairs/counts/kept_counts.h"
#include "pairs/pair_answers.h"
#include "pairs/pair_run.h"

namespace batmap {

class PairCountsRun {
 public:
  /// @param counts   a finished value; must outlive the run
  /// @param query    method and kernels are ignored
  /// @param options  copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  PairCountsRun(const std::byte* counts, const PairQuery& query, const ExecutionOptions& options);
  /// The same over chunks and what has changed since. Items are integers.
  /// @param counts, chunks  must outlive the run
  PairCountsRun(const KeptCounts& counts, std::span<const StoredChunk> chunks, const PairQuery& query,
                const ExecutionOptions& options);
  PairCountsRun(const PairCountsRun&) = delete;
  PairCountsRun& operator=(const PairCountsRun&) = delete;

  /// See PairAnswers::next.
  bool next(PairBatch& batch);

  const RunRecord& record() const { return record_; }

 private:
  template <typename Make>
  void start(uint64_t total, bool is_joined, const PairQuery& query, Make make);

  ExecutionOptions options_;
  RunRecord record_;
  std::optional<PairAnswers> answers_;  // nothing: no pair can be an answer
};

}  // namespace batmap
