// The answers of an itemset run, pulled batch by batch.
//
// A search pushes its answers, the caller pulls them. Threads search ahead, also if the search may use only one; where no
// thread is available, the caller searches when it pulls (itemset_source.h). Answers leave in order of the branches of the search
// (the itemsets that begin with one item). So memory does not grow with the number of answers, and their order does not
// depend on the number of threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/options.h"
#include "core/truncation.h"
#include "itemsets/itemset_run.h"
#include "itemsets/itemset_source.h"

namespace batmap {

class ItemsetStream {
 public:
  /// @param run         must outlive the stream; has one stream at a time
  /// @param options     copied
  ItemsetStream(ItemsetRun& run, const ExecutionOptions& options);
  ItemsetStream(const ItemsetStream&) = delete;
  ItemsetStream& operator=(const ItemsetStream&) = delete;

  /// The next steps, at least one. @param batch  overwritten @return false when there are no more
  /// @throws Error, std::bad_alloc; then the stream cannot go on
  bool next(std::vector<ItemsetStep>& batch);

  uint64_t results() const { return limit_.taken(); }               // answers handed over
  uint64_t tasks() const { return run_.branches(); }                // branches of the search
  uint64_t tasks_done() const { return source_->branches_done(); }  // of them
  const Truncation& truncation() const { return limit_.truncation(); }
  /// That of the run, with what was handed over.
  RunRecord record() const;

 private:
  std::optional<Buffer<ItemsetStep>> pull();

  ItemsetRun& run_;
  CancelToken cancel_;  // the caller's
  AnswerLimit limit_;
  ExecutionOptions options_;  // of the search: its token also asks for the time
  std::unique_ptr<ItemsetSource> source_;
};

}  // namespace batmap
