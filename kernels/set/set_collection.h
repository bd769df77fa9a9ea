// Many stored sets in memory, to be counted against each other. The bytes of each set are copied once and
// aligned so that planes, words and array elements start on a cache line. Memory, charged to the meter: for
// each set its bytes, less than 128 bytes of padding, and an entry of 56. Source: ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"
#include "set/set_view.h"

namespace batmap {

class SetCollection {
 public:
  explicit SetCollection(MemoryMeter& meter) : meter_(&meter), sets_(meter) {}

  /// Copies the value. @throws Error{kInvalidData} if its header is not consistent; Error{kMemoryLimit}
  void add(int64_t id, std::span<const std::byte> value);

  /// Replaces the compact ones of these sets by prepared ones, with all threads. @param which  positions, each once
  /// @param width  all elements of the compact sets are below 2^width
  /// @throws Error{kMemoryLimit, kCancelled, kTooLarge}
  void prepare(std::span<const uint32_t> which, int width, const ExecutionOptions& options);

  /// Replaces every id by new_id[id]. @param new_id  for all ids, which count from 0
  void rename(std::span<const uint32_t> new_id) {
    for (size_t i = 0; i < sets_.size(); ++i) sets_[i].id = new_id[static_cast<size_t>(sets_[i].id)];
  }

  size_t size() const { return sets_.size(); }
  int64_t id(size_t i) const { return sets_[i].id; }
  const SetView& operator[](size_t i) const { return sets_[i].view; }

 private:
  struct Entry {
    int64_t id;
    SetView view;
  };

  MemoryMeter* meter_;
  GrowingBuffer<Entry> sets_;
  std::vector<Buffer<std::byte>> blocks_;
  size_t used_ = 0;  // bytes used of the last block
};

}  // namespace batmap
