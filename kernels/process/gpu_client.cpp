// Calls through channels. See gpu_client.h.
#include "process/gpu_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "accel/device_episodes.h"
#include "accel/device_itemsets.h"
#include "process/gpu_channel.h"
#include "process/gpu_wire.h"

namespace batmap::process {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMs = 5;                      // how often a waiting call looks around
constexpr size_t kOwnChannels = 8;              // of one session; more calls at once wait
constexpr size_t kChannelRows = kAreaRows / 2;  // of a job, for each channel that its rows may take beside the first

/// How a call ended. Never leaves this file.
struct CallFailure {
  AcceleratorStatus status;
  std::string text;
};

struct Link;

/// A job of the process. A channel may still have rows of a job that is being closed.
struct RemoteJob {
  std::shared_ptr<RemoteJob> self;  // until it is closed
  std::shared_ptr<Link> link;
  uint64_t number = 0;
  uint32_t items = 0;  // of a job of pairs
  uint64_t rows = 0;   // the same: so many will be sent at most
  std::mutex mutex;    // guards the following
  bool (*stop)(void*) = nullptr;
  void* stop_arg = nullptr;
  AcceleratorStatus failed = AcceleratorStatus::kOk;  // of rows that were sent later
  std::string why;

  bool is_to_stop() {
    const std::lock_guard lock(mutex);
    return stop != nullptr && stop(stop_arg);
  }
};

struct Channel {
  File socket;
  SharedMemory memory;
  std::shared_ptr<RemoteJob> filling;  // its rows wait in the area
  size_t rows = 0;
  bool is_used = true;  // since the session was without a job

  ChannelHeader& header() { return *reinterpret_cast<ChannelHeader*>(memory.data()); }
  std::byte* area() { return memory.data() + kHeaderBytes; }
  std::byte* answers() { return memory.data() + kHeaderBytes + kAreaBytes; }
};

/// A session with the process. Thread-safe.
struct Link {
  explicit Link(ClientOptions given) : options(std::move(given)) {}

  ClientOptions options;
  uint64_t key[2] = {};
  std::atomic<bool> is_broken{false};
  std::mutex mutex;  // guards the following
  std::condition_variable channel_free;
  size_t channels = 0;
  size_t jobs = 0;
  std::vector<std::unique_ptr<Channel>> idle;

