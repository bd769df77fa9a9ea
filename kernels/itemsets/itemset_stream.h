// The answers of an itemset run, pulled batch by batch while threads search ahead.
//
// A search hands its answers out; whoever asks for rows pulls them. Between the two lie bounded queues, one for each branch
// of the search (the itemsets that begin with one item): threads take branches in order and search them, answers leave in
// order of the branches, and a thread whose queue is full waits. So memory does not grow with the number of answers, and any
// number of threads gives the same order. The threads are the run's own even where it may use only one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/options.h"
#include "core/stopwatch.h"
#include "itemsets/itemset_run.h"

namespace batmap {

enum class Truncation { kNone, kMaxResults, kTimeout };

class ItemsetStream {
 public:
  /// @param run         must outlive the stream; for one stream at a time
  /// @param options     copied
  ItemsetStream(ItemsetRun& run, const ExecutionOptions& options);
  ItemsetStream(const ItemsetStream&) = delete;
  ItemsetStream& operator=(const ItemsetStream&) = delete;
  ~ItemsetStream();

  /// The next steps, one or more. @param batch  overwritten @return false when there are no more
  /// @throws Error, std::bad_alloc; the stream cannot go on after that
  bool next(std::vector<ItemsetStep>& batch);

  uint64_t results() const { return results_; }  // answers handed over
  uint64_t tasks() const { return branches_; }   // into which the search is cut
  uint64_t tasks_done() const { return front_; }
  Truncation truncated() const { return truncated_; }

 private:
  class BranchSink;

  void work();
  void put(size_t branch, std::span<const ItemsetStep> steps);
  void wake_puller();
  bool should_stop() const;
  std::optional<Buffer<ItemsetStep>> pull();
  void stop();

  ItemsetRun& run_;
  ExecutionOptions options_;  // of the threads: their token also asks this object
  CancelToken cancel_;        // the caller's
  Stopwatch watch_;
  size_t branches_;
  size_t ahead_;  // branches that may be taken before the front is done

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
  std::vector<std::thread> threads_;

  uint64_t results_ = 0;
  Truncation truncated_ = Truncation::kNone;
};

}  // namespace batmap
