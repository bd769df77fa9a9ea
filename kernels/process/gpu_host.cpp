// Channels, jobs, and the watch over them. See gpu_host.h.
#include "process/gpu_host.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "accel/device_episodes.h"
#include "accel/device_itemsets.h"
#include "process/gpu_turns.h"
#include "set/set_format.h"

namespace batmap::process {

namespace {

constexpr size_t kKeptAnswerBytes = size_t{16} << 20;  // a file for answers of this size is kept for the next call
constexpr uint64_t kMaxItems = uint64_t{1} << 31;
// To pin the memory of a channel takes as long as some copies of it: it is done for the channels that send much more than once.
constexpr uint64_t kMuchBytes = size_t{64} << 10;
constexpr uint32_t kSentMuch = 2;
constexpr uint64_t kMaxPinnedBytes = uint64_t{256} << 20;  // of all channels
constexpr int kTickMs = 5;                                 // how often the watch looks at calls that run

/// A request that no session of this version sends.
struct BadRequest {
  const char* what;
};

void require(bool is_right, const char* what) {
  if (!is_right) throw BadRequest{what};
}

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Arrays that lie one behind the other, each at a multiple of 8 bytes.
class ArrayReader {
 public:
  ArrayReader(const std::byte* at, uint64_t bytes) : at_(at), left_(bytes) {}

  template <typename T>
  const T* next(uint64_t size) {
    require(size <= left_ / sizeof(T), "an array is longer than what was sent");
    const auto* const array = reinterpret_cast<const T*>(at_);
    const uint64_t bytes = std::min(left_, (size * sizeof(T) + 7) / 8 * 8);
    at_ += bytes;
    left_ -= bytes;
    return array;
  }

 private:
  const std::byte* at_;
  uint64_t left_;
};

/// Which parts of an array have been sent.
class SentParts {
 public:
  void add(uint64_t first, uint64_t size) {
    if (size == 0) return;
    uint64_t last = first + size;
    auto at = parts_.upper_bound(first);
    if (at != parts_.begin() && std::prev(at)->second >= first) --at;
    while (at != parts_.end() && at->first <= last) {
      first = std::min(first, at->first);
      last = std::max(last, at->second);
      at = parts_.erase(at);
    }
    parts_[first] = last;
  }
  bool has(uint64_t first, uint64_t last) const {
    if (first == last) return true;
    const auto behind = parts_.upper_bound(first);
    return behind != parts_.begin() && std::prev(behind)->second >= last;
  }

 private:
  std::map<uint64_t, uint64_t> parts_;  // first -> last
};

enum class JobKind { kPairs, kEpisodes, kItemsets };

struct Axis {
  uint64_t events;
  uint32_t symbol_count;
  int64_t last_time;
  std::vector<uint32_t> begin;
  SentParts lists;
  SentParts times;
  SentParts symbols;
};

/// A job of the module, and what is known of it, so that requests can be checked.
struct Job {
  Job(const AcceleratorApi& table, JobKind what) : api(table), kind(what) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { close(); }

  void close() {
    if (handle == nullptr) return;
    switch (kind) {
      case JobKind::kPairs: api.close_pairs(static_cast<DevicePairs*>(handle)); break;
      case JobKind::kEpisodes: api.episodes->close(static_cast<DeviceEpisodes*>(handle)); break;
      case JobKind::kItemsets: api.itemsets->close(static_cast<DeviceItemsets*>(handle)); break;
    }
    handle = nullptr;
  }
  static bool stop(void* arg) {
    auto& job = *static_cast<Job*>(arg);
    job.last_sign = now_ms();
    return job.is_cancelled;
  }

  const AcceleratorApi& api;
  const JobKind kind;
  void* handle = nullptr;
  std::atomic<bool> is_cancelled{false};
  std::atomic<int64_t> last_sign{0};  // when it last asked for `stop`
  std::shared_mutex mutex;            // shared: calls that the module takes from several threads at once
  std::mutex sent_mutex;

