// Rows as keys of 64 bits, sorted, each once: the first step of the forms that group rows. Source: CUB.
#pragma once

#include <algorithm>
#include <utility>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "cuda/pair_form.h"

namespace batmap::cuda {

/// Calls a function of CUB for the size of its scratch memory, then with that memory.
template <typename Call>
void with_scratch(Lane& lane, Call call, const char* what) {
  size_t bytes = 0;
  check(call(nullptr, bytes), what);
  check(call(lane.scratch(std::max<size_t>(bytes, 1)), bytes), what);
}

/// Rows may come from a session that does not keep to what it announced. @throws DeviceError
inline void require_room(uint64_t capacity, uint64_t used, uint64_t rows) {
  if (rows > capacity - used) throw DeviceError{AcceleratorStatus::kDeclined, "more rows than were announced"};
}

/// Sorts the first `rows` keys by their lowest bits, and keeps each once. Waits for the lane.
/// @return how many these are
inline uint32_t sort_unique(DeviceArray<uint64_t>& keys, uint64_t rows, int bits, DeviceBudget& budget, Lane& lane) {
  const cudaStream_t stream = lane.stream;
  uint32_t size = 0;
  DeviceArray<uint64_t> other(budget, rows);
  DeviceArray<uint32_t> kept(budget, 1);
  cub::DoubleBuffer<uint64_t> buffers(keys.data(), other.data());
  const auto all = static_cast<int64_t>(rows);
  const auto sort = [&](void* temp, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(temp, bytes, buffers, all, 0, bits, stream);
  };
  with_scratch(lane, sort, "sorting rows");
  uint64_t* const sorted = buffers.Current();
  uint64_t* const unique = buffers.Alternate();
  const auto select = [&](void* temp, size_t& bytes) {
    return cub::DeviceSelect::Unique(temp, bytes, sorted, unique, kept.data(), all, stream);
  };
  with_scratch(lane, select, "dropping duplicates");
  check(cudaMemcpyAsync(&size, kept.data(), sizeof size, cudaMemcpyDeviceToHost, stream), "reading a count");
  lane.wait();
  if (unique != keys.data()) std::swap(keys, other);
  return size;
}

}  // namespace batmap::cuda
