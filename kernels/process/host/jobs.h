// What the GPU process knows of each job, so that requests can be checked: sizes, what was sent, what is built. Source: ours.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "accel/accelerator.h"
#include "accel/device_episodes.h"
#include "accel/device_itemsets.h"

namespace batmap::process::host {

// Of a job.
inline constexpr uint64_t kMaxItems = uint64_t{1} << 31;
inline constexpr uint64_t kMaxPlaneBytes = uint64_t{1} << 46;

inline int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

/// What the module has of a level of itemsets.
struct ItemsetLevel {
  uint64_t size;
  bool is_extendable;  // it can be extended; one that was pushed cannot
  bool has_rows;       // its itemsets can be joined
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
  bool is_complete = false;  // it was to be built: nothing is taken in any more
  bool is_built = false;
  // Episodes
  std::vector<Axis> axes;
  bool has_order = false;
  // Itemsets
  std::vector<ItemsetLevel> levels;
};

}  // namespace batmap::process::host
