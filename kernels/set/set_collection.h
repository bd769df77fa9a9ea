// Many stored sets in memory, for counting against each other: the bytes of each once, aligned so that planes and words
// start on a cache line. Charged to the meter; 64 bytes and an id a set beside its own.
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

  /// Copies the value. @throws Error{kInvalidData} where its header disagrees with itself; Error{kMemoryLimit}
  void add(int64_t id, std::span<const std::byte> value);

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
  size_t used_ = 0;  // of the last block
};

}  // namespace batmap
