// Channels are opened, lent, and given up. See link.h.
#include "process/client/link.h"

#include <poll.h>
#include <utility>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>

namespace batmap::process::client {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kOwnChannels = 16;             // of one session; more calls at once wait
constexpr size_t kChannelRows = kAreaRows / 2;  // of a job, for each channel that its rows may take beside the first

}  // namespace

bool Channel::is_free() const {
  if (filling != nullptr) return false;
  if (unanswered == nullptr) return true;
  pollfd reply{socket.number(), POLLIN, 0};
  return poll(&reply, 1, 0) > 0;
}

std::unique_ptr<Channel> Link::open_channel(Reply& reply) {
  auto channel = std::make_unique<Channel>();
  channel->socket = connect_to(options.socket);
  if (!channel->socket.is_open() || !is_same_user(channel->socket.number())) return nullptr;
  channel->memory = SharedMemory::create(kChannelBytes);
  if (channel->memory.is_empty()) {
    reply.status = AcceleratorStatus::kOutOfMemory;
    return nullptr;
  }
  Request hello;
  hello.args[0] = key[0];
  hello.args[1] = key[1];
  File none;
  if (!send_packet(channel->socket.number(), &hello, sizeof hello, channel->memory.file())) return nullptr;
  // A process that has just begun loads its module first.
  pollfd waiting{channel->socket.number(), POLLIN, 0};
  const auto start = Clock::now();
  while (poll(&waiting, 1, kLookMs) <= 0) {
    if (Clock::now() - start > std::chrono::milliseconds(options.silence_ms)) return nullptr;
    if (options.stop == nullptr || !options.stop()) continue;
    reply.status = AcceleratorStatus::kCancelled;
    return nullptr;
  }
  const size_t received = receive_packet(channel->socket.number(), &reply, sizeof reply, none);
  if (received == 0) return nullptr;
  if (received != sizeof reply || reply.magic != kMagic || reply.protocol != kProtocol) {
    reply.status = AcceleratorStatus::kDeclined;
    std::snprintf(reply.why.text, sizeof reply.why.text, "the GPU process is of another version of batmap");
    return nullptr;
  }
  reply.why.text[sizeof reply.why.text - 1] = '\0';
  if (reply.status != AcceleratorStatus::kOk) return nullptr;
  channel->memory.close_file();
  return channel;
}

std::unique_ptr<Channel> Link::borrow(RemoteJob* job, bool for_rows) {
  std::unique_lock lock(mutex);
  for (;;) {
    if (is_broken) throw CallFailure{AcceleratorStatus::kFailed, "the GPU process has ended"};
    const auto first = [&](auto is_it) { return std::ranges::find_if(idle, is_it); };
    const auto with_rows = first([&](const auto& c) { return for_rows && c->filling.get() == job; });
    const auto free = first([](const auto& c) { return c->is_free(); });
    const auto ending = first(
        [&](const auto& c) { return c->unanswered != nullptr && c->unanswered.get() != job && c->unanswered->is_over(); });
    // The rows of a small job wait for one another rather than for new channels.
    const uint64_t wanted = for_rows ? 1 + job->rows / kChannelRows : kOwnChannels;
    const bool may_open = channels < std::min<uint64_t>(wanted, kOwnChannels);
    // The last one has been given back before all others.
    const auto oldest = idle.empty() ? idle.end() : idle.end() - 1;
    const auto best = with_rows != idle.end() ? with_rows
                      : free != idle.end()    ? free
                      : ending != idle.end()  ? ending
                      : may_open              ? idle.end()
                                              : oldest;
    if (best != idle.end()) return take(best);
    if (may_open) break;
    if (job != nullptr && job->is_to_stop()) throw CallFailure{AcceleratorStatus::kCancelled, "run cancelled"};
    channel_free.wait_for(lock, std::chrono::milliseconds(kLookMs));
  }
  ++channels;
  lock.unlock();
  Reply reply;
  std::unique_ptr<Channel> channel;
  try {
    channel = open_channel(reply);
  } catch (...) {
    forget();
    throw;
  }
  if (channel != nullptr) return channel;
  forget();
  if (reply.status == AcceleratorStatus::kOk) {
    is_broken = true;
    throw CallFailure{AcceleratorStatus::kFailed, "the GPU process has ended"};
  }
  throw CallFailure{reply.status, reply.why.text};
}

std::unique_ptr<Channel> Link::borrow_with_rows(RemoteJob& job) {
  std::unique_lock lock(mutex);
  while (job.channels > 0 && !is_broken) {
    auto found = std::ranges::find_if(idle, [&](const auto& c) { return c->filling.get() == &job; });
    if (found == idle.end()) found = std::ranges::find_if(idle, [&](const auto& c) { return c->unanswered.get() == &job; });
    if (found != idle.end()) return take(found);
    if (job.is_to_stop()) throw CallFailure{AcceleratorStatus::kCancelled, "run cancelled"};
    channel_free.wait_for(lock, std::chrono::milliseconds(kLookMs));
  }
  return nullptr;
}

std::unique_ptr<Channel> Link::take(std::vector<std::unique_ptr<Channel>>::iterator at) {
  std::unique_ptr<Channel> channel = std::move(*at);
  idle.erase(at);
  channel->is_used = true;
  return channel;
}

void Link::give_back(std::unique_ptr<Channel> channel) {
  const std::lock_guard lock(mutex);
  idle.insert(idle.begin(), std::move(channel));  // it is taken next, so that few are used
  channel_free.notify_one();
}

void Link::tie(RemoteJob& job) {
  const std::lock_guard lock(mutex);
  ++job.channels;
}

void Link::untie(RemoteJob& job) {
  const std::lock_guard lock(mutex);
  --job.channels;
  channel_free.notify_all();
}

void Link::begin_job() {
  const std::lock_guard lock(mutex);
  ++jobs;
}

void Link::end_job() {
  std::vector<std::unique_ptr<Channel>> given_up;
  const std::lock_guard lock(mutex);
  if (--jobs > 0) return;
  const auto unused = std::stable_partition(idle.begin(), idle.end(), [](const auto& c) { return c->is_used; });
  given_up.assign(std::make_move_iterator(unused), std::make_move_iterator(idle.end()));
  idle.erase(unused, idle.end());
  channels -= given_up.size();
  for (const auto& channel : idle) channel->is_used = false;
}

void Link::forget() {
  const std::lock_guard lock(mutex);
  --channels;
  channel_free.notify_one();
}

}  // namespace batmap::process::client