  // Pairs
  DevicePairJob pairs{};
  std::atomic<uint64_t> rows{0};
  bool has_sets = false;
  uint64_t plane_bytes = 0;  // of all sets
  SentParts planes;          // guarded by sent_mutex
  bool is_built = false;
  // Episodes
  std::vector<Axis> axes;
  bool has_order = false;
  // Itemsets: sizes of the levels; of those whose rows are gone 0
  std::vector<uint64_t> levels;
};

using SessionKey = std::array<uint64_t, 2>;

struct Session {
  SessionKey key;
  Turns::Place place;
  std::mutex mutex;  // guards the following
  size_t channels = 0;
  uint64_t last_job = 0;
  std::map<uint64_t, std::shared_ptr<Job>> jobs;
};

struct Channel {
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() {
    if (unpin == nullptr) return;
    unpin(memory.data());
    *pinned_bytes -= kChannelBytes;
  }

  File socket;
  SharedMemory memory;
  uint32_t sent_much = 0;          // calls that sent much
  void (*unpin)(void*) = nullptr;  // set if the memory is pinned
  std::atomic<uint64_t>* pinned_bytes = nullptr;
  SharedMemory answers;  // where answers do not fit into the memory
  std::shared_ptr<Session> session;
  bool is_answer_in_file = false;
  // While a call runs. Guarded by the mutex of the watch.
  std::shared_ptr<Job> job;
  std::atomic<int64_t> call_began{0};

  ChannelHeader& header() { return *reinterpret_cast<ChannelHeader*>(memory.data()); }
  std::byte* area() { return memory.data() + kHeaderBytes; }

  /// Room for the answer of the running call. @return nullptr: there is no memory
  std::byte* answer(uint64_t bytes) {
    is_answer_in_file = bytes > kAreaBytes;
    if (!is_answer_in_file) return memory.data() + kHeaderBytes + kAreaBytes;
    if (bytes > uint64_t{1} << 46) return nullptr;
    if (answers.bytes() < bytes) {
      answers.reset();
      answers = SharedMemory::create((bytes + kAreaBytes - 1) / kAreaBytes * kAreaBytes);
    }
    return answers.data();
  }
};

/// Receives the answers of the module into a channel.
template <typename T>
struct Answers {
  Channel& channel;
  uint64_t size = 0;
  T* data = nullptr;

  static T* room(void* arg, size_t size) {
    auto& answers = *static_cast<Answers*>(arg);
    answers.size = size;
    answers.data = reinterpret_cast<T*>(answers.channel.answer(size * sizeof(T)));
    return answers.data;
  }
};

class Host {
 public:
  explicit Host(HostOptions options)
      : options_(std::move(options)),
        turns_(options_.at_once, std::chrono::milliseconds(options_.quantum_ms),
               std::chrono::milliseconds(options_.idle_ms)) {}

  [[noreturn]] void run();

 private:
  class Running;
  using Arrays = ArrayReader;

  void follow_control();
  void watch();
  void serve(File socket);
  bool greet(Channel& channel, const Request& request, File file, Reply& reply);
  void say_goodbye(Channel& channel);
  bool answer(Channel& channel, const Request& request, File file);
  void call(Channel& channel, const Request& request, Arrays arrays, Reply& reply);
  void call_pairs(Channel& channel, const Request& request, Arrays arrays, Reply& reply);
  void call_episodes(Channel& channel, const Request& request, Arrays arrays, Reply& reply);
  void call_itemsets(Channel& channel, const Request& request, Arrays arrays, Reply& reply);
  std::shared_ptr<Job> open(Channel& channel, JobKind kind, Reply& reply,
                            const std::function<AcceleratorStatus(Job&)>& open);
  std::shared_ptr<Job> job_of(Channel& channel, uint64_t number, JobKind kind);
  void close(Channel& channel, uint64_t number, JobKind kind);
  void require_device(int64_t device);
  void note_bytes(Channel& channel, int32_t device, uint64_t bytes);
  AcceleratorStatus prepare(int32_t device, DeviceTraits& traits, AcceleratorMessage& why);

