// A session with the GPU process: its channels, which are borrowed for calls, and its jobs. Rows of a job wait in a channel
// until there is a megabyte of them. Nobody waits for the reply to such rows, nor for the end of a job: it is received when
// the channel is needed again. Source: ours.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "process/client/gpu_client.h"
#include "process/gpu_channel.h"
#include "process/gpu_wire.h"

namespace batmap::process::client {

inline constexpr int kLookMs = 5;  // how often a waiting call looks around

/// How a call ended. Never leaves the functions of client_api().
struct CallFailure {
  AcceleratorStatus status;
  std::string text;
};

struct Link;

/// A job of the process. A channel may still have rows of a job that is being closed.
struct RemoteJob {
  std::shared_ptr<RemoteJob> self;  // until it is closed
  std::shared_ptr<Link> link;       // the same: a link's channels may still have the job
  uint64_t number = 0;
  uint32_t items = 0;   // of a job of pairs
  uint64_t rows = 0;    // the same: so many will be sent at most
  size_t channels = 0;  // that have its rows, or owe a reply to it; guarded by the link's mutex
  std::mutex mutex;     // guards the following
  bool is_closed = false;
  bool (*stop)(void*) = nullptr;
  void* stop_arg = nullptr;
  AcceleratorStatus failed = AcceleratorStatus::kOk;  // of rows that were sent later
  std::string why;

  bool is_over() {
    const std::lock_guard lock(mutex);
    return is_closed;
  }
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
  std::shared_ptr<RemoteJob> unanswered;  // its rows, or its end, were sent: the reply is still to come
  bool is_used = true;                    // since the session was without a job

  ChannelHeader& header() { return *reinterpret_cast<ChannelHeader*>(memory.data()); }
  std::byte* area() { return memory.data() + kHeaderBytes; }
  std::byte* answers() { return memory.data() + kHeaderBytes + kAreaBytes; }
  /// Could a call begin at once?
  bool is_free() const;
};

/// Thread-safe.
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
  std::unique_ptr<Channel> open_channel(Reply& reply);
  /// A channel for one call: one whose rows of the job wait, if `for_rows`; else a free one, or one that ends a job, or a new
  /// one, or the one that was given back before all others. @throws CallFailure
  std::unique_ptr<Channel> borrow(RemoteJob* job, bool for_rows);
  /// A channel that owes a reply to the job or has its rows: these first. Waits if all of them are borrowed.
  /// @return nullptr: no channel has any more, or the process has ended. @throws CallFailure if the job is to stop
  std::unique_ptr<Channel> borrow_with_rows(RemoteJob& job);
  void give_back(std::unique_ptr<Channel> channel);
  /// One more channel has rows of the job, or owes it a reply.
  void tie(RemoteJob& job);
  /// One channel less.
  void untie(RemoteJob& job);
  void begin_job();
  /// The session keeps the channels that its last jobs have used, as the next ones may need as many. It gives up the others:
  /// they have megabytes.
  void end_job();
  /// A channel is gone.
  void forget();

 private:
  std::unique_ptr<Channel> take(std::vector<std::unique_ptr<Channel>>::iterator at);
};

/// That of connect(). @throws CallFailure without one
std::shared_ptr<Link> current_link();

}  // namespace batmap::process::client
