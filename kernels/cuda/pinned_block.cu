// Kept blocks, copies through them, and pinned memory of the caller. See pinned_block.h.
#include "cuda/pinned_block.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace batmap::cuda {

namespace {

// Never freed: when the process ends, the driver may already be gone.
std::mutex kept_mutex;
void* kept[PinnedBlock::kMaxKept];
size_t kept_count = 0;

// Pinned memory of the caller: begin -> end. Never freed, like the blocks.
std::shared_mutex pinned_mutex;
auto& pinned = *new std::map<const std::byte*, const std::byte*>;

}  // namespace

PinnedBlock::PinnedBlock() {
  {
    const std::lock_guard lock(kept_mutex);
    if (kept_count > 0) {
      data_ = kept[--kept_count];
      return;
    }
  }
  check(cudaHostAlloc(&data_, kBytes, cudaHostAllocPortable), "allocating pinned memory");
}

PinnedBlock::~PinnedBlock() {
  {
    const std::lock_guard lock(kept_mutex);
    if (kept_count < kMaxKept) {
      kept[kept_count++] = data_;
      return;
    }
  }
  cudaFreeHost(data_);  // waits for all streams
}

void pin(int device, void* memory, size_t bytes) {
  use_device(device);
  check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "pinning memory");
  const std::unique_lock lock(pinned_mutex);
  const auto* const begin = static_cast<const std::byte*>(memory);
  pinned[begin] = begin + bytes;
}

void unpin(void* memory) {
  {
    const std::unique_lock lock(pinned_mutex);
    if (pinned.erase(static_cast<const std::byte*>(memory)) == 0) return;
  }
  cudaHostUnregister(memory);  // waits for all streams
}

bool is_pinned(const void* from, size_t bytes) {
  const std::shared_lock lock(pinned_mutex);
  const auto* const begin = static_cast<const std::byte*>(from);
  const auto behind = pinned.upper_bound(begin);
  return behind != pinned.begin() && std::prev(behind)->second >= begin + bytes;
}

StagedCopy::~StagedCopy() {
  for (const std::optional<Stage>& stage : stages_)
    if (stage) cudaEventSynchronize(stage->sent);
  cudaEventSynchronize(sent_);
}

void StagedCopy::add(const void* from, size_t bytes) {
  if (is_pinned(from, bytes)) {
    send();
    return copy(from, bytes, sent_);
  }
  for (const auto* at = static_cast<const std::byte*>(from); bytes > 0;) {
    std::optional<Stage>& stage = stages_[stage_];
    if (!stage)
      stage.emplace();
    else if (used_ == 0)
      stage->sent.wait();
    const size_t now = std::min(bytes, PinnedBlock::kBytes - used_);
    std::memcpy(stage->block.data() + used_, at, now);
    used_ += now;
    at += now;
    bytes -= now;
    if (used_ == PinnedBlock::kBytes) send();
  }
}

void StagedCopy::finish() {
  send();
  for (const std::optional<Stage>& stage : stages_)
    if (stage) stage->sent.wait();  // returns at once if nothing was sent from it
  sent_.wait();
}

/// Sends what the current block has.
void StagedCopy::send() {
  if (used_ == 0) return;
  Stage& stage = *stages_[stage_];
  copy(stage.block.data(), used_, stage.sent);
  used_ = 0;
  stage_ = (stage_ + 1) % stages_.size();
}

void StagedCopy::copy(const void* from, size_t bytes, Event& sent) {
  stop_.throw_if_requested();
  check(cudaMemcpyAsync(to_, from, bytes, cudaMemcpyHostToDevice, stream_), "copying to a device");
  sent.record(stream_);
  to_ += bytes;
}

}  // namespace batmap::cuda
