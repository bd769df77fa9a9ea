// The lists of a stream on a device, and the batches of episodes that are counted there: the DeviceEpisodes of
// accel/device_episodes.h. A batch becomes a trie of prefixes, whose frontiers are extended depth by depth
// (episode_steps.h). Where several episodes of a batch differ only in the last symbol, and the device has the
// order of events, the frontier of their prefix is walked instead (episode_walk.cu). Machines count each
// episode by itself (episode_machines.h). Errors are DeviceError.
//
// Memory: 8 bytes an event for the lists, and 12 more for the order. Frontiers of two depths, 16 bytes an entry; a
// depth has at most as many entries as the lists of its nodes have events, and a batch that would have too many is cut
// into groups. For machines: 8 bytes a word of their state, and for mapconcat 20 for each event of the last lists.
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
  struct TableOffsets;
  struct DepthOnDevice;

  size_t take_group(const Axis& axis, const DeviceEpisodeBatch& batch, size_t from, Group& group) const;
  void count_group(Axis& axis, const DeviceEpisodeBatch& batch, const Group& group, uint64_t* counts);
  cuda::Frontiers extend(const Axis& axis, const GroupDepth& depth, const DepthOnDevice& tables, const cuda::Frontiers& from,
                         size_t side, size_t max_entries, DeviceEpisodeMethod method);
  size_t count_by_machines(const Axis& axis, const DeviceEpisodeBatch& batch, size_t from, uint64_t* counts);
  unsigned char* send(const Tables& tables);
  std::vector<uint32_t> read(const uint32_t* found, size_t size);
  void wait();

  DeviceEpisodeJob job_;
  cuda::StopToken stop_;
  std::unique_ptr<Queue> queue_;
  cudaStream_t stream_;
  cuda::DeviceBudget budget_;
  size_t max_entries_ = 0;   // of one depth, unless a single list has more
  size_t shared_bytes_ = 0;  // of shared memory that a block may have
  size_t walk_symbols_ = 0;  // symbols whose state fits into shared_bytes_
  double kernel_ms_ = 0;
  std::unique_ptr<Staging> staging_;
  std::vector<std::unique_ptr<Axis>> axes_;

  /// An array that grows and is kept for later groups.
  template <typename T>
  struct Room {
    cuda::DeviceArray<T> array;
    T* grown_to(cuda::DeviceBudget& budget, size_t size) {
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
