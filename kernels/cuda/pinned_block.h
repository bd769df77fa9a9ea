// Pinned host memory for copies to a device. To pin memory takes longer than to fill it, so the process keeps
// its blocks for later jobs. Errors are DeviceError.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "cuda/device_memory.h"

namespace batmap::cuda {

/// A megabyte: a block that was kept, or a new one. At the end of its life it is kept, up to kMaxKept blocks.
class PinnedBlock {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr size_t kMaxKept = 64;
  static constexpr size_t kMaxOfJob = 32;

  PinnedBlock();
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  ~PinnedBlock();

  std::byte* data() { return static_cast<std::byte*>(data_); }

 private:
  void* data_;
};

/// Pins memory of the caller, of whole pages, so that devices copy from it and to it directly.
/// @param device  made the current one: without one, the driver would wake the first
void pin(int device, void* memory, size_t bytes);
/// Nothing may be on its way there.
void unpin(void* memory);
/// Does it lie in such memory?
bool is_pinned(const void* from, size_t bytes);

/// Copies pieces of host memory to a device, one behind the other. Pieces in pinned memory of the caller go from there.
/// The others are collected in pinned blocks; one is filled while others are on their way.
class StagedCopy {
 public:
  StagedCopy(void* to, const StopToken& stop, cudaStream_t stream)
      : to_(static_cast<std::byte*>(to)), stop_(stop), stream_(stream) {}
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;
  /// The device reads the blocks and the pieces until then.
  ~StagedCopy();

  void add(const void* from, size_t bytes);
  /// Sends the rest and waits until all has arrived.
  void finish();

 private:
  void send();
  void copy(const void* from, size_t bytes, Event& sent);

  struct Stage {
    PinnedBlock block;
    Event sent;
  };

  std::byte* to_;
  StopToken stop_;
  cudaStream_t stream_;
  std::array<std::optional<Stage>, 4> stages_;  // those that were needed
  Event sent_;                                  // what lies in memory of the caller
  size_t stage_ = 0;
  size_t used_ = 0;  // bytes of the current block
};

}  // namespace batmap::cuda
