// What can be counted on a device: a relation or a collection of sets in the form that one method walks. Made and used by
// device_job.cu, one on each device of a job. Calls are on the device of the form, with the device current.
#pragma once

#include <memory>

#include "cuda/device_memory.h"
#include "cuda/found_pairs.h"

namespace batmap::cuda {

/// Where one thread queues its work.
struct Lane {
  Lane(const StopToken& token, DeviceBudget& memory) : stop(token), budget(memory) {}

  /// At least so many bytes, for what is queued next; what they held is gone once the stream has been waited for.
  void* scratch(size_t bytes) {
    if (scratch_.size() < bytes) {
      scratch_.reset();
      scratch_ = DeviceArray<unsigned char>(budget, bytes);
    }
    return scratch_.data();
  }
  void wait() const { stop.wait(stream); }

  Stream stream;
  const StopToken& stop;
  DeviceBudget& budget;

 private:
  DeviceArray<unsigned char> scratch_;
};

class PairForm {
 public:
  virtual ~PairForm() = default;

  /// Queues taking in rows. @param tids, items  [rows] on the device, free when the stream has come so far
  virtual void add(const uint32_t* tids, const uint32_t* items, size_t rows, cudaStream_t stream) = 0;
  /// After the last row. @param supports  [items] host, overwritten
  virtual void build(uint32_t* supports, Lane& lane) = 0;
  /// Counts the wanted pairs of some rows, in pieces of some ten milliseconds: so soon it stops when asked to.
  virtual void count(const WantedOnDevice& wanted, const FoundPairs& found, Lane& lane) = 0;
  /// Queues counting pairs. @param a, b, counts  [size] on the device
  virtual void count_list(const uint32_t* a, const uint32_t* b, size_t size, uint32_t* counts, cudaStream_t stream) = 0;
};

/// Bit rows, counted by tiles. @param bit_kernel  name in bit_tiles.h; null: the fastest
std::unique_ptr<PairForm> make_bit_form(const DevicePairJob& job, int major, int minor, const char* bit_kernel,
                                        DeviceBudget& budget);
/// Transactions, walked item by item.
std::unique_ptr<PairForm> make_horizontal_form(const DevicePairJob& job, DeviceBudget& budget);
/// Batmaps, counted by tiles. The sets are copied.
std::unique_ptr<PairForm> make_batmap_form(const DevicePairJob& job, const DeviceSets& sets, DeviceBudget& budget);

}  // namespace batmap::cuda
