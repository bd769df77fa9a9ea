// Whether a device is to count a job, and how: a pure function of the job's sizes, the devices' rates and what the CPU would
// take. What a device costs beside counting is known well (the context, if there is none yet; sending the rows; building the
// form), what comes back is not known before, so a device has to be clearly faster to be chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "accel/device_episodes.h"

namespace batmap {

/// auto: where it pays. cpu: never. cuda: where there is one and the job fits, else the CPU. require: or an error.
enum class DeviceMode { kAuto, kCpu, kCuda, kRequire };

/// @return none: an unknown name
std::optional<DeviceMode> parse_device_mode(const std::string& name);

/// A job of pair support, as the chooser of the CPU's methods sees it (pairs/choose.h).
struct DeviceSizes {
  uint64_t items = 0;
  uint64_t leading = 0;
  uint64_t first_column = 0;
  uint64_t tid_slots = 0;
  uint64_t rows = 0;  // 0: they are not to be had, and only batmaps are counted
  uint64_t pair_instances = 0;
  uint64_t memory_limit = 0;  // bytes on each device; 0: what there is
  int threads = 1;            // of the host, that send rows
  double host_ms = 0;         // before there are rows to send
  uint64_t batmap_bytes = 0;  // where the items are stored as batmaps of one width; else 0, and only rows are counted
  double batmap_words = 0;    // of their planes, 32 slots each, that are compared for all pairs
};

struct DeviceEstimate {
  double milliseconds = 0;  // all devices together, contexts included
  uint64_t bytes = 0;       // on each
  bool fits = false;
};

/// @param devices  at least one; the slowest sets the pace
DeviceEstimate estimate_on_devices(DeviceMethod method, const DeviceSizes& sizes, std::span<const DeviceTraits> devices);

struct DeviceChoice {
  std::optional<DeviceMethod> method;  // none: the CPU
  std::string reason;
};

/// @param cpu_ms  what the best method of the CPU is expected to take, from the coded rows on
/// @param wanted  none: any for which the job has a form
DeviceChoice choose_device(DeviceMode mode, const DeviceSizes& sizes, std::span<const DeviceTraits> devices, double cpu_ms,
                           std::optional<DeviceMethod> wanted);

/// Where the CPU takes less, a context alone would take longer: under auto the driver is left alone.
inline constexpr double kWorthLoadingMs = 100;

/// A job of counting episodes.
struct EpisodeSizes {
  DeviceEpisodeMethod method = DeviceEpisodeMethod::kCountScanWrite;
  uint64_t length = 0;
  uint64_t events = 0;       // that the device has room for
  uint64_t sent_events = 0;  // of the lists that have to go there
  bool is_sent = false;      // they are there
  uint64_t episodes = 0;
  uint64_t step_events = 0;     // of the lists that all steps, or all machines, go over
  uint64_t walked_entries = 0;  // of frontiers that are walked
  uint64_t walked_events = 0;   // that these reach
  uint64_t memory_limit = 0;    // bytes on the device; 0: what there is
};

DeviceEstimate estimate_episodes_on_device(const EpisodeSizes& sizes, const DeviceTraits& device);

struct EpisodeDeviceChoice {
  bool is_chosen = false;
  std::string reason;
};

/// @param cpu_ms  what the CPU is expected to take
EpisodeDeviceChoice choose_episode_device(DeviceMode mode, const EpisodeSizes& sizes, const DeviceTraits& device,
                                          double cpu_ms);

}  // namespace batmap
