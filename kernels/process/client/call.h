// What the functions of all kinds of jobs are made of: a call, the arrays that it sends, and the jobs on the side of a
// session. Source: ours.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "process/client/link.h"

namespace batmap::process::client {

/// One call: a channel, a request, and a reply.
class Call {
 public:
  Call(const std::shared_ptr<Link>& link, Op op, RemoteJob* job, bool for_rows = false);
  Call(RemoteJob& job, Op op) : Call(job.link, op, &job) {}
  /// On a borrowed channel.
  Call(RemoteJob& job, Op op, std::unique_ptr<Channel> channel) : link_(job.link), job_(&job), channel_(std::move(channel)) {
    request_.op = op;
    request_.job = job.number;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  uint64_t* args() { return request_.args; }
  Channel& channel() { return *channel_; }
  /// Room for so many bytes of arrays. Call it once.
  std::byte* room(uint64_t bytes);

  /// Sends the request and waits. @throws CallFailure unless the status is kOk
  Reply& run(bool has_patience = true) {
    send(request_, request_.has_file != 0 ? file_.file() : -1);
    return receive(job_, has_patience);
  }
  /// The array of the answer. @throws CallFailure if it has another size
  template <typename T>
  std::span<const T> answer(std::optional<uint64_t> size = std::nullopt) {
    const std::byte* const data = reply_.has_file != 0 ? file_.data() : channel_->answers();
    if (reply_.bytes % sizeof(T) != 0 || (size && reply_.bytes != *size * sizeof(T))) lose();
    return {reinterpret_cast<const T*>(data), reply_.bytes / sizeof(T)};
  }

  /// Sends the request and does not wait: the reply is received when the channel is needed again. A failure is the job's, and
  /// is said by its next call.
  void leave(const std::shared_ptr<RemoteJob>& job) { leave(request_, job); }
  /// The same for the rows that wait in the channel, whose job may be another.
  void leave_rows();
  /// Takes the rows that wait in the channel along with the request. @return how many these are
  size_t take_rows();
  /// Receives the reply that was not waited for. Gives the channel up if the end of a job takes too long.
  void catch_up();

 private:
  void send(const Request& request, int file);
  void leave(const Request& request, const std::shared_ptr<RemoteJob>& job);
  /// @param job  whose stop ends the waiting; may be null
  Reply& receive(RemoteJob* job, bool has_patience);
  void untie(RemoteJob& job, const CallFailure* failure);
  void drop();
  [[noreturn]] void lose();

  std::shared_ptr<Link> link_;
  RemoteJob* job_;
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

/// @throws CallFailure if rows that were sent later have failed
void throw_if_failed(RemoteJob& job);

/// A job that the process is to open.
std::shared_ptr<RemoteJob> new_job(bool (*stop)(void*), void* stop_arg);

/// The process has opened it: from now on it lives until close().
template <typename Handle>
Handle* keep(const std::shared_ptr<RemoteJob>& job) {
  job->self = job;
  job->link->begin_job();
  return reinterpret_cast<Handle*>(job.get());
}

/// Ends a job. Rows that still wait are not sent, and nobody waits for the end. @param given  may be null
void close(RemoteJob* given, Op op) noexcept;

/// Hands an answer to a sink of the ABI.
template <typename T, typename Sink>
void hand_over(std::span<const T> found, const Sink& sink) {
  T* const room = sink.room(sink.arg, found.size());
  if (found.empty()) return;
  if (room == nullptr) throw CallFailure{AcceleratorStatus::kOutOfMemory, "no room for the answers"};
  std::memcpy(room, found.data(), found.size_bytes());
}

}  // namespace batmap::process::client
