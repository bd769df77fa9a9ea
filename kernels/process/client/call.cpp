// A request and its reply. See call.h.
#include "process/client/call.h"

#include <atomic>
#include <mutex>
#include <poll.h>

#include <chrono>
#include <new>
#include <utility>

namespace batmap::process::client {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Call::Call(const std::shared_ptr<Link>& link, Op op, RemoteJob* job, bool for_rows) : link_(link), job_(job) {
  request_.op = op;
  if (job != nullptr) request_.job = job->number;
  try {
    do {
      channel_ = link->borrow(job, for_rows);
      if (channel_->unanswered != nullptr) catch_up();
      if (channel_ == nullptr || channel_->filling == nullptr || (for_rows && channel_->filling.get() == job)) continue;
      leave_rows();
      catch_up();
    } while (channel_ == nullptr);
  } catch (...) {
    if (channel_ != nullptr) drop();
    throw;
  }
}

Call::~Call() {
  if (channel_ == nullptr) return;
  if (is_under_way_)
    drop();  // its reply would be taken for that of the next call
  else
    link_->give_back(std::move(channel_));
}

std::byte* Call::room(uint64_t bytes) {
  request_.bytes = bytes;
  if (bytes <= kAreaBytes) return channel_->area();
  file_ = SharedMemory::create(bytes);
  if (file_.is_empty()) throw std::bad_alloc();
  request_.has_file = 1;
  return file_.data();
}

void Call::send(const Request& request, int file) {
  channel_->header().cancel.store(0, std::memory_order_relaxed);
  if (!send_packet(channel_->socket.number(), &request, sizeof request, file)) lose();
  is_under_way_ = true;
}

Reply& Call::receive(RemoteJob* job, bool has_patience) {
  ChannelHeader& header = channel_->header();
  const int socket = channel_->socket.number();
  uint32_t beat = header.beat.load(std::memory_order_relaxed);
  Clock::time_point alive = Clock::now();
  std::optional<Clock::time_point> leaving;  // when the call was asked to end
  if (!has_patience) leaving = alive;
  pollfd waiting{socket, POLLIN, 0};
  while (poll(&waiting, 1, kLookMs) <= 0) {
    const Clock::time_point now = Clock::now();
    if (const uint32_t other = header.beat.load(std::memory_order_relaxed); other != beat) beat = other, alive = now;
    if (!leaving && (job != nullptr ? job->is_to_stop() : link_->options.stop != nullptr && link_->options.stop())) {
      header.cancel.store(1, std::memory_order_relaxed);
      leaving = now;
    }
    if (leaving && now - *leaving > std::chrono::milliseconds(link_->options.patience_ms)) {
      drop();  // its answer will reach nobody
      throw CallFailure{AcceleratorStatus::kCancelled, "run cancelled"};
    }
    if (now - alive > std::chrono::milliseconds(link_->options.silence_ms)) {
      drop();
      link_->is_broken = true;
      throw CallFailure{AcceleratorStatus::kFailed, "the GPU process does not answer"};
    }
  }
  File file;
  const size_t received = receive_packet(socket, &reply_, sizeof reply_, file);
  is_under_way_ = false;
  if (received != sizeof reply_ || reply_.magic != kMagic) lose();
  reply_.why.text[sizeof reply_.why.text - 1] = '\0';
  file_.reset();
  if (reply_.has_file != 0) file_ = SharedMemory::map(std::move(file), reply_.bytes, false);
  if (reply_.status == AcceleratorStatus::kFailed) link_->is_broken = true;  // the process ends now
  if (reply_.status != AcceleratorStatus::kOk) throw CallFailure{reply_.status, reply_.why.text};
  if (reply_.has_file != 0 ? file_.is_empty() : reply_.bytes > kAreaBytes)
    throw CallFailure{AcceleratorStatus::kOutOfMemory, "no memory for the answer of the GPU process"};
  return reply_;
}

void Call::leave(const Request& request, const std::shared_ptr<RemoteJob>& job) {
  try {
    send(request, -1);
  } catch (const CallFailure& failure) {
    untie(*job, &failure);
    throw;
  }
  is_under_way_ = false;
  channel_->unanswered = job;
}

void Call::leave_rows() {
  const std::shared_ptr<RemoteJob> job = std::move(channel_->filling);
  Request rows;
  rows.op = Op::kAddRows;
  rows.job = job->number;
  rows.args[0] = std::exchange(channel_->rows, 0);
  leave(rows, job);
}

size_t Call::take_rows() {
  const std::shared_ptr<RemoteJob> job = std::move(channel_->filling);
  untie(*job, nullptr);
  return std::exchange(channel_->rows, 0);
}

void Call::catch_up() {
  const std::shared_ptr<RemoteJob> job = std::move(channel_->unanswered);
  is_under_way_ = true;
  try {
    receive(job.get(), !job->is_over());
  } catch (const CallFailure& failure) {
    untie(*job, &failure);
    // The end of another job may take longer than anybody waits for it; the channel is gone then.
    if (channel_ == nullptr && !(failure.status == AcceleratorStatus::kCancelled && job->is_over())) throw;
    reply_ = {};
    return;
  } catch (...) {
    untie(*job, nullptr);
    throw;
  }
  untie(*job, nullptr);
  reply_ = {};
}

/// The channel has nothing of the job any more.
void Call::untie(RemoteJob& job, const CallFailure* failure) {
  link_->untie(job);
  if (failure == nullptr) return;
  const std::lock_guard lock(job.mutex);
  if (job.failed != AcceleratorStatus::kOk) return;
  job.failed = failure->status;
  job.why = failure->text;
}

void Call::drop() {
  is_under_way_ = false;
  channel_.reset();
  link_->forget();
}

void Call::lose() {
  drop();
  link_->is_broken = true;
  throw CallFailure{AcceleratorStatus::kFailed, "the GPU process has ended"};
}

void throw_if_failed(RemoteJob& job) {
  const std::lock_guard lock(job.mutex);
  if (job.failed != AcceleratorStatus::kOk) throw CallFailure{job.failed, job.why};
}

std::shared_ptr<RemoteJob> new_job(bool (*stop)(void*), void* stop_arg) {
  auto job = std::make_shared<RemoteJob>();
  job->link = current_link();
  job->stop = stop;
  job->stop_arg = stop_arg;
  return job;
}

void close(RemoteJob* given, Op op) noexcept {
  if (given == nullptr) return;
  const std::shared_ptr<RemoteJob> job = std::move(given->self);
  const std::shared_ptr<Link> link = job->link;
  {
    const std::lock_guard lock(job->mutex);
    job->stop = nullptr;
    job->is_closed = true;
  }
  {
    // Rows on their way are not needed any more, and whoever receives their reply does not wait for long.
    const std::lock_guard lock(link->mutex);
    for (const auto& channel : link->idle) {
      if (channel->filling == job) channel->filling = nullptr, channel->rows = 0, --job->channels;
      if (channel->unanswered == job) channel->header().cancel.store(1, std::memory_order_relaxed);
    }
  }
  if (!link->is_broken)
    guarded(nullptr, [&] {
      Call call(*job, op);
      link->tie(*job);
      call.leave(job);
    });
  link->end_job();
  job->link.reset();
}

}  // namespace batmap::process::client