  /// @return nullptr: no process, or it refused
  std::unique_ptr<Channel> open_channel(Reply& reply) {
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

  /// A channel for one call: one whose rows of the job wait, if `for_rows`; else an empty one, or a new one.
  std::unique_ptr<Channel> borrow(RemoteJob* job, bool for_rows) {
    std::unique_lock lock(mutex);
    for (;;) {
      if (is_broken) throw CallFailure{AcceleratorStatus::kFailed, "the GPU process has ended"};
      const auto with_rows = std::ranges::find_if(idle, [&](const auto& c) { return for_rows && c->filling.get() == job; });
      const auto empty = std::ranges::find_if(idle, [](const auto& c) { return c->filling == nullptr; });
      // The rows of a small job wait for one another rather than for new channels.
      const uint64_t wanted = for_rows ? 1 + job->rows / kChannelRows : kOwnChannels;
      const bool may_open = channels < std::min<uint64_t>(wanted, kOwnChannels);
      const auto best = with_rows != idle.end() ? with_rows
                        : empty != idle.end()   ? empty
                        : may_open              ? idle.end()
                                                : idle.begin();
      if (best != idle.end()) {
        std::unique_ptr<Channel> channel = std::move(*best);
        idle.erase(best);
        channel->is_used = true;
        return channel;
      }
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
  void give_back(std::unique_ptr<Channel> channel) {
    const std::lock_guard lock(mutex);
    idle.insert(idle.begin(), std::move(channel));  // it is taken next, so that few are used
    channel_free.notify_one();
  }
  void begin_job() {
    const std::lock_guard lock(mutex);
    ++jobs;
  }
  /// The session keeps the channels that its last jobs have used, as the next ones may need as many. It gives up the others:
  /// they have megabytes.
  void end_job() {
    std::vector<std::unique_ptr<Channel>> given_up;
    const std::lock_guard lock(mutex);
    if (--jobs > 0) return;
    const auto unused = std::stable_partition(idle.begin(), idle.end(), [](const auto& c) { return c->is_used; });
    given_up.assign(std::make_move_iterator(unused), std::make_move_iterator(idle.end()));
    idle.erase(unused, idle.end());
    channels -= given_up.size();
    for (const auto& channel : idle) channel->is_used = false;
  }
  /// A channel is gone.
  void forget() {
    const std::lock_guard lock(mutex);
    --channels;
    channel_free.notify_one();
  }
};

std::mutex current_mutex;
std::shared_ptr<Link> current;
ProcessState greeting{};

std::shared_ptr<Link> current_link() {
  const std::lock_guard lock(current_mutex);
  if (current == nullptr) throw CallFailure{AcceleratorStatus::kFailed, "no session with the GPU process"};
  return current;
}

/// One call: a channel, a request, and a reply.
class Call {
 public:
  Call(const std::shared_ptr<Link>& link, Op op, RemoteJob* job, bool for_rows = false) : link_(link), job_(job) {
    request_.op = op;
    if (job != nullptr) request_.job = job->number;
    channel_ = link->borrow(job, for_rows);
    if (channel_->filling != nullptr && !(for_rows && channel_->filling.get() == job)) send_waiting_rows();
  }
  Call(RemoteJob& job, Op op) : Call(job.link, op, &job) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (channel_ == nullptr) return;
    if (is_under_way_)
      drop();  // its reply would be taken for that of the next call
    else
      link_->give_back(std::move(channel_));
  }

  uint64_t* args() { return request_.args; }
  Channel& channel() { return *channel_; }
  /// Room for so many bytes of arrays. Call it once.
  std::byte* room(uint64_t bytes) {
    request_.bytes = bytes;
    if (bytes <= kAreaBytes) return channel_->area();
    file_ = SharedMemory::create(bytes);
    if (file_.is_empty()) throw std::bad_alloc();
    request_.has_file = 1;
    return file_.data();
  }

  /// Sends the request and waits. @throws CallFailure unless the status is kOk
  Reply& run(bool has_patience = true) {
    start();
    return finish(has_patience);
  }
  void start() {
    channel_->header().cancel.store(0, std::memory_order_relaxed);
    if (!send_packet(channel_->socket.number(), &request_, sizeof request_, request_.has_file != 0 ? file_.file() : -1))
      lose();
    is_under_way_ = true;
  }
  /// Waits for the reply of a request that was sent.
  Reply& finish(bool has_patience = true) {
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
      if (!leaving && (job_ != nullptr ? job_->is_to_stop() : link_->options.stop != nullptr && link_->options.stop())) {
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
  /// The array of the answer. @throws CallFailure if it has another size
  template <typename T>
  std::span<const T> answer(std::optional<uint64_t> size = std::nullopt) {
    const std::byte* const data = reply_.has_file != 0 ? file_.data() : channel_->answers();
    if (reply_.bytes % sizeof(T) != 0 || (size && reply_.bytes != *size * sizeof(T))) lose();
    return {reinterpret_cast<const T*>(data), reply_.bytes / sizeof(T)};
  }

  /// Sends the rows that wait in the channel, whose job may be another. A failure is the job's, and is said by its next call.
  void send_waiting_rows() {
    const Request mine = request_;
    RemoteJob* const job = job_;
    start_waiting_rows();
    finish_waiting_rows();
    request_ = mine;
    job_ = job;
    reply_ = {};
  }
  /// The same in two steps. The call is good for nothing else then.
  void start_waiting_rows() {
    sender_ = std::move(channel_->filling);
    job_ = sender_.get();
    request_ = {};
    request_.op = Op::kAddRows;
    request_.job = job_->number;
    request_.args[0] = std::exchange(channel_->rows, 0);
    try {
      start();
    } catch (const CallFailure& failure) {
      note(failure);
      throw;
    }
  }
  void finish_waiting_rows() {
    try {
      finish();
    } catch (const CallFailure& failure) {
      note(failure);
      if (channel_ == nullptr) throw;
    }
  }

 private:
  /// A failure of rows.
  void note(const CallFailure& failure) {
    const std::lock_guard lock(sender_->mutex);
    if (sender_->failed != AcceleratorStatus::kOk) return;
    sender_->failed = failure.status;
    sender_->why = failure.text;
  }
  void drop() {
    is_under_way_ = false;
    channel_.reset();
    link_->forget();
  }
  [[noreturn]] void lose() {
    drop();
    link_->is_broken = true;
    throw CallFailure{AcceleratorStatus::kFailed, "the GPU process has ended"};
  }

  std::shared_ptr<Link> link_;
  RemoteJob* job_;
  std::shared_ptr<RemoteJob> sender_;  // of rows that are sent
  std::unique_ptr<Channel> channel_;
  bool is_under_way_ = false;  // the reply is still to come
  Request request_;
  Reply reply_;
  SharedMemory file_;
};

/// Runs a body; what it throws becomes a status and a message.
template <typename Body>
AcceleratorStatus guarded(AcceleratorMessage* why, Body body) noexcept {
  const auto say = [why](const char* text) {
    if (why != nullptr) std::snprintf(why->text, sizeof why->text, "%s", text);
  };
  try {
    body();
    return AcceleratorStatus::kOk;
  } catch (const CallFailure& failure) {
    say(failure.text.c_str());
    return failure.status;
  } catch (const std::exception& error) {
    say(error.what());
    return AcceleratorStatus::kOutOfMemory;
  }
}

/// Writes arrays one behind the other, each at a multiple of 8 bytes.
class ArrayWriter {
 public:
  explicit ArrayWriter(std::byte* at) : at_(at) {}
  template <typename T>
  static uint64_t bytes_of(uint64_t size) {
    return (size * sizeof(T) + 7) / 8 * 8;
  }
  template <typename T>
  void add(const T* array, uint64_t size) {
    if (size > 0) std::memcpy(at_, array, size * sizeof(T));
    at_ += bytes_of<T>(size);
  }

 private:
  std::byte* at_;
};

template <typename Handle>
RemoteJob& job_of(Handle* handle) {
  return *reinterpret_cast<RemoteJob*>(handle);
}
template <typename Handle>
RemoteJob& job_of(const Handle* handle) {
  return *reinterpret_cast<RemoteJob*>(const_cast<Handle*>(handle));
}

void throw_if_failed(RemoteJob& job) {
  const std::lock_guard lock(job.mutex);
  if (job.failed != AcceleratorStatus::kOk) throw CallFailure{job.failed, job.why};
}

/// A job that the process is to open.
std::shared_ptr<RemoteJob> new_job(bool (*stop)(void*), void* stop_arg) {
  auto job = std::make_shared<RemoteJob>();
  job->link = current_link();
  job->stop = stop;
  job->stop_arg = stop_arg;
  return job;
}

/// The process has opened it: from now on it lives until close().
template <typename Handle>
Handle* keep(const std::shared_ptr<RemoteJob>& job) {
  job->self = job;
  job->link->begin_job();
  return reinterpret_cast<Handle*>(job.get());
}

void close(RemoteJob* given, Op op) noexcept {
  if (given == nullptr) return;
  const std::shared_ptr<RemoteJob> job = std::move(given->self);
  {
    const std::lock_guard lock(job->link->mutex);
    for (const auto& channel : job->link->idle)
      if (channel->filling == job) channel->filling = nullptr, channel->rows = 0;
  }
  {
    const std::lock_guard lock(job->mutex);
    job->stop = nullptr;
  }
  if (!job->link->is_broken) guarded(nullptr, [&] { Call(*job, op).run(false); });
  job->link->end_job();
}

/// Hands an answer to a sink of the ABI.
template <typename T, typename Sink>
void hand_over(std::span<const T> found, const Sink& sink) {
  T* const room = sink.room(sink.arg, found.size());
  if (found.empty()) return;
  if (room == nullptr) throw CallFailure{AcceleratorStatus::kOutOfMemory, "no room for the answers"};
  std::memcpy(room, found.data(), found.size_bytes());
}

// ---- devices

AcceleratorStatus devices(DeviceTraits* traits, uint32_t* count, AcceleratorMessage* why) {
  *count = 0;
  return guarded(why, [&] {
    Call call(current_link(), Op::kDevices, nullptr);
    call.run();
    for (const DeviceTraits& device : call.answer<DeviceTraits>())
      if (*count < kMaxDevices) traits[(*count)++] = device;
  });
}

AcceleratorStatus prepare(int32_t device, DeviceTraits* traits, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(current_link(), Op::kPrepare, nullptr);
    call.args()[0] = static_cast<uint64_t>(device);
    call.run();
    *traits = call.answer<DeviceTraits>(1)[0];
  });
}

// ---- pairs

AcceleratorStatus open_pairs(const DevicePairJob* about, DevicePairs** pairs, AcceleratorMessage* why) {
  return guarded(why, [&] {
    auto job = new_job(about->stop, about->stop_arg);
    job->items = about->items;
    job->rows = about->rows;
    Call call(*job, Op::kOpenPairs);
    DevicePairJob sent = *about;
    sent.stop = nullptr;
    sent.stop_arg = nullptr;
    std::memcpy(call.room(sizeof sent), &sent, sizeof sent);
    job->number = call.run().values[0];
    *pairs = keep<DevicePairs>(job);
  });
}

AcceleratorStatus add_rows(DevicePairs* pairs, const uint32_t* tids, const uint32_t* items, size_t rows,
                           AcceleratorMessage* why) {
  return guarded(why, [&] {
    RemoteJob& job = job_of(pairs);
    throw_if_failed(job);
    while (rows > 0) {
      Call call(job.link, Op::kAddRows, &job, true);
      Channel& channel = call.channel();
      auto* const to = reinterpret_cast<uint32_t*>(channel.area());
      const size_t now = std::min(rows, kAreaRows - channel.rows);
      std::memcpy(to + channel.rows, tids, now * sizeof *tids);
      std::memcpy(to + kAreaRows + channel.rows, items, now * sizeof *items);
      tids += now;
      items += now;
      rows -= now;
      channel.rows += now;
      channel.filling = job.self;
      if (channel.rows == kAreaRows) call.send_waiting_rows();
    }
    throw_if_failed(job);
  });
}

AcceleratorStatus add_sets(DevicePairs* pairs, const DeviceSets* sets, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(pairs), Op::kAddSets);
    const uint64_t size = sets->sets;
    const uint64_t stashed = sets->stash_begin[size];
    const uint64_t bytes = ArrayWriter::bytes_of<uint64_t>(size) + ArrayWriter::bytes_of<uint32_t>(size + 1) +
                           ArrayWriter::bytes_of<uint64_t>(stashed);
    call.args()[0] = size;
    call.args()[1] = sets->width;
    call.args()[2] = stashed;
    ArrayWriter to(call.room(bytes));
    to.add(sets->cardinality, size);
    to.add(sets->stash_begin, size + 1);
    to.add(sets->stash, stashed);
    call.run();
  });
}

