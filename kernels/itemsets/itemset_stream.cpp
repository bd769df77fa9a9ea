// Queues between searching threads and a puller. See itemset_stream.h.
#include "itemsets/itemset_stream.h"

#include <algorithm>
#include <chrono>

#include "core/thread_team.h"
#include "itemsets/depth_first.h"

namespace batmap {

namespace {

constexpr size_t kBatchesWaiting = 16;  // of one branch: 48 KiB each
constexpr size_t kBranchesAhead = 64;   // of each thread
// A puller that waits is woken for so many steps, or for half of the branches ahead: waking it takes longer than most
// branches.
constexpr size_t kStepsAtOnce = 4096;

}  // namespace

class ItemsetStream::BranchSink final : public ItemsetSink {
 public:
  explicit BranchSink(ItemsetStream& stream) : stream_(stream) {}
  void begin(size_t branch) { branch_ = branch; }
  void take(std::span<const ItemsetStep> steps) override { stream_.put(branch_, steps); }

 private:
  ItemsetStream& stream_;
  size_t branch_ = 0;
};

ItemsetStream::ItemsetStream(ItemsetRun& run, const ExecutionOptions& options)
    : run_(run), options_(options), cancel_(options.cancel), branches_(run.branches()) {
  options_.cancel = {[](void* self) { return static_cast<const ItemsetStream*>(self)->should_stop(); }, this};
  const size_t threads = std::min(static_cast<size_t>(options.threads), branches_);
  ahead_ = kBranchesAhead * threads;
  threads_.reserve(threads);  // before the first thread: nothing may fail between making one and keeping it
  try {
    for (size_t k = 0; k < threads; ++k) threads_.push_back(start_worker([this] { work(); }));
  } catch (...) {
    stop();
    throw;
  }
}

ItemsetStream::~ItemsetStream() { stop(); }

bool ItemsetStream::should_stop() const {
  if (stopping_.load(std::memory_order_relaxed) || cancel_.requested()) return true;
  return run_.query().timeout_ms && watch_.milliseconds() >= static_cast<double>(*run_.query().timeout_ms);
}

void ItemsetStream::work() {
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

void ItemsetStream::put(size_t branch, std::span<const ItemsetStep> steps) {
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

/// Where it is worth it; it looks by itself now and then.
void ItemsetStream::wake_puller() {
  const bool is_much = waiting_ >= kStepsAtOnce || claimed_ - front_ >= ahead_ / 2 || claimed_ == branches_;
  if (is_much && (done_.front() || !queues_.front().empty())) ready_.notify_one();
}

std::optional<Buffer<ItemsetStep>> ItemsetStream::pull() {
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
  cancel_.throw_if_requested();
  if (run_.query().timeout_ms && watch_.milliseconds() >= static_cast<double>(*run_.query().timeout_ms)) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled) throw;
    }
    truncated_ = Truncation::kTimeout;
    return std::nullopt;
  }
  std::rethrow_exception(failure);
}

bool ItemsetStream::next(std::vector<ItemsetStep>& batch) {
  batch.clear();
  if (truncated_ != Truncation::kNone) return false;
  cancel_.throw_if_requested();
  const std::optional<Buffer<ItemsetStep>> pulled = pull();
  if (!pulled) return false;
  const uint64_t most = run_.query().max_results ? static_cast<uint64_t>(*run_.query().max_results) : UINT64_MAX;
  for (const ItemsetStep& step : *pulled) {
    if (step.support != 0) {
      if (results_ == most) {
        truncated_ = Truncation::kMaxResults;
        stop();
        break;
      }
      ++results_;
    }
    batch.push_back(step);
  }
  return !batch.empty();
}

void ItemsetStream::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace batmap
