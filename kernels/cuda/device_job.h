// One job on its devices: staging of rows, a form on each device, and two lanes a device, so that one counts while the other
// copies back. Threads that bring rows each fill a staging buffer of their own; only sending a full one is done by one at a
// time. What the C functions of accelerator.h call a DevicePairs. Errors are DeviceError.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/pair_form.h"

namespace batmap {

struct DevicePairs {
 public:
  /// @param bit_kernel  see make_bit_form
  explicit DevicePairs(const DevicePairJob& job, const char* bit_kernel = nullptr);
  DevicePairs(const DevicePairs&) = delete;
  DevicePairs& operator=(const DevicePairs&) = delete;
  ~DevicePairs();

  void add_rows(const uint32_t* tids, const uint32_t* items, size_t rows);
  void add_sets(const DeviceSets& sets);
  void build(uint32_t* supports);
  void count_rows(uint32_t first, uint32_t last, uint32_t threshold, const DevicePairSink& sink);
  void count_list(const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts);

  double build_ms() const { return build_ms_; }
  double count_ms() const;

 private:
  class Device;
  class CountingLane;

  /// A lane that nobody uses, for the life of the object.
  class Borrowed;

  struct Staging;
  struct Slot;
  class Filling;

  Slot& claim_slot();
  void send(Slot& slot);

  DevicePairJob job_;
  cuda::StopToken stop_;
  double build_ms_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex slots_mutex_;
  std::condition_variable slot_free_;
  size_t slot_count_ = 0;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> open_slots_;  // nobody fills them now, and there is room
  std::vector<Slot*> sent_slots_;  // on their way, the first sent first
  std::mutex sending_mutex_;
  mutable std::mutex lanes_mutex_;
  std::condition_variable lane_free_;
  std::vector<CountingLane*> free_lanes_;
  double count_ms_ = 0;
};

}  // namespace batmap
