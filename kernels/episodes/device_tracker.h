// Counting on a device (accel/device_episodes.h), and when a run uses one. A list is sent with the first batch
// that needs it, and stays on the device for the run. If a device does not finish a batch, the CPU counts that
// batch from its beginning, and the run asks no device again.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accel/device_episodes.h"
#include "accel/device_session.h"
#include "core/options.h"
#include "episodes/episode_counter.h"
#include "episodes/event_streams.h"

namespace batmap {

inline constexpr int kSendingThreads = 8;  // more hardly send faster: bench/episode_devices.cpp

/// The lists of all axes on a device. The axes are in memory.
class DeviceTracker {
 public:
  /// @param has_order         batches will have many episodes with the same prefix, so the order of events is sent, too
  /// @param streams, options  must outlive the object; all threads of the options send
  /// @throws DeviceFailure; std::bad_alloc
  DeviceTracker(const AcceleratorApi& api, int32_t device, uint64_t memory_limit, bool has_order,
                const EventStreams& streams, const ExecutionOptions& options);
  DeviceTracker(const DeviceTracker&) = delete;
  DeviceTracker& operator=(const DeviceTracker&) = delete;
  ~DeviceTracker() { api_.close(episodes_); }

  /// Sends what a batch needs and the device lacks: the lists of its symbols or, with has_order, all lists and the order.
  /// @throws DeviceFailure; Error, std::bad_alloc
  void send(const EpisodeBatch& batch);

  /// @param counts  [batch.size] added to, over all axes
  /// @throws DeviceFailure; Error, std::bad_alloc
  void count(DeviceEpisodeMethod method, const EpisodeBatch& batch, std::span<uint64_t> counts);
  double kernel_ms() const { return api_.kernel_ms(episodes_); }

 private:
  const DeviceEpisodeApi& api_;
  const EventStreams& streams_;
  const ExecutionOptions& options_;
  bool has_order_;
  std::vector<bool> is_there_;  // [symbol]
  size_t missing_;              // symbols whose list has not been sent
  DeviceEpisodes* episodes_ = nullptr;
};

/// The method of the same name on a device; by default, and for tracking, count_scan_write.
DeviceEpisodeMethod device_method(std::optional<EpisodeMethod> method);
EpisodeMethod method_of(DeviceEpisodeMethod method);

/// The device of one run.
class EpisodeDevice {
 public:
  /// @param method   empty: any
  /// @param streams  must outlive the object
  EpisodeDevice(DeviceUse use, std::optional<EpisodeMethod> method, const EventStreams& streams,
                const ExecutionOptions& options);

  /// Can a device be chosen at all?
  bool is_possible() const { return session_.is_possible(); }

  /// Lets a device count a job, if that is chosen.
  /// @param sizes  of the job; the method, the rule of counting and what depends on the device are filled in
  /// @param work  gets the method; may count several batches
  /// @param what  the job, in words for the reason
  /// @return whether the job was done; if not, the CPU has to do it
  /// @throws Error, std::bad_alloc
  bool attempt(EpisodeSizes sizes, double cpu_ms, const std::string& what,
               const std::function<void(DeviceTracker&, DeviceEpisodeMethod)>& work);

  const DeviceSession& session() const { return session_; }

 private:
  DeviceSession session_;  // of one device
  DeviceEpisodeMethod method_;
  const EventStreams& streams_;
  ExecutionOptions sending_;
  std::optional<DeviceTracker> tracker_;
};

}  // namespace batmap
