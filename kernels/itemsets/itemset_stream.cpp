// Queues between the threads that search and the caller that pulls. See itemset_stream.h.
#include "itemsets/itemset_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "itemsets/search/depth_first.h"

namespace batmap {

namespace {

constexpr size_t kBatchesWaiting = 16;  // of one branch: 48 KiB each
constexpr size_t kBranchesAhead = 64;   // for each thread
// A puller that waits is woken for so many steps, or when half of the branches ahead have been taken: to wake
// it takes longer than most branches do.
constexpr size_t kStepsAtOnce = 4096;
constexpr size_t kFirstPass = 16384;  // steps
constexpr size_t kPassGrowth = 4;

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

/// Keeps the steps of a branch behind those already known, until there is no room for more.
class ItemsetStream::PassSink final : public ItemsetSink {
 public:
  struct IsFull {};

  explicit PassSink(ItemsetStream& stream) : stream_(stream) {}
  void begin() { skip_ = stream_.known_; }
  void take(std::span<const ItemsetStep> steps) override {
    const auto skipped = static_cast<size_t>(std::min<uint64_t>(skip_, steps.size()));
    skip_ -= skipped;
    for (const ItemsetStep& step : steps.subspan(skipped)) {
      if (stream_.pass_.size() == stream_.pass_room_) throw IsFull{};
      stream_.pass_.push_back(step);
      ++stream_.known_;
    }
  }

 private:
  ItemsetStream& stream_;
  uint64_t skip_ = 0;
};

ItemsetStream::ItemsetStream(ItemsetRun& run, const ExecutionOptions& options)
    : run_(run),
      options_(options),
      cancel_(options.cancel),
      limit_(run.query().max_results, run.query().timeout_ms),
      branches_(run.branches()),
      pass_(*options.memory),
      helpers_(options) {
  options_.cancel = {[](void* self) { return static_cast<const ItemsetStream*>(self)->should_stop(); }, this};
  const size_t threads = std::min(static_cast<size_t>(options.threads), branches_);
  ahead_ = kBranchesAhead * threads;
  helpers_.start(threads, [this](int) { work(); });
  searches_itself_ = helpers_.size() == 0;
}

ItemsetStream::~ItemsetStream() { stop(); }

bool ItemsetStream::should_stop() const {
  return stopping_.load(std::memory_order_relaxed) || cancel_.requested() || limit_.time_is_up();
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

/// Wakes the puller if that is worth it. The puller also looks by itself every 10 ms.
void ItemsetStream::wake_puller() {
  const bool is_much = waiting_ >= kStepsAtOnce || claimed_ - front_ >= ahead_ / 2 || claimed_ == branches_;
  if (is_much && (done_.front() || !queues_.front().empty())) ready_.notify_one();
}

/// Searches the front branch until the pass is full or the branch ends.
void ItemsetStream::make_pass() {
  pass_.shrink(0);
  if (pass_room_ > 0) {
    run_.restart();
    searcher_ = nullptr;
    pass_.reset();
  }
  const size_t max_room = options_.memory->available() / 4 / sizeof(ItemsetStep);
  pass_room_ = std::max(kFirstPass, std::min(pass_room_ * kPassGrowth, max_room));
  pass_.room(pass_room_);
  handed_over_ = 0;
  if (!searcher_) {
    sink_ = std::make_unique<PassSink>(*this);
    searcher_ = run_.searcher(*sink_, options_);
  }
  sink_->begin();
  try {
    searcher_(front_);
    branch_ends_ = true;
  } catch (const PassSink::IsFull&) {
  }
}

std::optional<Buffer<ItemsetStep>> ItemsetStream::pull_searching() {
  while (handed_over_ == pass_.size()) {
    if (std::exchange(branch_ends_, false)) {
      ++front_;
      pass_room_ = 0;
      known_ = 0;
    }
    if (front_ == branches_) return std::nullopt;
    make_pass();
  }
  const size_t size = std::min(pass_.size() - handed_over_, kStepsAtOnce);
  Buffer<ItemsetStep> batch(*options_.memory, size);
  std::copy_n(pass_.begin() + handed_over_, size, batch.begin());
  handed_over_ += size;
  return batch;
}

std::optional<Buffer<ItemsetStep>> ItemsetStream::pull_searched() {
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

std::optional<Buffer<ItemsetStep>> ItemsetStream::pull() {
  try {
    return searches_itself_ ? pull_searching() : pull_searched();
  } catch (const Error& error) {
    if (limit_.was_ended_by_time(error, cancel_)) return std::nullopt;
    throw;
  }
}

bool ItemsetStream::next(std::vector<ItemsetStep>& batch) {
  batch.clear();
  if (limit_.is_cut_off()) return false;
  cancel_.throw_if_requested();
  const std::optional<Buffer<ItemsetStep>> pulled = pull();
  if (!pulled) return false;
  for (const ItemsetStep& step : *pulled) {
    if (step.support != 0 && limit_.take(1) == 0) {
      stop();
      break;
    }
    batch.push_back(step);
  }
  return !batch.empty();
}

RunRecord ItemsetStream::record() const {
  RunRecord record = run_.record();
  record.results = results();
  record.tasks = tasks();
  record.tasks_done = tasks_done();
  record.truncation = truncation();
  return record;
}

void ItemsetStream::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  helpers_.join();
}

}  // namespace batmap