  HostOptions options_;
  const AcceleratorApi* api_ = nullptr;
  std::string why_not_;
  std::atomic<bool> is_loaded_{false};  // the two above are set
  Turns turns_;
  std::atomic<uint32_t> device_count_{0};
  std::atomic<bool> is_warm_{false};
  std::atomic<uint64_t> pinned_bytes_{0};

  std::mutex sessions_mutex_;
  std::map<SessionKey, std::shared_ptr<Session>> sessions_;

  std::mutex watch_mutex_;
  std::condition_variable call_began_;
  bool is_watch_asleep_ = false;  // until a call begins
  std::vector<Channel*> running_;
};

/// A call that the watch sees. With a job and `needs_turn` it waits for a turn.
class Host::Running {
 public:
  Running(Host& host, Channel& channel, std::shared_ptr<Job> job, bool needs_turn) : host_(host), channel_(channel) {
    job_ = job.get();
    bool is_watch_asleep;
    {
      const std::lock_guard lock(host.watch_mutex_);
      channel.job = std::move(job);
      channel.call_began = now_ms();
      host.running_.push_back(&channel);
      is_watch_asleep = std::exchange(host.is_watch_asleep_, false);
    }
    if (is_watch_asleep) host.call_began_.notify_one();
    if (!needs_turn) return;
    const auto stop = [this] {
      channel_.call_began = now_ms();  // who waits does not hang
      return Job::stop(job_);
    };
    has_turn_ = host.turns_.enter(channel.session->place, stop);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (has_turn_) host_.turns_.leave(channel_.session->place);
    std::shared_ptr<Job> job;  // is not destroyed under the lock
    const std::lock_guard lock(host_.watch_mutex_);
    host_.running_.erase(std::find(host_.running_.begin(), host_.running_.end(), &channel_));
    job = std::move(channel_.job);
  }
  /// @return whether the call may be made; if not, it was cancelled
  bool has_turn() const { return has_turn_; }

 private:
  Host& host_;
  Channel& channel_;
  Job* job_;
  bool has_turn_ = false;
};

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
  } catch (const std::bad_alloc&) {
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
  if (bytes < kMuchBytes || api_->pin == nullptr || ++channel.sent_much != kSentMuch) return;
  if (pinned_bytes_.fetch_add(kChannelBytes) + kChannelBytes <= kMaxPinnedBytes) {
    AcceleratorMessage why{};
    if (api_->pin(device, channel.memory.data(), kChannelBytes, &why) == AcceleratorStatus::kOk) {
      channel.unpin = api_->unpin;
      channel.pinned_bytes = &pinned_bytes_;
      return;
    }
  }
  pinned_bytes_ -= kChannelBytes;  // without, they are copied once more
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
    const Running running(*this, channel, nullptr, false);
    const std::unique_lock lock(job->mutex);
    job->close();
  }
  if (is_last) turns_.give_up(channel.session->place);
}

