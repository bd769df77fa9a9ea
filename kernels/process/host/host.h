// The inside of the GPU process: sessions with their channels and jobs, the calls that run, and what is done for each request
// (pair_requests.cpp, episode_requests.cpp, itemset_requests.cpp). Source: ours.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "process/gpu_channel.h"
#include "process/gpu_wire.h"
#include "process/host/gpu_host.h"
#include "process/host/gpu_turns.h"
#include "process/host/jobs.h"
#include "process/host/request.h"

namespace batmap::process::host {

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
  bool is_settled = false;         // its memory is pinned, or cannot be
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
  void add_rows(Channel& channel, const Request& request, Job& job, Reply& reply);
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
    try {
      has_turn_ = host.turns_.enter(channel.session->place, stop);
    } catch (...) {
      forget();
      throw;
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (has_turn_) host_.turns_.leave(channel_.session->place);
    forget();
  }
  /// @return whether the call may be made; if not, it was cancelled
  bool has_turn() const { return has_turn_; }

 private:
  void forget() {
    std::shared_ptr<Job> job;  // is not destroyed under the lock
    const std::lock_guard lock(host_.watch_mutex_);
    host_.running_.erase(std::find(host_.running_.begin(), host_.running_.end(), &channel_));
    job = std::move(channel_.job);
  }

  Host& host_;
  Channel& channel_;
  Job* job_;
  bool has_turn_ = false;
};

}  // namespace batmap::process::host
