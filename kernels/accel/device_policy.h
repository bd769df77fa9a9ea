// Whether a device counts a job, and by which method: a pure function of the job's sizes, the devices' rates
// and the time the CPU would take. The costs of a device beside counting are known well: the context if there
// is none yet, sending the rows, building the form. The size of the answer is not known, so a device has to
// be clearly faster to be chosen. Source: ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "accel/device_episodes.h"

namespace batmap {

/// Threads of the host that send rows, sets or lists at once: more do not make it faster.
inline constexpr int kMaxSenders = 8;

/// auto: where a device pays. cpu: never. cuda: if there is a device and the job fits, else the CPU. require:
/// as cuda, but an error instead of the CPU.
enum class DeviceMode { kAuto, kCpu, kCuda, kRequire };

/// @return nothing for an unknown name
std::optional<DeviceMode> parse_device_mode(const std::string& name);

/// What a policy decides about a job.
struct DeviceVerdict {
  bool is_chosen = false;
  std::string reason;
};

/// A job of pair support, with the sizes that the chooser of the CPU's methods uses (pairs/choose.h).
struct DeviceSizes {
  uint64_t items = 0;
  uint64_t leading = 0;
  uint64_t first_column = 0;
  uint64_t tid_slots = 0;
  uint64_t rows = 0;  // 0: there are no rows, only batmaps can be counted
  uint64_t pair_instances = 0;
  uint64_t memory_limit = 0;  // bytes on each device; 0: all it has
  int threads = 1;            // of the host
  double host_ms = 0;         // time of the host before it can send rows
  double prepare_ms = 0;      // time of the host before it can send batmaps
  uint64_t batmap_bytes = 0;  // bytes of the items if they are stored as batmaps of one width; 0: only rows can be counted
  double batmap_words = 0;    // words of their planes, 32 slots each, that are compared for all pairs
};

struct DeviceEstimate {
  double milliseconds = 0;  // all devices together, contexts included
  uint64_t bytes = 0;       // on each device
  bool fits = false;
};

/// @param devices  at least one; the slowest one decides
DeviceEstimate estimate_on_devices(DeviceMethod method, const DeviceSizes& sizes, std::span<const DeviceTraits> devices);

struct DeviceChoice {
  std::optional<DeviceMethod> method;  // nothing: the CPU counts
  std::string reason;
};

/// @param cpu_ms  expected time of the CPU's best method, from the coded rows on
/// @param wanted  nothing: any method for which the job has a form
DeviceChoice choose_device(DeviceMode mode, const DeviceSizes& sizes, std::span<const DeviceTraits> devices, double cpu_ms,
                           std::optional<DeviceMethod> wanted);

/// A job of counting the pairs of a list, in one form. As transactions, all pairs are counted, and the list is looked up.
struct ListSizes {
  DeviceMethod method = DeviceMethod::kBatmap;
  uint64_t items = 0;  // or sets
  uint64_t pairs = 0;
  uint64_t rows = 0;          // that are sent; of batmaps none
  uint64_t form_bytes = 0;    // of the bit rows or batmaps on a device
  double read_bytes = 0;      // the same, of both sides of the pairs
  double prepare_ms = 0;      // time of the host before it can send
  uint64_t tid_slots = 0;     // of transactions
  double pair_instances = 0;  // the same
  double look_ups = 0;        // of lists: rows of the item of each pair that has fewer
  double left_ms = 0;         // time of the CPU for pairs that devices do not count
  uint64_t memory_limit = 0;
  int threads = 1;  // of the host
};

/// Does the list name so many of all pairs that a device counts these by tiles, and looks the list up?
bool pays_to_count_all(uint64_t items, uint64_t listed);

DeviceEstimate estimate_list_on_devices(const ListSizes& sizes, std::span<const DeviceTraits> devices);

/// @param ways    the job in each form that it can have; none: devices cannot do it
/// @param cpu_ms  expected time of the CPU
DeviceChoice choose_list_devices(DeviceMode mode, std::span<const ListSizes> ways, std::span<const DeviceTraits> devices,
                                 double cpu_ms);

/// If the CPU takes less than this, creating a context alone would take longer: under auto the driver is not loaded.
inline constexpr double kWorthLoadingMs = 100;
/// If the CPU takes less than this, no device is faster: under auto nobody looks for one that is awake in another process.
inline constexpr double kWorthFindingMs = 1;

/// A job of counting episodes.
struct EpisodeSizes {
  DeviceEpisodeMethod method = DeviceEpisodeMethod::kCountScanWrite;
  bool is_plain = true;  // non-overlapped occurrences of single events are counted, which is all that devices do
  uint64_t length = 0;
  uint64_t events = 0;       // events of the axes, which the device must have room for
  uint64_t sent_events = 0;  // events of the lists that have to be sent
  bool is_sent = false;      // the lists are on the device already
  uint64_t episodes = 0;
  uint64_t step_events = 0;     // events of the lists that all steps, or all automata, pass over
  uint64_t walked_entries = 0;  // entries of frontiers that are walked
  uint64_t walked_events = 0;   // events that these walks reach
  uint64_t memory_limit = 0;    // bytes on the device; 0: all it has
};

DeviceEstimate estimate_episodes_on_device(const EpisodeSizes& sizes, const DeviceTraits& device);

/// @param cpu_ms  expected time of the CPU
DeviceVerdict choose_episode_device(DeviceMode mode, const EpisodeSizes& sizes, const DeviceTraits& device, double cpu_ms);

}  // namespace batmap