/// Fills one area after the other.
AcceleratorStatus add_planes(DevicePairs* pairs, uint64_t offset, const PlanePiece* pieces, size_t count,
                             AcceleratorMessage* why) {
  return guarded(why, [&] {
    size_t at = 0;      // piece
    uint64_t done = 0;  // bytes of it
    while (at < count) {
      Call call(job_of(pairs), Op::kAddPlanes);
      call.args()[0] = offset;
      std::byte* const area = call.channel().area();
      uint64_t used = 0;
      while (at < count && used < kAreaBytes) {
        const uint64_t now = std::min(pieces[at].bytes - done, kAreaBytes - used);
        std::memcpy(area + used, pieces[at].data + done, now);
        used += now;
        done += now;
        if (done == pieces[at].bytes) ++at, done = 0;
      }
      call.room(used);
      call.run();
      offset += used;
    }
  });
}

/// Sends what waits in all channels at once.
void send_all_rows(RemoteJob& job) {
  std::vector<std::unique_ptr<Call>> calls;
  for (;;) {
    {
      const std::lock_guard lock(job.link->mutex);
      if (std::ranges::none_of(job.link->idle, [&](const auto& c) { return c->filling.get() == &job; })) break;
    }
    auto call = std::make_unique<Call>(job.link, Op::kAddRows, &job, true);
    if (call->channel().filling.get() != &job) continue;
    calls.push_back(std::move(call));
    calls.back()->start_waiting_rows();
  }
  for (const std::unique_ptr<Call>& call : calls) call->finish_waiting_rows();
}

