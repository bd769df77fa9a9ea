// The lists of a stream on a device, and batches of episodes counted there: what accel/device_episodes.h calls a
// DeviceEpisodes. A batch becomes a trie of prefixes, whose frontiers are extended depth by depth (episode_steps.h). Where
// several episodes of a batch differ in the last symbol only, and the order of events is there, their prefix is walked
// instead (episode_walk.cu). Or each episode is counted for itself, by machines (episode_machines.h). Errors are
// DeviceError.
//
// Memory: the lists, 8 bytes an event, and 12 more for their order; two depths of frontiers, 16 bytes an entry, at
// most as many as the lists of the nodes have events, and for more than that a batch is cut into groups. Of machines:
// 8 bytes a word of their state, and for mapconcat 20 an event of the last lists.
#pragma once

#include <memory>
#include <vector>

#include "accel/device_episodes.h"
#include "cuda/device_memory.h"
#include "cuda/episode_machines.h"
#include "cuda/episode_steps.h"

namespace batmap {

struct DeviceEpisodes {
 public:
  explicit DeviceEpisodes(const DeviceEpisodeJob& job);
  DeviceEpisodes(const DeviceEpisodes&) = delete;
  DeviceEpisodes& operator=(const DeviceEpisodes&) = delete;
  ~DeviceEpisodes();

  void send(uint64_t axis, DeviceEventArray array, uint64_t first, const void* values, uint64_t size);
  void count(const DeviceEpisodeBatch& batch, uint64_t* counts);

  double kernel_ms() const { return kernel_ms_; }

 private:
  class Axis;
  class Queue;
  class Staging;
  class Tables;
  struct Group;
  struct GroupDepth;
  struct Placed;
  struct DepthOnDevice;

  size_t take_group(const Axis& axis, const DeviceEpisodeBatch& batch, size_t from, Group& group) const;
  void count_group(Axis& axis, const DeviceEpisodeBatch& batch, const Group& group, uint64_t* counts);
  cuda::Frontiers extend(const Axis& axis, const GroupDepth& depth, const DepthOnDevice& tables, const cuda::Frontiers& from,
                         size_t side, size_t most_entries, DeviceEpisodeMethod method);
  size_t count_by_machines(const Axis& axis, const DeviceEpisodeBatch& batch, size_t from, uint64_t* counts);
  unsigned char* send(const Tables& tables);
  std::vector<uint32_t> read(const uint32_t* found, size_t size);
  void wait();

  DeviceEpisodeJob job_;
  cuda::StopToken stop_;
  std::unique_ptr<Queue> queue_;
  cudaStream_t stream_;
  cuda::DeviceBudget budget_;
  size_t most_entries_ = 0;  // of the frontiers of a depth, unless one list alone has more
  size_t shared_bytes_ = 0;  // that a block may have
  size_t walk_symbols_ = 0;  // whose state fits into these
  double kernel_ms_ = 0;
  std::unique_ptr<Staging> staging_;
  std::vector<std::unique_ptr<Axis>> axes_;

  /// An array that grows and is kept for the next group.
  template <typename T>
  struct Room {
    cuda::DeviceArray<T> array;
    T* at_least(cuda::DeviceBudget& budget, size_t size) {
      if (array.size() < size) {
        array.reset();
        array = cuda::DeviceArray<T>(budget, size);
      }
      return array.data();
    }
  };
  struct Entries {
    Room<int64_t> ends;
    Room<int64_t> starts;
  };
  Entries entries_[2];
  Entries unsorted_;
  Room<unsigned char> tables_;
  Room<cuda::EntryRange> ranges_;
  Room<uint32_t> tile_begin_[2];
  Room<uint32_t> node_end_[2];
  Room<uint32_t> counts_;
  Room<int64_t> machines_;
  Room<cuda::MachinePath> segment_paths_;
  Room<cuda::MachinePath> end_paths_;
  Room<uint32_t> ranks_;
  Room<unsigned char> scratch_;
};

}  // namespace batmap
