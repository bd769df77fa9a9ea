// A job that counts pairs on its devices: the DevicePairs of accelerator.h. It stages rows, and has a form and
// two lanes or more on each device, so that one lane counts while another copies back. Each thread that brings rows
// fills a staging buffer of its own; full buffers are sent by one thread at a time. Rows that lie in pinned memory of the
// caller are sent from there. Errors are DeviceError.
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
  void add_planes(uint64_t offset, const PlanePiece* pieces, size_t count);
  void build(uint32_t* supports);
  void count_rows(uint32_t first, uint32_t last, uint32_t threshold, const DevicePairSink& sink);
  void count_list(const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts);

  double build_ms() const { return build_ms_; }
  double count_ms() const;

 private:
  class Device;
  class CountingLane;

  /// A lane that no other thread uses, for the life of the object.
  class Borrowed;

  struct Staging;
  struct Slot;
  class Filling;

  void count_all(Device& device, const uint32_t* supports);
  Slot& claim_slot();
  void send(Slot& slot);
  void send_pinned(const uint32_t* tids, const uint32_t* items, size_t rows);
  void queue(const uint32_t* tids, const uint32_t* items, size_t rows, std::vector<cuda::Event>& sent);
  std::vector<cuda::Event> events() const;

  DevicePairJob job_;
  cuda::StopToken stop_;
  double build_ms_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex slots_mutex_;
  std::condition_variable slot_free_;
  size_t slot_count_ = 0;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> open_slots_;  // they have room, and no thread fills them now
  std::vector<Slot*> sent_slots_;  // on their way, the oldest first
  std::mutex sending_mutex_;
  mutable std::mutex lanes_mutex_;
  std::condition_variable lane_free_;
  std::vector<CountingLane*> free_lanes_;
  double count_ms_ = 0;
};

}  // namespace batmap
