// Channels, sessions, and the watch over their calls. See gpu_host.h.
#include "process/host/gpu_host.h"

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "process/host/host.h"

namespace batmap::process {

namespace host {

namespace {

constexpr size_t kKeptAnswerBytes = size_t{16} << 20;  // a file for answers of this size is kept for the next call
// To pin the memory of a channel takes as long as some copies of it: it is done for the channels that send much more than once.
constexpr uint64_t kMuchBytes = size_t{64} << 10;
constexpr uint32_t kSentMuch = 2;
constexpr uint64_t kMaxPinnedBytes = uint64_t{256} << 20;  // of all channels
constexpr int kTickMs = 5;                                 // how often the watch looks at calls that run

}  // namespace

void Host::run() {
  std::thread([this] { follow_control(); }).detach();
  std::thread([this] { watch(); }).detach();
  api_ = options_.load(why_not_);
  is_loaded_ = true;
  is_loaded_.notify_all();
  if (options_.is_to_wake && api_ != nullptr)
    std::thread([this] {
      DeviceTraits traits[kMaxDevices];
      uint32_t count = 0;
      AcceleratorMessage why{};
      if (api_->devices(traits, &count, &why) != AcceleratorStatus::kOk) return;
      for (uint32_t i = 0; i < count; ++i)
        if (prepare(traits[i].index, traits[i], why) == AcceleratorStatus::kFailed) _exit(kExitDeviceFailed);
    }).detach();
  for (;;) {
    File socket(accept4(options_.listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) {
      // Too many files, for example: some may be closed soon.
      if (errno != EINTR && errno != ECONNABORTED) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    if (!is_same_user(socket.number())) continue;
    try {
      std::thread([this](File mine) { serve(std::move(mine)); }, std::move(socket)).detach();
    } catch (const std::exception&) {
      // no thread: the session sees that its channel is closed
    }
  }
}

void Host::follow_control() {
  if (!options_.control.is_open()) return;
  uint64_t limit = 0;
  File none;
  while (receive_packet(options_.control.number(), &limit, sizeof limit, none) == sizeof limit) {
    is_loaded_.wait(false);
    if (api_ != nullptr && api_->limit_memory != nullptr) api_->limit_memory(limit);
  }
  _exit(kExitEnded);
}

/// Passes on cancels, sees who has hung up, lets hearts beat, and ends what hangs.
void Host::watch() {
  int64_t last_beat = 0;
  std::vector<pollfd> sockets;
  for (;;) {
    // Most calls are over before it looks for the first time, and do not notice it.
    std::this_thread::sleep_for(std::chrono::milliseconds(kTickMs));
    std::unique_lock lock(watch_mutex_);
    if (running_.empty()) {
      is_watch_asleep_ = true;
      call_began_.wait_for(lock, std::chrono::milliseconds(kBeatMs), [this] { return !is_watch_asleep_; });
      is_watch_asleep_ = false;
    }
    const int64_t now = now_ms();
    if (options_.control.is_open() && now - last_beat >= kBeatMs) {
      last_beat = now;
      const char beat = 'b';
      // Who started us is told by a closed socket, not here; a full one means that it reads late.
      (void)!send(options_.control.number(), &beat, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    sockets.clear();
    for (Channel* channel : running_) sockets.push_back({channel->socket.number(), POLLRDHUP, 0});
    if (!sockets.empty()) poll(sockets.data(), sockets.size(), 0);
    for (size_t i = 0; i < running_.size(); ++i) {
      Channel& channel = *running_[i];
      channel.header().beat.fetch_add(1, std::memory_order_relaxed);
      int64_t sign = channel.call_began;
      if (channel.job != nullptr) {
        if (channel.header().cancel.load(std::memory_order_relaxed) != 0 || sockets[i].revents != 0)
          channel.job->is_cancelled = true;
        sign = std::max<int64_t>(sign, channel.job->last_sign);
      }
      if (now - sign < options_.hung_ms) continue;
      std::fprintf(stderr, "batmap GPU process: a call gave no sign of life for %d ms\n", options_.hung_ms);
      _exit(kExitHung);
    }
  }
}

void Host::serve(File socket) {
  Channel channel;
  channel.socket = std::move(socket);
  Request request;
  File file;
  const auto receive = [&] {
    request = {};
    return receive_packet(channel.socket.number(), &request, sizeof request, file) > 0;
  };
  Reply reply;
  if (!receive()) return;
  bool is_met = false;
  try {
    is_met = greet(channel, request, std::move(file), reply);
  } catch (const std::exception&) {
    return;
  }
  if (send_packet(channel.socket.number(), &reply, sizeof reply) && is_met)
    while (receive() && answer(channel, request, std::move(file))) {
    }
  if (is_met) say_goodbye(channel);
}

bool Host::greet(Channel& channel, const Request& request, File file, Reply& reply) {
  const auto refuse = [&](AcceleratorStatus status, const std::string& why) {
    reply.status = status;
    std::snprintf(reply.why.text, sizeof reply.why.text, "%s", why.c_str());
    return false;
  };
  if (request.magic != kMagic || request.protocol != kProtocol || request.op != Op::kHello)
    return refuse(AcceleratorStatus::kDeclined, "the GPU process is of another version of batmap");
  reply.values[2] = is_warm_ ? 1 : 0;
  reply.values[3] = static_cast<uint64_t>(getpid());
  reply.values[4] = mark_of(options_.module);
  if (api_ == nullptr) return refuse(AcceleratorStatus::kNoDevice, why_not_);
  channel.memory = SharedMemory::map(std::move(file), kChannelBytes, true);
  if (channel.memory.is_empty()) return refuse(AcceleratorStatus::kDeclined, "the GPU process got no memory to share");
  channel.memory.close_file();
  const SessionKey key{request.args[0], request.args[1]};
  const std::lock_guard lock(sessions_mutex_);
  if (key == SessionKey{}) {
    auto session = std::make_shared<Session>();
    do {
      if (getrandom(session->key.data(), sizeof session->key, 0) != sizeof session->key)
        return refuse(AcceleratorStatus::kDeclined, "no random numbers");
    } while (session->key == SessionKey{} || sessions_.contains(session->key));
    sessions_[session->key] = session;
    channel.session = std::move(session);
  } else {
    const auto known = sessions_.find(key);
    if (known == sessions_.end()) return refuse(AcceleratorStatus::kDeclined, "no session of this key");
    channel.session = known->second;
  }
  const std::lock_guard session_lock(channel.session->mutex);
  if (channel.session->channels == kMaxChannels) return refuse(AcceleratorStatus::kDeclined, "too many channels");
  ++channel.session->channels;
  reply.values[0] = channel.session->key[0];
  reply.values[1] = channel.session->key[1];
  return true;
}

/// The last channel takes the jobs of the session with it.
void Host::say_goodbye(Channel& channel) {
  Session& session = *channel.session;
  std::map<uint64_t, std::shared_ptr<Job>> jobs;
  {
    const std::lock_guard lock(sessions_mutex_);
    const std::lock_guard session_lock(session.mutex);
    if (--session.channels > 0) return;
    jobs = std::move(session.jobs);
    sessions_.erase(session.key);
  }
  jobs.clear();
  turns_.give_up(session.place);
}

/// @return false: the channel is to be closed
bool Host::answer(Channel& channel, const Request& request, File file) {
  Reply reply;
  SharedMemory arrays;
  channel.is_answer_in_file = false;
  try {
    require(request.magic == kMagic && request.protocol == kProtocol && request.op < Op::kOps, "no request");
    if (request.has_file != 0) {
      arrays = SharedMemory::map(std::move(file), request.bytes, false);
      require(!arrays.is_empty(), "the arrays are not there");
      arrays.close_file();
    } else {
      require(request.bytes <= kAreaBytes, "the arrays do not fit");
    }
    call(channel, request, {request.has_file != 0 ? arrays.data() : channel.area(), request.bytes}, reply);
  } catch (const BadRequest& bad) {
    reply.status = AcceleratorStatus::kDeclined;
    std::snprintf(reply.why.text, sizeof reply.why.text, "the GPU process refused a damaged request: %s", bad.what);
  } catch (const std::bad_alloc&) {
    reply.status = AcceleratorStatus::kOutOfMemory;
    std::snprintf(reply.why.text, sizeof reply.why.text, "the GPU process is out of memory");
  } catch (const std::exception& error) {
    reply.status = AcceleratorStatus::kDeclined;
    std::snprintf(reply.why.text, sizeof reply.why.text, "the GPU process could not serve a request: %s", error.what());
  }
  if (reply.status != AcceleratorStatus::kOk) reply.bytes = 0;
  reply.has_file = reply.bytes > 0 && channel.is_answer_in_file ? 1 : 0;
  const bool is_sent =
      send_packet(channel.socket.number(), &reply, sizeof reply, reply.has_file != 0 ? channel.answers.file() : -1);
  if (reply.status == AcceleratorStatus::kFailed) {
    std::fprintf(stderr, "batmap GPU process: ends after an error: %.*s\n", static_cast<int>(sizeof reply.why.text),
                 reply.why.text);
    _exit(kExitDeviceFailed);
  }
  if (channel.answers.bytes() > kKeptAnswerBytes) channel.answers.reset();
  return is_sent;
}

void Host::call(Channel& channel, const Request& request, Arrays arrays, Reply& reply) {
  switch (request.op) {
    case Op::kStatus: {
      {
        const std::lock_guard lock(sessions_mutex_);
        reply.values[0] = sessions_.size();
      }
      for (uint32_t i = 0; i < std::min(device_count_.load(), kMaxDevices); ++i)
        reply.values[1 + i] = api_->memory_used == nullptr ? 0 : api_->memory_used(static_cast<int32_t>(i));
      const Turns::Use use = turns_.use();
      reply.values[1 + kMaxDevices] = uint64_t{use.waiting} << 32 | use.running;
      return;
    }
    case Op::kDevices: {
      const Running running(*this, channel, nullptr, false);
      auto* const traits = reinterpret_cast<DeviceTraits*>(channel.answer(kMaxDevices * sizeof(DeviceTraits)));
      uint32_t count = 0;
      reply.status = api_->devices(traits, &count, &reply.why);
      device_count_ = std::min(count, kMaxDevices);
      reply.bytes = device_count_ * sizeof(DeviceTraits);
      return;
    }
    case Op::kPrepare: {
      require_device(static_cast<int64_t>(request.args[0]));
      const Running running(*this, channel, nullptr, false);
      DeviceTraits traits{};
      reply.status = prepare(static_cast<int32_t>(request.args[0]), traits, reply.why);
      std::memcpy(channel.answer(sizeof traits), &traits, sizeof traits);
      reply.bytes = sizeof traits;
      return;
    }
    default: break;
  }
  if (request.op >= Op::kOpenPairs && request.op <= Op::kClosePairs) return call_pairs(channel, request, arrays, reply);
  if (request.op >= Op::kOpenEpisodes && request.op <= Op::kCloseEpisodes && api_->episodes != nullptr)
    return call_episodes(channel, request, arrays, reply);
  if (request.op >= Op::kOpenItemsets && request.op <= Op::kCloseItemsets && api_->itemsets != nullptr)
    return call_itemsets(channel, request, arrays, reply);
  throw BadRequest{"no such operation"};
}

AcceleratorStatus Host::prepare(int32_t device, DeviceTraits& traits, AcceleratorMessage& why) {
  const AcceleratorStatus status = api_->prepare(device, &traits, &why);
  if (status == AcceleratorStatus::kOk) is_warm_ = true;
  return status;
}

void Host::require_device(int64_t device) {
  if (device_count_ == 0) {
    DeviceTraits traits[kMaxDevices];
    uint32_t count = 0;
    AcceleratorMessage why{};
    if (api_->devices(traits, &count, &why) == AcceleratorStatus::kOk) device_count_ = std::min(count, kMaxDevices);
  }
  require(device >= 0 && device < static_cast<int64_t>(device_count_), "no such device");
}

/// Rows or pairs come through the channel. From the second time on that they are many, devices read them where they lie.
void Host::note_bytes(Channel& channel, int32_t device, uint64_t bytes) {
  if (bytes < kMuchBytes || api_->pin == nullptr || channel.is_settled || ++channel.sent_much < kSentMuch) return;
  if (pinned_bytes_.fetch_add(kChannelBytes) + kChannelBytes <= kMaxPinnedBytes) {
    channel.is_settled = true;
    AcceleratorMessage why{};
    if (api_->pin(device, channel.memory.data(), kChannelBytes, &why) == AcceleratorStatus::kOk) {
      channel.unpin = api_->unpin;
      channel.pinned_bytes = &pinned_bytes_;
      return;
    }
  }
  pinned_bytes_ -= kChannelBytes;  // they are copied once more, until there is room
}

/// Opens a job. If the module does so, the session has it from then on, and the reply its number.
std::shared_ptr<Job> Host::open(Channel& channel, JobKind kind, Reply& reply,
                                const std::function<AcceleratorStatus(Job&)>& open) {
  auto job = std::make_shared<Job>(*api_, kind);
  const Running running(*this, channel, job, true);
  if (!running.has_turn()) {
    reply.status = AcceleratorStatus::kCancelled;
    return job;
  }
  reply.status = open(*job);
  if (reply.status != AcceleratorStatus::kOk) {
    job->handle = nullptr;
    return job;
  }
  const std::lock_guard lock(channel.session->mutex);
  reply.values[0] = ++channel.session->last_job;
  channel.session->jobs[reply.values[0]] = job;
  return job;
}

std::shared_ptr<Job> Host::job_of(Channel& channel, uint64_t number, JobKind kind) {
  const std::lock_guard lock(channel.session->mutex);
  const auto found = channel.session->jobs.find(number);
  require(found != channel.session->jobs.end() && found->second->kind == kind, "no such job");
  return found->second;
}

void Host::close(Channel& channel, uint64_t number, JobKind kind) {
  const std::shared_ptr<Job> job = job_of(channel, number, kind);
  bool is_last;
  {
    const std::lock_guard lock(channel.session->mutex);
    channel.session->jobs.erase(number);
    is_last = channel.session->jobs.empty();
  }
  {
    job->is_cancelled = true;  // another channel may be in a call
    const Running running(*this, channel, job, false);
    const std::unique_lock lock(job->mutex);
    job->close();
  }
  if (is_last) turns_.give_up(channel.session->place);
}

}  // namespace host

uint64_t mark_of(const std::string& path) {
  uint64_t mark = 0xcbf29ce484222325;
  for (const char c : path) mark = (mark ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mark;
}

void run_host(HostOptions options) { (new host::Host(std::move(options)))->run(); }

}  // namespace batmap::process