void Host::call_pairs(Channel& channel, const Request& request, Arrays arrays, Reply& reply) {
  if (request.op == Op::kOpenPairs) {
    DevicePairJob given = *arrays.next<DevicePairJob>(1);
    require(given.items > 0 && given.items <= kMaxItems && given.leading <= given.items && given.first_column <= given.items,
            "items");
    require(given.method == DeviceMethod::kBitmap || given.method == DeviceMethod::kHorizontal ||
                given.method == DeviceMethod::kBatmap,
            "no such method");
    require(given.device_count > 0 && given.device_count <= kMaxDevices, "devices");
    for (uint32_t i = 0; i < given.device_count; ++i) {
      require_device(given.devices[i]);
      require(std::find(given.devices, given.devices + i, given.devices[i]) == given.devices + i, "a device twice");
    }
    given.stop = Job::stop;
    open(channel, JobKind::kPairs, reply, [&](Job& job) {
      given.stop_arg = &job;
      job.pairs = given;
      DevicePairs* pairs = nullptr;
      const AcceleratorStatus status = api_->open_pairs(&given, &pairs, &reply.why);
      job.handle = pairs;
      return status;
    });
    return;
  }
  if (request.op == Op::kClosePairs) return close(channel, request.job, JobKind::kPairs);
  const std::shared_ptr<Job> job = job_of(channel, request.job, JobKind::kPairs);
  if (request.op == Op::kPairTimes) {
    const std::shared_lock lock(job->mutex);
    double times[2] = {};
    if (job->handle != nullptr && api_->times != nullptr)
      api_->times(static_cast<DevicePairs*>(job->handle), &times[0], &times[1]);
    std::memcpy(reply.values, times, sizeof times);
    return;
  }
  const Running running(*this, channel, job, true);
  if (!running.has_turn()) {
    reply.status = AcceleratorStatus::kCancelled;
    return;
  }
  std::shared_lock shared(job->mutex, std::defer_lock);
  std::unique_lock alone(job->mutex, std::defer_lock);
  if (request.op == Op::kAddSets || request.op == Op::kBuild)
    alone.lock();
  else
    shared.lock();
  require(job->handle != nullptr, "the job is closed");
  auto* const pairs = static_cast<DevicePairs*>(job->handle);
  const DevicePairJob& about = job->pairs;
  const bool is_of_sets = about.method == DeviceMethod::kBatmap;
  switch (request.op) {
    case Op::kAddRows: {
      const uint64_t rows = request.args[0];
      require(rows <= kAreaRows && !is_of_sets && !job->is_built, "rows");
      require(request.has_file == 0 && job->rows.fetch_add(rows) + rows <= about.rows, "more rows than were announced");
      const auto* const tids = reinterpret_cast<const uint32_t*>(channel.area());
      const uint32_t* const items = tids + kAreaRows;
      uint32_t max_tid = 0;
      uint32_t max_item = 0;
      for (uint64_t i = 0; i < rows; ++i) {
        max_tid = std::max(max_tid, tids[i]);
        max_item = std::max(max_item, items[i]);
      }
      require(rows == 0 || (max_tid < about.tid_slots && max_item < about.items), "a row is outside of the job");
      note_bytes(channel, about.devices[0], rows * 2 * sizeof(uint32_t));
      reply.status = api_->add_rows(pairs, tids, items, rows, &reply.why);
      return;
    }
    case Op::kAddSets: {
      const uint64_t sets = request.args[0];
      const uint64_t width = request.args[1];
      const uint64_t stashed = request.args[2];
      require(is_of_sets && !job->is_built && !job->has_sets && sets == about.items && width <= uint64_t{kMaxWidth}, "sets");
      // The session can still write to what it sent: sizes are checked and used in memory of this process.
      const auto* const sent_cardinality = arrays.next<uint64_t>(sets);
      const std::vector<uint64_t> cardinality(sent_cardinality, sent_cardinality + sets);
      const auto* const sent_begin = arrays.next<uint32_t>(sets + 1);
      const std::vector<uint32_t> stash_begin(sent_begin, sent_begin + sets + 1);
      const auto* const stash = arrays.next<uint64_t>(stashed);
      require(stash_begin[0] == 0 && stash_begin[sets] == stashed, "stash");
      uint64_t plane_bytes = 0;
      for (uint64_t i = 0; i < sets; ++i) {
        require(cardinality[i] <= std::min(kMaxCardinality, universe_of(static_cast<int>(width))) &&
                    (i == 0 || cardinality[i] >= cardinality[i - 1]) &&
                    container_for(cardinality[i], static_cast<int>(width)) == Container::kBatmap,
                "a set is no batmap");
        require(stash_begin[i + 1] >= stash_begin[i] && stash_begin[i + 1] <= stashed, "stash");
        for (uint32_t k = stash_begin[i]; k < stash_begin[i + 1]; ++k)
          require(stash[k] < uint64_t{1} << width && (k == stash_begin[i] || stash[k] > stash[k - 1]), "stash");
        plane_bytes += batmap_shape(cardinality[i], static_cast<int>(width)).bytes();
      }
      const DeviceSets given{static_cast<uint32_t>(sets), static_cast<uint32_t>(width), cardinality.data(),
                             stash_begin.data(), stash};
      job->has_sets = true;
      job->plane_bytes = plane_bytes;
      reply.status = api_->add_sets(pairs, &given, &reply.why);
      return;
    }
    case Op::kAddPlanes: {
      const uint64_t offset = request.args[0];
      const uint64_t bytes = request.bytes;
      require(request.has_file == 0 && job->has_sets && !job->is_built, "planes");
      require(offset <= job->plane_bytes && bytes <= job->plane_bytes - offset, "planes outside of the sets");
      note_bytes(channel, about.devices[0], bytes);
      const PlanePiece piece{reinterpret_cast<const unsigned char*>(channel.area()), bytes};
      reply.status = api_->add_planes(pairs, offset, &piece, 1, &reply.why);
      const std::lock_guard lock(job->sent_mutex);
      if (reply.status == AcceleratorStatus::kOk) job->planes.add(offset, bytes);
      return;
    }
    case Op::kBuild: {
      require(!job->is_built && job->has_sets == is_of_sets && job->planes.has(0, job->plane_bytes), "nothing to build");
      const uint64_t bytes = uint64_t{about.items} * sizeof(uint32_t);
      auto* const supports = reinterpret_cast<uint32_t*>(channel.answer(bytes));
      if (supports == nullptr) throw std::bad_alloc();
      reply.status = api_->build(pairs, supports, &reply.why);
      job->is_built = reply.status == AcceleratorStatus::kOk;
      reply.bytes = bytes;
      return;
    }
    case Op::kCountRows: {
      const auto [first, last, threshold] = std::array{request.args[0], request.args[1], request.args[2]};
      require(job->is_built && first % 128 == 0 && first <= last && last <= about.leading &&
                  (last % 128 == 0 || last == about.leading) && threshold <= UINT32_MAX,
              "a range of rows");
      Answers<DevicePair> found{channel};
      const DevicePairSink sink{Answers<DevicePair>::room, &found};
      reply.status = api_->count_rows(pairs, static_cast<uint32_t>(first), static_cast<uint32_t>(last),
                                      static_cast<uint32_t>(threshold), &sink, &reply.why);
      reply.bytes = found.size * sizeof(DevicePair);
      return;
    }
    case Op::kCountList: {
      const uint64_t size = request.args[0];
      require(job->is_built && about.method != DeviceMethod::kHorizontal && api_->count_list != nullptr,
              "no list is counted");
      const auto* const a = arrays.next<uint32_t>(size);
      const auto* const b = arrays.next<uint32_t>(size);
      for (uint64_t i = 0; i < size; ++i) require(a[i] < about.items && b[i] < about.items, "a pair is outside of the job");
      if (request.has_file == 0) note_bytes(channel, about.devices[0], request.bytes);
      auto* const counts = reinterpret_cast<uint32_t*>(channel.answer(size * sizeof(uint32_t)));
      if (counts == nullptr) throw std::bad_alloc();
      reply.status = api_->count_list(pairs, a, b, size, counts, &reply.why);
      reply.bytes = size * sizeof(uint32_t);
      return;
    }
    default: throw BadRequest{"no such operation"};
  }
}