AcceleratorStatus build(DevicePairs* pairs, uint32_t* supports, AcceleratorMessage* why) {
  return guarded(why, [&] {
    RemoteJob& job = job_of(pairs);
    send_all_rows(job);
    throw_if_failed(job);
    Call call(job, Op::kBuild);
    call.run();
    std::ranges::copy(call.answer<uint32_t>(job.items), supports);
  });
}

AcceleratorStatus count_rows(DevicePairs* pairs, uint32_t first, uint32_t last, uint32_t threshold,
                             const DevicePairSink* sink, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(pairs), Op::kCountRows);
    call.args()[0] = first;
    call.args()[1] = last;
    call.args()[2] = threshold;
    call.run();
    hand_over(call.answer<DevicePair>(), *sink);
  });
}

AcceleratorStatus count_list(DevicePairs* pairs, const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts,
                             AcceleratorMessage* why) {
  constexpr size_t kAtOnce = kAreaBytes / 2 / sizeof(uint32_t);  // both arrays fit into the area
  return guarded(why, [&] {
    for (size_t from = 0; from < size; from += kAtOnce) {
      const size_t now = std::min(kAtOnce, size - from);
      Call call(job_of(pairs), Op::kCountList);
      call.args()[0] = now;
      ArrayWriter to(call.room(2 * ArrayWriter::bytes_of<uint32_t>(now)));
      to.add(a + from, now);
      to.add(b + from, now);
      call.run();
      std::ranges::copy(call.answer<uint32_t>(now), counts + from);
    }
  });
}

