// Counting on a device (accel/device_episodes.h), and when a run uses one. A list goes there with the first batch that needs
// it, once one is worth it, and stays for the run. A batch that a device does not finish is counted by the CPU from its
// beginning, and the run asks no device again.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accel/device_episodes.h"
#include "accel/offload.h"
#include "core/options.h"
#include "episodes/episode_counter.h"
#include "episodes/event_stream.h"

namespace batmap {

inline constexpr int kSendingThreads = 8;  // more hardly send faster: bench/episode_devices.cpp

/// Room for all axes on a device.
class DeviceTracker {
 public:
  /// @param has_order         whether batches will have many episodes that begin alike
  /// @param streams, options  must outlive the object; all threads send
  /// @throws DeviceFailure; std::bad_alloc
  DeviceTracker(const AcceleratorApi& api, int32_t device, uint64_t memory_limit, bool has_order,
                const EventStreams& streams, const ExecutionOptions& options);
  DeviceTracker(const DeviceTracker&) = delete;
  DeviceTracker& operator=(const DeviceTracker&) = delete;
  ~DeviceTracker() { api_.close(episodes_); }

  /// What counting a batch needs and is not there yet: the lists of its symbols; with the order, it and all lists.
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
  size_t missing_;              // of these
  DeviceEpisodes* episodes_ = nullptr;
};

/// The method of the same name on a device; by default, and for tracking, count_scan_write.
DeviceEpisodeMethod device_method(std::optional<EpisodeMethod> method);
EpisodeMethod method_of(DeviceEpisodeMethod method);

/// The device of one run.
class EpisodeDevice {
 public:
  /// @param method            nothing: any
  /// @param streams  must outlive the object
  EpisodeDevice(DeviceUse use, std::optional<EpisodeMethod> method, const EventStreams& streams,
                const ExecutionOptions& options);

  /// Could a device be chosen at all?
  bool is_possible() const { return possible_; }

  /// Has a device count a job, if it is to. @param sizes  but for the method and what is known of the device
  /// @param work  gets the method; may count several batches
  /// @param what  the job, in words for the reason
  /// @return whether it was done; no: the CPU is to do it
  /// @throws Error, std::bad_alloc
  bool attempt(EpisodeSizes sizes, double cpu_ms, const std::string& what,
               const std::function<void(DeviceTracker&, DeviceEpisodeMethod)>& work);

  const std::string& device() const { return device_; }  // that has counted: "cuda:0 NAME"; "cpu" for none
  const std::string& notice() const { return notice_; }  // what the user should be told: a device failed
  const std::string& reason() const { return reason_; }  // the estimates of all jobs

 private:
  DeviceUse use_;
  DeviceEpisodeMethod method_;
  const EventStreams& streams_;
  ExecutionOptions sending_;
  bool possible_;
  std::optional<DeviceTracker> tracker_;
  std::string device_ = "cpu";
  std::string notice_;
  std::string reason_;
};

}  // namespace batmap
