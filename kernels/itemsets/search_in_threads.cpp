// Queues between the threads that search and the caller that pulls. See itemset_source.h.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "core/thread_team.h"
#include "itemsets/itemset_source.h"

namespace batmap {

namespace {

constexpr size_t kBatchesWaiting = 16;  // of one branch: 48 KiB each
constexpr size_t kBranchesAhead = 64;   // for each thread
// A puller that waits is woken for so many steps, or when half of the branches ahead have been taken: to wake
// it takes longer than most branches do.
constexpr size_t kStepsAtOnce = 4096;

class SearchThreads final : public ItemsetSource {
 public:
  SearchThreads(ItemsetRun& run, const ExecutionOptions& options)
      : run_(run), options_(options), cancel_(options.cancel), branches_(run.branches()), helpers_(options) {
    options_.cancel = {[](void* self) { return static_cast<const SearchThreads*>(self)->should_stop(); }, this};
    const size_t threads = std::min(static_cast<size_t>(options.threads), branches_);
    ahead_ = kBranchesAhead * threads;
    helpers_.start(threads, [this](int) { work(); });
  }
  SearchThreads(const SearchThreads&) = delete;
  SearchThreads& operator=(const SearchThreads&) = delete;
  ~SearchThreads() override { stop(); }

  bool has_threads() const { return helpers_.size() > 0; }
  size_t branches_done() const override { return front_; }

  std::optional<Buffer<ItemsetStep>> pull() override {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (failure_) break;
      if (!queues_.empty() && !queues_.front().empty()) {
        Buffer<ItemsetStep> batch = std::move(queues_.front().front());
        queues_.front().pop_front();
        waiting_ -= batch.size();
        lock.unlock();
        room_.notify_all();
        return batch;
      }
      if (!done_.empty() && done_.front()) {
        queues_.pop_front();
        done_.pop_front();
        ++front_;
        room_.notify_all();
        continue;
      }
      if (front_ == branches_) return std::nullopt;
      ready_.wait_for(lock, std::chrono::milliseconds(10));
      lock.unlock();
      cancel_.throw_if_requested();
      lock.lock();
    }
    const std::exception_ptr failure = failure_;
    lock.unlock();
    stop();
    std::rethrow_exception(failure);
  }

  void stop() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    helpers_.join();
  }

 private:
  /// Puts the steps of a branch into its queue.
  class BranchSink final : public ItemsetSink {
   public:
    explicit BranchSink(SearchThreads& threads) : threads_(threads) {}
    void begin(size_t branch) { branch_ = branch; }
    void take(std::span<const ItemsetStep> steps) override { threads_.put(branch_, steps); }

   private:
    SearchThreads& threads_;
    size_t branch_ = 0;
  };

  bool should_stop() const { return stopping_.load(std::memory_order_relaxed) || cancel_.requested(); }

  void work() {
    std::unique_lock lock(mutex_);
    try {
      lock.unlock();
      BranchSink sink(*this);
      const ItemsetRun::Searcher searcher = run_.searcher(sink, options_);
      lock.lock();
      for (;;) {
        room_.wait(lock, [&] { return stopping_ || claimed_ == branches_ || claimed_ < front_ + ahead_; });
        if (stopping_ || claimed_ == branches_) return;
        const size_t branch = claimed_++;
        queues_.emplace_back();
        done_.push_back(false);
        lock.unlock();
        sink.begin(branch);
        searcher(branch);
        lock.lock();
        done_[branch - front_] = true;
        wake_puller();
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (!failure_) failure_ = std::current_exception();
      stopping_ = true;
      ready_.notify_one();
      room_.notify_all();
    }
  }

  void put(size_t branch, std::span<const ItemsetStep> steps) {
    if (steps.empty()) return;
    Buffer<ItemsetStep> copy(*options_.memory, steps.size());
    std::copy(steps.begin(), steps.end(), copy.begin());
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopping_ || queues_[branch - front_].size() < kBatchesWaiting; });
    if (stopping_) throw Error(ErrorCode::kCancelled, "run cancelled");
    queues_[branch - front_].push_back(std::move(copy));
    waiting_ += steps.size();
    wake_puller();
  }

  /// Wakes the puller if that is worth it. The puller also looks by itself every 10 ms.
  void wake_puller() {
    const bool is_much = waiting_ >= kStepsAtOnce || claimed_ - front_ >= ahead_ / 2 || claimed_ == branches_;
    if (is_much && (done_.front() || !queues_.front().empty())) ready_.notify_one();
  }

  ItemsetRun& run_;
  ExecutionOptions options_;  // for the threads: its token also asks this object
  CancelToken cancel_;        // the caller's
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
  Helpers helpers_;
};

}  // namespace

std::unique_ptr<ItemsetSource> search_in_threads(ItemsetRun& run, const ExecutionOptions& options) {
  auto threads = std::make_unique<SearchThreads>(run, options);
  if (!threads->has_threads()) return nullptr;
  return threads;
}

}  // namespace batmap