void Host::call_episodes(Channel& channel, const Request& request, Arrays arrays, Reply& reply) {
  const DeviceEpisodeApi& api = *api_->episodes;
  if (request.op == Op::kOpenEpisodes) {
    const uint64_t axes = request.args[0];
    require_device(static_cast<int64_t>(request.args[2]));
    const auto* const words = arrays.next<std::array<int64_t, 4>>(axes);
    std::vector<DeviceEventAxis> given;
    std::vector<Axis> kept;
    for (uint64_t k = 0; k < axes; ++k) {
      const auto [events, symbols, last_time, reach] = words[k];
      require(events >= 0 && events <= int64_t{UINT32_MAX} && symbols >= 0 && symbols < int64_t{UINT32_MAX} &&
                  last_time >= 0 && reach >= 0,
              "an axis");
      const auto* const begin = arrays.next<uint32_t>(static_cast<uint64_t>(symbols) + 1);
      // Copied first: what is checked must not change any more.
      kept.push_back({static_cast<uint64_t>(events),
                      static_cast<uint32_t>(symbols),
                      last_time,
                      std::vector<uint32_t>(begin, begin + symbols + 1),
                      {},
                      {},
                      {}});
      const std::vector<uint32_t>& copy = kept.back().begin;
      require(copy.front() == 0 && copy.back() == events && std::is_sorted(copy.begin(), copy.end()), "lists of an axis");
      given.push_back({static_cast<uint64_t>(events), static_cast<uint32_t>(symbols), nullptr, last_time, reach});
    }
    for (uint64_t k = 0; k < axes; ++k) given[k].begin = kept[k].begin.data();
    DeviceEpisodeJob about{};
    about.axes = given.data();
    about.axis_count = axes;
    about.has_order = request.args[1] != 0 ? 1 : 0;
    about.device = static_cast<int32_t>(request.args[2]);
    about.memory_limit = request.args[3];
    about.stop = Job::stop;
    open(channel, JobKind::kEpisodes, reply, [&](Job& job) {
      about.stop_arg = &job;
      job.axes = std::move(kept);
      job.has_order = about.has_order != 0;
      DeviceEpisodes* episodes = nullptr;
      const AcceleratorStatus status = api.open(&about, &episodes, &reply.why);
      job.handle = episodes;
      return status;
    });
    return;
  }
  if (request.op == Op::kCloseEpisodes) return close(channel, request.job, JobKind::kEpisodes);
  const std::shared_ptr<Job> job = job_of(channel, request.job, JobKind::kEpisodes);
  const bool is_sending = request.op == Op::kSendEvents;
  std::optional<Running> running;
  if (request.op != Op::kKernelMs) {
    running.emplace(*this, channel, job, true);
    if (!running->has_turn()) {
      reply.status = AcceleratorStatus::kCancelled;
      return;
    }
  }
  std::shared_lock shared(job->mutex, std::defer_lock);
  std::unique_lock alone(job->mutex, std::defer_lock);
  if (is_sending)
    shared.lock();
  else
    alone.lock();
  require(job->handle != nullptr, "the job is closed");
  auto* const episodes = static_cast<DeviceEpisodes*>(job->handle);
  if (request.op == Op::kKernelMs) {
    const double ms = api.kernel_ms == nullptr ? 0 : api.kernel_ms(episodes);
    std::memcpy(reply.values, &ms, sizeof ms);
    return;
  }
  if (is_sending) {
    const auto [number, array, first, size] = std::array{request.args[0], request.args[1], request.args[2], request.args[3]};
    require(number < job->axes.size(), "no such axis");
    Axis& axis = job->axes[number];
    require(first <= axis.events && size <= axis.events - first, "events outside of the axis");
    const auto kind = static_cast<DeviceEventArray>(array);
    const void* values = nullptr;
    SentParts* sent = nullptr;
    if (array == static_cast<uint64_t>(DeviceEventArray::kSymbols)) {
      const auto* const symbols = arrays.next<uint32_t>(size);
      require(std::all_of(symbols, symbols + size, [&](uint32_t symbol) { return symbol < axis.symbol_count; }), "a symbol");
      values = symbols;
      sent = &axis.symbols;
    } else {
      require(array <= static_cast<uint64_t>(DeviceEventArray::kTimes), "no such array");
      const auto* const times = arrays.next<int64_t>(size);
      require(std::all_of(times, times + size, [&](int64_t time) { return time >= 0 && time <= axis.last_time; }), "a time");
      values = times;
      sent = kind == DeviceEventArray::kTimes ? &axis.times : &axis.lists;
    }
    require(kind == DeviceEventArray::kListTimes || job->has_order, "the order was not announced");
    reply.status = api.send(episodes, number, kind, first, values, size, &reply.why);
    const std::lock_guard lock(job->sent_mutex);
    if (reply.status == AcceleratorStatus::kOk) sent->add(first, size);
    return;
  }
  require(request.op == Op::kCountEpisodes, "no such operation");
  const auto [length, size, method] = std::array{request.args[0], request.args[1], request.args[2]};
  require(length > 0 && length < UINT32_MAX && size < UINT32_MAX &&
              method <= static_cast<uint64_t>(DeviceEpisodeMethod::kMapConcat),
          "a batch");
  const auto* const symbols = arrays.next<uint32_t>(size * length);
  const auto* const gaps = arrays.next<DeviceGap>(size * (length - 1));
  // The module reads them again and again: what is checked must not change any more.
  const std::vector<uint32_t> own_symbols(symbols, symbols + size * length);
  const std::vector<DeviceGap> own_gaps(gaps, gaps + size * (length - 1));
  for (const Axis& axis : job->axes) {
    for (const uint32_t symbol : own_symbols)
      require(symbol < axis.symbol_count && axis.lists.has(axis.begin[symbol], axis.begin[symbol + 1]),
              "a list was not sent");
    require(!job->has_order || (axis.times.has(0, axis.events) && axis.symbols.has(0, axis.events)),
            "the order was not sent");
  }
  for (const DeviceGap& gap : own_gaps) require(gap.low >= 0 && gap.low <= gap.high, "a gap");
  auto* const counts = reinterpret_cast<uint64_t*>(channel.answer(size * sizeof(uint64_t)));
  if (counts == nullptr) throw std::bad_alloc();
  std::fill_n(counts, size, 0);
  const DeviceEpisodeBatch batch{own_symbols.data(), own_gaps.data(), length, size,
                                 static_cast<DeviceEpisodeMethod>(method)};
  reply.status = api.count(episodes, &batch, counts, &reply.why);
  reply.bytes = size * sizeof(uint64_t);
}

