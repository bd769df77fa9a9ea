// Pinned host memory on its way to a device. Pinning takes longer than filling, so the process keeps its blocks for the next
// job. Errors are DeviceError.
#pragma once

#include <array>
#include <cstddef>

#include "cuda/device_memory.h"

namespace batmap::cuda {

/// A megabyte: one that was kept, or a new one; kept again at the end.
class PinnedBlock {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr size_t kMostKept = 32;

  PinnedBlock();
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  ~PinnedBlock();

  std::byte* data() { return static_cast<std::byte*>(data_); }

 private:
  void* data_;
};

/// Copies pieces of host memory to a device, where they lie one behind the other: put together in pinned blocks, of which
/// one is filled while others are on their way.
class StagedCopy {
 public:
  StagedCopy(void* to, const StopToken& stop) : to_(static_cast<std::byte*>(to)), stop_(stop) {}
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;
  ~StagedCopy() { cudaStreamSynchronize(stream_); }  // the blocks are read until then

  void add(const void* from, size_t bytes);
  /// Sends the rest and waits for it.
  void finish();

 private:
  void send();

  struct Stage {
    PinnedBlock block;
    Event sent;
  };

  std::byte* to_;
  StopToken stop_;
  Stream stream_;
  std::array<Stage, 4> stages_;
  size_t stage_ = 0;
  size_t used_ = 0;  // bytes of its block
};

}  // namespace batmap::cuda
