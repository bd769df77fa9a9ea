// In how many lists each set was, for a search (nearest_search.h). An id is the number of a page and a place on it, as that
// of a row.
//
// While few sets were found they are in a hash table. As soon as an array with a counter for each place of each page takes
// no more memory than the next larger table, that is used: it is 4 to 10 times smaller for a set that is there, and lists in
// the order of ids go through it from front to back.
//
// Memory: 16 to 32 bytes for each set that was found, or 2 bytes for each place. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/memory.h"
#include "core/options.h"

namespace batmap {

class SetTally {
 public:
  /// Ids are below this.
  static constexpr uint64_t kIdBound = uint64_t{1} << 48;
  static constexpr int kPlaceBits = 16;  // the low bits of an id
  static constexpr uint32_t kMaxLists = 4096;

  /// @param max_bytes  of the table or the array
  SetTally(MemoryMeter& meter, size_t max_bytes);

  /// One more list has a set. @param lists  the number of lists that were read, with this one
  /// @return how many have it now; 0: nothing has changed, because the set was taken, or the list has it twice; empty: there
  ///         is no room. @throws Error{kMemoryLimit}, std::bad_alloc
  std::optional<uint32_t> add(uint64_t id, uint32_t lists) {
    if (array_.empty()) return add_to_table(id, lists);
    const uint64_t place = id & kPlaces;
    const uint64_t page = id >> kPlaceBits;
    if (page >= pages_ || place >> shift_ != 0)
      if (!widen(page, place)) return std::nullopt;
    return count_up(array_[(page << shift_) + place], lists);
  }

  /// Takes the sets that were in so many lists. @param out  room for them; in ascending order @return how many they are
  size_t take(uint32_t lists, uint64_t* out, const CancelToken& cancel);
  /// Nanoseconds that take() needs to find them.
  double take_ns() const;

 private:
  static constexpr uint64_t kPlaces = (uint64_t{1} << kPlaceBits) - 1;
  // A counter is lists << 1 | whether the set was taken. An entry of the table is id << 16 | counter. 0: empty.
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
  std::optional<uint32_t> add_to_table(uint64_t id, uint32_t lists);
  bool grow_table();
  bool widen(uint64_t page, uint64_t place);

  MemoryMeter* meter_;
  size_t max_bytes_;
  Buffer<uint64_t> table_;  // open addressing, at most half full
  size_t in_table_ = 0;
  Buffer<uint16_t> array_;  // [pages_][1 << shift_] counters; or empty
  uint64_t pages_ = 0;
  int shift_ = 0;
};

}  // namespace batmap