void Host::call_itemsets(Channel& channel, const Request& request, Arrays arrays, Reply& reply) {
  const DeviceItemsetApi& api = *api_->itemsets;
  if (request.op == Op::kOpenItemsets) {
    const auto [items, words, planes] = std::array{request.args[0], request.args[1], request.args[2]};
    require_device(static_cast<int64_t>(request.args[4]));
    require(items > 0 && items <= kMaxItems && words % 8 == 0 && words > 0 && words <= UINT32_MAX && planes <= 32, "items");
    const auto* const given_planes = arrays.next<DevicePlane>(planes);
    const std::vector<DevicePlane> own_planes(given_planes, given_planes + planes);
    for (const DevicePlane& plane : own_planes)
      require(plane.first <= words && plane.words <= words - plane.first && plane.shift < 32, "a plane");
    DeviceItemsetJob about{};
    about.items = static_cast<uint32_t>(items);
    about.words = words;
    about.rows = arrays.next<uint64_t>(items * words);
    about.planes = own_planes.data();
    about.plane_count = static_cast<uint32_t>(planes);
    about.has_bitmaps = request.args[3] != 0 ? 1 : 0;
    about.device = static_cast<int32_t>(request.args[4]);
    about.memory_limit = request.args[5];
    about.stop = Job::stop;
    open(channel, JobKind::kItemsets, reply, [&](Job& job) {
      about.stop_arg = &job;
      job.levels.push_back(items);
      DeviceItemsets* itemsets = nullptr;
      const AcceleratorStatus status = api.open(&about, &itemsets, &reply.why);
      job.handle = itemsets;
      return status;
    });
    return;
  }
  if (request.op == Op::kCloseItemsets) return close(channel, request.job, JobKind::kItemsets);
  const std::shared_ptr<Job> job = job_of(channel, request.job, JobKind::kItemsets);
  const bool is_work = request.op == Op::kExtend || request.op == Op::kCountJoined || request.op == Op::kPush;
  const Running running(*this, channel, job, is_work);
  if (is_work && !running.has_turn()) {
    reply.status = AcceleratorStatus::kCancelled;
    return;
  }
  const std::unique_lock alone(job->mutex);
  require(job->handle != nullptr && !job->levels.empty(), "the job is closed");
  auto* const itemsets = static_cast<DeviceItemsets*>(job->handle);
  const uint64_t top = job->levels.back();
  switch (request.op) {
    case Op::kExtend: {
      const DeviceExtension step = *arrays.next<DeviceExtension>(1);
      require(step.first <= step.last && step.last <= top, "a range of parents");
      Answers<JoinedItemset> found{channel};
      const DeviceItemsetSink sink{Answers<JoinedItemset>::room, &found};
      uint64_t candidates = 0;
      reply.status = api.extend(itemsets, &step, &sink, &candidates, &reply.why);
      reply.values[0] = candidates;
      reply.bytes = found.size * sizeof(JoinedItemset);
      if (reply.status != AcceleratorStatus::kOk || step.push == 0) return;
      const auto folded = std::count_if(found.data, found.data + found.size,
                                        [&](const JoinedItemset& itemset) { return itemset.support == step.fold_support; });
      job->levels.push_back(found.size - static_cast<uint64_t>(folded));
      return;
    }
    case Op::kCountJoined:
    case Op::kPush: {
      const uint64_t size = request.args[0];
      const auto* const given = arrays.next<JoinedItemset>(size);
      std::vector<JoinedItemset> joined(given, given + size);
      for (uint64_t i = 0; i < size; ++i) {
        require(joined[i].parent < joined[i].other && joined[i].other < top, "an itemset outside of the level");
        require(i == 0 || request.op != Op::kPush || joined[i].parent >= joined[i - 1].parent, "itemsets out of order");
      }
      if (request.op == Op::kPush) {
        reply.status = api.push(itemsets, joined.data(), size, &reply.why);
        if (reply.status == AcceleratorStatus::kOk) job->levels.push_back(size);
        return;
      }
      auto* const supports = reinterpret_cast<uint32_t*>(channel.answer(size * sizeof(uint32_t)));
      if (supports == nullptr) throw std::bad_alloc();
      reply.status = api.count(itemsets, joined.data(), size, &reply.why);
      for (uint64_t i = 0; i < size; ++i) supports[i] = joined[i].support;
      reply.bytes = size * sizeof(uint32_t);
      return;
    }
    case Op::kPop:
      require(job->levels.size() > 1, "no level is left");
      job->levels.pop_back();
      return api.pop(itemsets);
    case Op::kDropLower:
      for (size_t k = 0; k + 1 < job->levels.size(); ++k) job->levels[k] = 0;
      return api.drop_lower(itemsets);
    case Op::kRoom: reply.values[0] = api.room(itemsets); return;
    case Op::kItemsetTimes: {
      DeviceItemsetTimes times{};
      api.times(itemsets, &times);
      std::memcpy(channel.answer(sizeof times), &times, sizeof times);
      reply.bytes = sizeof times;
      return;
    }
    default: throw BadRequest{"no such operation"};
  }
}

}  // namespace

uint64_t mark_of(const std::string& path) {
  uint64_t mark = 0xcbf29ce484222325;
  for (const char c : path) mark = (mark ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mark;
}

void run_host(HostOptions options) { (new Host(std::move(options)))->run(); }

}  // namespace batmap::process