void pair_times(const DevicePairs* pairs, double* build_ms, double* count_ms) {
  *build_ms = *count_ms = 0;
  guarded(nullptr, [&] {
    Call call(job_of(pairs), Op::kPairTimes);
    const Reply& reply = call.run();
    std::memcpy(build_ms, &reply.values[0], sizeof *build_ms);
    std::memcpy(count_ms, &reply.values[1], sizeof *count_ms);
  });
}

void close_pairs(DevicePairs* pairs) { close(reinterpret_cast<RemoteJob*>(pairs), Op::kClosePairs); }

// ---- episodes

AcceleratorStatus open_episodes(const DeviceEpisodeJob* about, DeviceEpisodes** episodes, AcceleratorMessage* why) {
  return guarded(why, [&] {
    auto job = new_job(about->stop, about->stop_arg);
    Call call(*job, Op::kOpenEpisodes);
    call.args()[0] = about->axis_count;
    call.args()[1] = about->has_order != 0;
    call.args()[2] = static_cast<uint64_t>(about->device);
    call.args()[3] = about->memory_limit;
    uint64_t bytes = about->axis_count * 4 * sizeof(int64_t);
    for (uint64_t k = 0; k < about->axis_count; ++k)
      bytes += ArrayWriter::bytes_of<uint32_t>(uint64_t{about->axes[k].symbol_count} + 1);
    ArrayWriter to(call.room(bytes));
    for (uint64_t k = 0; k < about->axis_count; ++k) {
      const DeviceEventAxis& axis = about->axes[k];
      const int64_t words[] = {static_cast<int64_t>(axis.events), axis.symbol_count, axis.last_time, axis.reach};
      to.add(words, 4);
    }
    for (uint64_t k = 0; k < about->axis_count; ++k) to.add(about->axes[k].begin, uint64_t{about->axes[k].symbol_count} + 1);
    job->number = call.run().values[0];
    *episodes = keep<DeviceEpisodes>(job);
  });
}

