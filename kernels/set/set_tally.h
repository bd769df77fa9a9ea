// In how many lists each set was, for a search (nearest_search.h). An id is the number of a page and a place on it, as that
// of a row.
//
// While few sets were found they are in a hash table. As soon as an array with a counter for each place of each page takes
// no more than eight times the memory of the next larger table, that is used: lists in the order of ids go through it from front
// to back, and once most sets were found it is 4 to 10 times smaller than the table.
//
// Memory: 2 bytes for each place of each page; for few sets 16 to 32 bytes for each. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"
#include "core/options.h"

namespace batmap {

class SetTally {
 public:
  /// Ids are below this.
  static constexpr uint64_t kIdBound = uint64_t{1} << 48;
  static constexpr int kPlaceBits = 16;  // the low bits of an id
  static constexpr uint32_t kMaxLists = 4096;
  static constexpr uint32_t kNoRoom = UINT32_MAX;

  /// @param max_bytes  of the table or the array
  SetTally(MemoryMeter& meter, size_t max_bytes);

  /// One more list has a set. @param lists  the number of lists that were read, with this one
  /// @return how many have it now; 0: nothing has changed, because the set was taken, or the list has it twice; kNoRoom.
  /// @throws Error{kMemoryLimit}, std::bad_alloc
  uint32_t add(uint64_t id, uint32_t lists) {
    if (array_.empty()) return add_to_table(id, lists);
    const uint64_t place = id & kPlaces;
    const uint64_t page = id >> kPlaceBits;
    if (page >= pages_ || place >= places_)
      if (!widen(page, place)) return kNoRoom;
    return count_up(array_[page * places_ + place], lists);
  }

  /// Takes sets that were in so many lists or more, the next ones of a pass over all: some thousands of an array, or all of a table.
  /// @param at     where the pass is; 0 to begin
  /// @param out    their ids are appended, in ascending order
  /// @param taken  [lists read + 1] how many were taken, by the number of their lists: is added to
  /// @return where the pass goes on, or 0: it has seen all. @throws Error{kMemoryLimit}, std::bad_alloc
  size_t take(uint32_t lists, size_t at, GrowingBuffer<uint64_t>& out, uint64_t* taken, const CancelToken& cancel);
  /// Nanoseconds of a whole pass.
  double take_ns() const;
  /// An upper bound of the number of pages that the sets are on.
  double pages() const { return array_.empty() ? static_cast<double>(in_table_) : static_cast<double>(pages_); }

 private:
  static constexpr uint64_t kPlaces = (uint64_t{1} << kPlaceBits) - 1;
  // A counter is lists << 1, or kTaken. An entry of the table is id << 16 | counter. 0: empty.
  static constexpr uint32_t kTaken = 1;
  static constexpr uint32_t kOneList = 2;
  static constexpr int kCounterBits = 16;
  static constexpr uint64_t kCounter = (uint64_t{1} << kCounterBits) - 1;

  template <typename Entry>
  static uint32_t count_up(Entry& entry, uint32_t lists) {
    const auto counter = static_cast<uint32_t>(entry & kCounter);
    if ((counter & kTaken) != 0 || counter / kOneList >= lists) return 0;
    entry = static_cast<Entry>(entry + kOneList);
    return counter / kOneList + 1;
  }

  uint64_t* slot_of(uint64_t id);
  uint32_t add_to_table(uint64_t id, uint32_t lists);
  bool grow_table();
  bool widen(uint64_t page, uint64_t place);

  MemoryMeter* meter_;
  size_t max_bytes_;
  Buffer<uint64_t> table_;  // open addressing, at most half full
  size_t in_table_ = 0;
  Buffer<uint16_t> array_;  // [pages_][places_] counters; or empty
  uint64_t pages_ = 0;
  uint64_t places_ = 0;
};

}  // namespace batmap
