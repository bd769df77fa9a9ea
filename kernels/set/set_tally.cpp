// The table, and the array in its place. See set_tally.h.
#include "set/set_tally.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/polled.h"

namespace batmap {

namespace {

constexpr size_t kFirstSlots = 1 << 10;
/// The array may take so many times the memory of the next larger table, because it is faster (bench/sql/likeness.sh).
constexpr size_t kArrayFactor = 8;
constexpr size_t kCountersAtOnce = 64;  // that take() compares in vector instructions
constexpr size_t kTakenAtOnce = 1 << 12;
constexpr size_t kPollEntries = 1 << 14;
static_assert(kPollEntries % kCountersAtOnce == 0);
// Nanoseconds of take() for an entry (bench/sql/likeness.sh).
constexpr double kLookAtSlot = 1;
constexpr double kLookAtCounter = 0.15;

/// Neighbouring ids, the rows of one page, get neighbouring slots. Spreads the pages.
uint64_t spread(uint64_t id) {
  const uint64_t page = (id >> SetTally::kPlaceBits) * 0x9e3779b97f4a7c15;
  return (page >> 20) + (id & ((uint64_t{1} << SetTally::kPlaceBits) - 1));
}

}  // namespace

SetTally::SetTally(MemoryMeter& meter, size_t max_bytes)
    : meter_(&meter), max_bytes_(max_bytes), table_(meter, kFirstSlots, Fill::kZero) {}

uint64_t* SetTally::slot_of(uint64_t id) {
  const size_t mask = table_.size() - 1;
  size_t at = spread(id) & mask;
  while (table_[at] != 0 && table_[at] >> kCounterBits != id) at = (at + 1) & mask;
  return &table_[at];
}

uint32_t SetTally::add_to_table(uint64_t id, uint32_t lists) {
  uint64_t* slot = slot_of(id);
  if (*slot != 0) return count_up(*slot, lists);
  if (2 * (in_table_ + 1) > table_.size()) {
    if (!grow_table()) return kNoRoom;
    if (!array_.empty()) return add(id, lists);
    slot = slot_of(id);
  }
  ++in_table_;
  *slot = id << kCounterBits;
  return count_up(*slot, lists);
}

/// Makes a table twice as large, or the array. @return false: there is no room for either
bool SetTally::grow_table() {
  uint64_t pages = 0;
  uint64_t places = 0;
  for (const uint64_t entry : table_.span()) {
    pages = std::max(pages, (entry >> kCounterBits >> kPlaceBits) + 1);
    places = std::max(places, (entry >> kCounterBits & kPlaces) + 1);
  }
  const size_t bytes = 2 * table_.bytes();
  if (pages * places * sizeof(uint16_t) <= std::min(bytes * kArrayFactor, max_bytes_)) {
    if (!widen(pages - 1, places - 1)) return false;
    for (const uint64_t entry : table_.span()) {
      const uint64_t id = entry >> kCounterBits;
      if (entry != 0) array_[(id >> kPlaceBits) * places_ + (id & kPlaces)] = static_cast<uint16_t>(entry & kCounter);
    }
    table_.reset();
    return true;
  }
  if (bytes > max_bytes_) return false;
  Buffer<uint64_t> smaller(*meter_, bytes / sizeof(uint64_t), Fill::kZero);
  std::swap(table_, smaller);
  for (const uint64_t entry : smaller.span())
    if (entry != 0) *slot_of(entry >> kCounterBits) = entry;
  return true;
}

/// Makes an array that has this place of this page. @return false: there is no room for it
bool SetTally::widen(uint64_t page, uint64_t place) {
  const uint64_t pages = page < pages_ ? pages_ : std::max(page + 1, pages_ + pages_ / 2);
  const uint64_t places = place < places_ ? places_ : std::max(place + 1, places_ + places_ / 4);
  if (pages > max_bytes_ / sizeof(uint16_t) / places) return false;
  Buffer<uint16_t> wider(*meter_, pages * places, Fill::kZero);
  for (uint64_t k = 0; k < pages_; ++k) std::copy_n(array_.data() + k * places_, places_, wider.data() + k * places);
  array_ = std::move(wider);
  pages_ = pages;
  places_ = places;
  return true;
}

size_t SetTally::take(uint32_t lists, size_t at, GrowingBuffer<uint64_t>& out, uint64_t* taken, const CancelToken& cancel) {
  if (array_.empty()) {
    const size_t first = out.size();
    for (size_t k = 0; k < table_.size(); ++k) {
      if (k % kPollEntries == 0) cancel.throw_if_requested();
      const uint64_t own = (table_[k] & kCounter) / kOneList;
      if (own < lists) continue;
      out.push_back(table_[k] >> kCounterBits);
      table_[k] = (table_[k] & ~kCounter) | kTaken;
      ++taken[own];
    }
    std::sort(out.begin() + first, out.end(), polled(cancel, std::less<>()));
    return 0;
  }
  const auto least = static_cast<uint16_t>(lists * kOneList);
  uint64_t* const ids = out.room(kTakenAtOnce + kCountersAtOnce);
  size_t count = 0;
  for (; at < array_.size() && count < kTakenAtOnce; at += kCountersAtOnce) {
    if (at % kPollEntries == 0) cancel.throw_if_requested();
    uint16_t* const counters = array_.data() + at;
    const size_t size = std::min(kCountersAtOnce, array_.size() - at);
    uint16_t any = 0;
    if (size == kCountersAtOnce)
      for (size_t k = 0; k < kCountersAtOnce; ++k) any |= counters[k] >= least;
    else
      any = 1;
    if (any == 0) continue;
    for (size_t k = 0; k < size; ++k) {
      if (counters[k] < least) continue;
      ids[count++] = (at + k) / places_ << kPlaceBits | (at + k) % places_;
      ++taken[counters[k] / kOneList];
      counters[k] = kTaken;
    }
  }
  out.add(count);
  return at < array_.size() ? at : 0;
}

double SetTally::take_ns() const {
  return array_.empty() ? static_cast<double>(table_.size()) * kLookAtSlot
                        : static_cast<double>(array_.size()) * kLookAtCounter;
}

}  // namespace batmap
