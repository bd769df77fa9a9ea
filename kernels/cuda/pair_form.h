// A form: a relation or a collection of sets on a device, laid out for one method. device_job.cu makes one on
// each device of a job. All calls are made with that device current.
#pragma once

#include <algorithm>
#include <memory>

#include "cuda/device_memory.h"
#include "cuda/found_pairs.h"

namespace batmap::cuda {

/// Where one thread queues its work.
struct Lane {
  /// The first lane of a job on the current device. @param limit_bytes  of the job
  Lane(const StopToken& token, uint64_t limit_bytes) : stop(token), budget(limit_bytes, stream) {}
  /// Another one. @param of_job  the budget of the first
  Lane(const StopToken& token, DeviceBudget& of_job) : stop(token), budget(of_job, stream) {}

  /// Scratch memory of at least so many bytes for what is queued next. Its contents last until
  /// the stream has been waited for.
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
  DeviceBudget budget;  // of memory that is used in the stream

 private:
  DeviceArray<unsigned char> scratch_;
};

class PairForm {
 public:
  virtual ~PairForm() = default;

  /// Queues taking in rows. @param tids, items  [rows] on the device; in use until the stream has come so far
  virtual void add(const uint32_t* tids, const uint32_t* items, size_t rows, cudaStream_t stream);
  /// Takes in planes; see add_planes() of accelerator.h. Returns when they have arrived. Thread-safe.
  virtual void add_planes(uint64_t offset, const PlanePiece* pieces, size_t count, Lane& lane);
  /// Completes the form, after the last row or plane. @param supports  [items] on the host, overwritten
  virtual void build(uint32_t* supports, Lane& lane) = 0;
  /// Counts the wanted pairs of some rows, in pieces of some ten milliseconds, with a look at the stop token after each.
  virtual void count(const WantedOnDevice& wanted, const FoundPairs& found, Lane& lane) = 0;
  /// How many given pairs take no more than some ten milliseconds.
  virtual size_t pairs_at_once() const { return kMostPairs; }
  /// Queues the counting of given pairs. @param a, b, counts  [size] on the device
  /// @param has_runs  whether pairs with the same b follow each other
  virtual void count_list(const uint32_t* a, const uint32_t* b, size_t size, bool has_runs, uint32_t* counts,
                          cudaStream_t stream) = 0;

 protected:
  static constexpr size_t kMostPairs = size_t{1} << 20;
  static constexpr size_t kFewestPairs = 128;

  /// How many pairs read what a device reads in some ten milliseconds. @param bytes  of one pair
  static size_t pairs_that_read(uint64_t bytes) {
    constexpr uint64_t kBytesAtOnce = uint64_t{1} << 35;
    return std::clamp<uint64_t>(kBytesAtOnce / std::max<uint64_t>(bytes, 1), kFewestPairs, kMostPairs);
  }
};

inline void PairForm::add(const uint32_t*, const uint32_t*, size_t, cudaStream_t) {
  throw DeviceError{AcceleratorStatus::kDeclined, "this method takes no rows"};
}
inline void PairForm::add_planes(uint64_t, const PlanePiece*, size_t, Lane&) {
  throw DeviceError{AcceleratorStatus::kDeclined, "this method takes no planes"};
}

// The lane of each is that in which rows or sets are sent and the form is built; it lives longer.

/// Bit rows, counted by tiles. @param bit_kernel  name of a kernel of bit_tiles.h; null: the fastest
std::unique_ptr<PairForm> make_bit_form(const DevicePairJob& job, int major, int minor, const char* bit_kernel, Lane& lane);
/// Transactions, counted item by item.
std::unique_ptr<PairForm> make_horizontal_form(const DevicePairJob& job, Lane& lane);
/// Lists of tids, for given pairs.
std::unique_ptr<PairForm> make_list_form(const DevicePairJob& job, Lane& lane);
/// Batmaps, counted by tiles. The planes are still to come.
std::unique_ptr<PairForm> make_batmap_form(const DevicePairJob& job, const DeviceSets& sets, Lane& lane);

}  // namespace batmap::cuda