AcceleratorStatus send_events(DeviceEpisodes* episodes, uint64_t axis, DeviceEventArray array, uint64_t first,
                              const void* values, uint64_t size, AcceleratorMessage* why) {
  return guarded(why, [&] {
    const size_t width = array == DeviceEventArray::kSymbols ? sizeof(uint32_t) : sizeof(int64_t);
    const uint64_t at_once = kAreaBytes / width;
    for (uint64_t from = 0; from < size; from += at_once) {
      const uint64_t now = std::min(at_once, size - from);
      Call call(job_of(episodes), Op::kSendEvents);
      call.args()[0] = axis;
      call.args()[1] = static_cast<uint64_t>(array);
      call.args()[2] = first + from;
      call.args()[3] = now;
      std::memcpy(call.room(now * width), static_cast<const std::byte*>(values) + from * width, now * width);
      call.run();
    }
  });
}

AcceleratorStatus count_episodes(DeviceEpisodes* episodes, const DeviceEpisodeBatch* batch, uint64_t* counts,
                                 AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(episodes), Op::kCountEpisodes);
    call.args()[0] = batch->length;
    call.args()[1] = batch->size;
    call.args()[2] = static_cast<uint64_t>(batch->method);
    const uint64_t symbols = batch->size * batch->length;
    const uint64_t gaps = batch->size * (batch->length - 1);
    ArrayWriter to(call.room(ArrayWriter::bytes_of<uint32_t>(symbols) + ArrayWriter::bytes_of<DeviceGap>(gaps)));
    to.add(batch->symbols, symbols);
    to.add(batch->gaps, gaps);
    call.run();
    for (const uint64_t count : call.answer<uint64_t>(batch->size)) *counts++ += count;
  });
}

double kernel_ms(const DeviceEpisodes* episodes) {
  double ms = 0;
  guarded(nullptr, [&] {
    Call call(job_of(episodes), Op::kKernelMs);
    std::memcpy(&ms, call.run().values, sizeof ms);
  });
  return ms;
}

void close_episodes(DeviceEpisodes* episodes) { close(reinterpret_cast<RemoteJob*>(episodes), Op::kCloseEpisodes); }

constexpr DeviceEpisodeApi kEpisodeApi = {sizeof(DeviceEpisodeApi), open_episodes, send_events,
                                          count_episodes,           kernel_ms,     close_episodes};

// ---- itemsets

AcceleratorStatus open_itemsets(const DeviceItemsetJob* about, DeviceItemsets** itemsets, AcceleratorMessage* why) {
  return guarded(why, [&] {
    auto job = new_job(about->stop, about->stop_arg);
    Call call(*job, Op::kOpenItemsets);
    const uint64_t words = uint64_t{about->items} * about->words;
    uint64_t* const args = call.args();
    args[0] = about->items;
    args[1] = about->words;
    args[2] = about->plane_count;
    args[3] = about->has_bitmaps;
    args[4] = static_cast<uint64_t>(about->device);
    args[5] = about->memory_limit;
    ArrayWriter to(call.room(about->plane_count * sizeof(DevicePlane) + words * sizeof(uint64_t)));
    to.add(about->planes, about->plane_count);
    to.add(about->rows, words);
    job->number = call.run().values[0];
    *itemsets = keep<DeviceItemsets>(job);
  });
}

AcceleratorStatus extend(DeviceItemsets* itemsets, const DeviceExtension* step, const DeviceItemsetSink* sink,
                         uint64_t* candidates, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(itemsets), Op::kExtend);
    std::memcpy(call.room(sizeof *step), step, sizeof *step);
    *candidates = call.run().values[0];
    hand_over(call.answer<JoinedItemset>(), *sink);
  });
}

AcceleratorStatus count_joined(DeviceItemsets* itemsets, JoinedItemset* candidates, size_t size, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(itemsets), Op::kCountJoined);
    call.args()[0] = size;
    ArrayWriter(call.room(size * sizeof *candidates)).add(candidates, size);
    call.run();
    for (const uint32_t support : call.answer<uint32_t>(size)) candidates++->support = support;
  });
}

AcceleratorStatus push(DeviceItemsets* itemsets, const JoinedItemset* kept, size_t size, AcceleratorMessage* why) {
  return guarded(why, [&] {
    Call call(job_of(itemsets), Op::kPush);
    call.args()[0] = size;
    ArrayWriter(call.room(size * sizeof *kept)).add(kept, size);
    call.run();
  });
}

