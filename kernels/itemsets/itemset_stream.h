// The answers of an itemset run, pulled batch by batch while threads search ahead.
//
// A search pushes its answers, the caller pulls them. Between the two lie bounded queues, one for each branch of the
// search (the itemsets that begin with one item). Threads take branches in order and search them; answers leave in order
// of the branches; a thread whose queue is full waits. So memory does not grow with the number of answers, and the order
// does not depend on the number of threads. The search runs in threads of its own even if it may use only one.
//
// Where no thread is available, the puller searches by itself. A search cannot be suspended, so the puller searches a
// branch in passes. Each pass keeps as many steps as it has room for; the next pass begins the branch again and skips
// what is known. A pass has room for four times as many steps as the one before, up to a quarter of the free memory.
// So most branches take one pass, and a branch that fits into memory costs at most a third more than with a thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/options.h"
#include "core/thread_team.h"
#include "core/truncation.h"
#include "itemsets/itemset_run.h"

namespace batmap {

class ItemsetStream {
 public:
  /// @param run         must outlive the stream; has one stream at a time
  /// @param options     copied
  ItemsetStream(ItemsetRun& run, const ExecutionOptions& options);
  ItemsetStream(const ItemsetStream&) = delete;
  ItemsetStream& operator=(const ItemsetStream&) = delete;
  ~ItemsetStream();

  /// The next steps, at least one. @param batch  overwritten @return false when there are no more
  /// @throws Error, std::bad_alloc; then the stream cannot go on
  bool next(std::vector<ItemsetStep>& batch);

  uint64_t results() const { return limit_.taken(); }  // answers handed over
  uint64_t tasks() const { return branches_; }         // branches of the search
  uint64_t tasks_done() const { return front_; }
  const Truncation& truncation() const { return limit_.truncation(); }
  /// That of the run, with what was handed over.
  RunRecord record() const;

 private:
  class BranchSink;
  class PassSink;

  void work();
  void put(size_t branch, std::span<const ItemsetStep> steps);
  void wake_puller();
  bool should_stop() const;
  std::optional<Buffer<ItemsetStep>> pull();
  std::optional<Buffer<ItemsetStep>> pull_searched();
  std::optional<Buffer<ItemsetStep>> pull_searching();
  void make_pass();
  void stop();

  ItemsetRun& run_;
  ExecutionOptions options_;  // for the threads: its token also asks this object
  CancelToken cancel_;        // the caller's
  AnswerLimit limit_;
  size_t branches_;
  size_t ahead_;  // how many branches from the front on may be taken

  std::mutex mutex_;
  std::condition_variable ready_;                       // the front queue has something, or its branch is done
  std::condition_variable room_;                        // a queue has room, or a branch may be taken
  std::deque<std::deque<Buffer<ItemsetStep>>> queues_;  // of the branches from front_ on
  std::deque<bool> done_;
  size_t front_ = 0;
  size_t claimed_ = 0;
  size_t waiting_ = 0;  // steps in all queues
  std::atomic<bool> stopping_{false};
  std::exception_ptr failure_;

  // Where the puller searches:
  bool searches_itself_ = false;
  GrowingBuffer<ItemsetStep> pass_;  // steps of the front branch
  size_t handed_over_ = 0;           // how many of them
  size_t pass_room_ = 0;             // room of the last pass over the front branch; 0: none yet
  uint64_t known_ = 0;               // steps of the front branch up to the end of the pass
  bool branch_ends_ = false;         // the pass reached the end of the branch
  std::unique_ptr<PassSink> sink_;
  ItemsetRun::Searcher searcher_;  // empty: to be made

  Helpers helpers_;
};

}  // namespace batmap