/// A call whose failure the next one reports.
void tell(DeviceItemsets* itemsets, Op op) {
  guarded(nullptr, [&] { Call(job_of(itemsets), op).run(); });
}
void pop(DeviceItemsets* itemsets) { tell(itemsets, Op::kPop); }
void drop_lower(DeviceItemsets* itemsets) { tell(itemsets, Op::kDropLower); }

uint64_t room(DeviceItemsets* itemsets) {
  uint64_t bytes = 0;
  guarded(nullptr, [&] { bytes = Call(job_of(itemsets), Op::kRoom).run().values[0]; });
  return bytes;
}

void itemset_times(DeviceItemsets* itemsets, DeviceItemsetTimes* times) {
  *times = {};
  guarded(nullptr, [&] {
    Call call(job_of(itemsets), Op::kItemsetTimes);
    call.run();
    *times = call.answer<DeviceItemsetTimes>(1)[0];
  });
}

void close_itemsets(DeviceItemsets* itemsets) { close(reinterpret_cast<RemoteJob*>(itemsets), Op::kCloseItemsets); }

constexpr DeviceItemsetApi kItemsetApi = {open_itemsets, extend, count_joined,  push,          pop,
                                          drop_lower,    room,   itemset_times, close_itemsets};

// Budgets and pinned memory are the process's own: a session sets none.
constexpr AcceleratorApi kApi = {kAcceleratorAbi, sizeof(AcceleratorApi),
                                 devices,         prepare,
                                 open_pairs,      add_rows,
                                 add_sets,        add_planes,
                                 build,           count_rows,
                                 count_list,      pair_times,
                                 close_pairs,     &kEpisodeApi,
                                 &kItemsetApi,    nullptr,
                                 nullptr,         nullptr,
                                 nullptr};

}  // namespace

Connected connect(const ClientOptions& options, std::string& why) {
  auto link = std::make_shared<Link>(options);
  Reply reply;
  std::unique_ptr<Channel> channel = link->open_channel(reply);
  const ProcessState state{static_cast<int32_t>(reply.values[3]), reply.values[2] != 0};
  Connected connected = Connected::kYes;
  if (channel == nullptr) {
    switch (reply.status) {
      case AcceleratorStatus::kOk:
      case AcceleratorStatus::kCancelled: connected = Connected::kNobody; break;
      case AcceleratorStatus::kNoDevice: connected = Connected::kNoModule; break;
      default: connected = Connected::kRefused;
    }
    why = connected == Connected::kNobody ? "the GPU process does not run" : reply.why.text;
  }
  if (connected != Connected::kNobody && options.module_mark != 0 && reply.values[4] != 0 &&
      reply.values[4] != options.module_mark) {
    connected = Connected::kRefused;
    why = "the GPU process has another module";
  }
  const std::lock_guard lock(current_mutex);
  greeting = state;
  if (connected != Connected::kYes) return connected;
  link->key[0] = reply.values[0];
  link->key[1] = reply.values[1];
  link->channels = 1;
  link->idle.push_back(std::move(channel));
  current = std::move(link);
  return connected;
}

bool is_connected() {
  const std::lock_guard lock(current_mutex);
  return current != nullptr && !current->is_broken;
}

void disconnect() {
  const std::lock_guard lock(current_mutex);
  current.reset();
}

ProcessState last_greeting() {
  const std::lock_guard lock(current_mutex);
  return greeting;
}

bool ask_use(ProcessUse& use) {
  use = {};
  return guarded(nullptr, [&] {
           Call call(current_link(), Op::kStatus, nullptr);
           const Reply& reply = call.run();
           use.pid = last_greeting().pid;
           use.sessions = static_cast<uint32_t>(reply.values[0]);
           std::copy_n(reply.values + 1, kMaxDevices, use.memory_bytes);
           use.running = static_cast<uint32_t>(reply.values[1 + kMaxDevices]);
           use.waiting = static_cast<uint32_t>(reply.values[1 + kMaxDevices] >> 32);
         }) == AcceleratorStatus::kOk;
}

const AcceleratorApi* client_api() { return &kApi; }

}  // namespace batmap::process
