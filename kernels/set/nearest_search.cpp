// Counts in how many lists a set was, and decides what to do next. See nearest_search.h.
#include "set/nearest_search.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/polled.h"

namespace batmap {

namespace {

// Costs in nanoseconds, of a search over 400,000 sets (bench/sql/likeness.sh).
constexpr double kReadEntry = 15;    // an entry of a list
constexpr double kReadList = 5000;   // to start a list
constexpr double kCompareSet = 700;  // to fetch a row and to compare its set
constexpr double kCompareAny = 300;  // the same, for all rows one after the other
constexpr double kLookAtSlot = 1;    // to look for candidates in the table
constexpr double kAnySearch = 1e6;   // no search gives up before
constexpr size_t kFirstSlots = 1 << 10;
constexpr size_t kPollSlots = 1 << 14;

/// Heaps of the standard library have the last one in front.
bool is_farther(const NearSet& x, const NearSet& y) { return is_nearer(y, x); }

/// Neighbouring ids, the rows of one page, get neighbouring slots. Spreads the pages.
uint64_t spread(uint64_t id) {
  constexpr int kRowBits = 16;
  const uint64_t page = (id >> kRowBits) * 0x9e3779b97f4a7c15;
  return (page >> 20) + (id & ((uint64_t{1} << kRowBits) - 1));
}

}  // namespace

NearestSearch::NearestSearch(MemoryMeter& meter, std::span<const double> lengths, double all_sets, size_t max_bytes)
    : meter_(&meter),
      cost_left_(kAnySearch + all_sets * kCompareAny),
      max_bytes_(max_bytes),
      lengths_(meter, lengths.size()),
      waiting_(meter, lengths.size() + 1, Fill::kZero),
      table_(meter, kFirstSlots, Fill::kZero),
      candidates_(meter),
      near_(meter) {
  if (lengths.size() > kMaxLists)
    throw Error(ErrorCode::kTooLarge,
                "a query of " + std::to_string(lengths.size()) + " elements is too large to search for",
                "At most " + std::to_string(kMaxLists) + " elements are searched for.");
  std::ranges::copy(lengths, lengths_.begin());
}

uint64_t* NearestSearch::slot_of(uint64_t id) {
  const size_t mask = table_.size() - 1;
  size_t at = spread(id) & mask;
  while (table_[at] != 0 && table_[at] >> kIdShift != id) at = (at + 1) & mask;
  return &table_[at];
}

/// @return false: there is no room for a larger table
bool NearestSearch::grow() {
  const size_t slots = 2 * table_.size();
  if (slots * sizeof(uint64_t) > max_bytes_) return false;
  Buffer<uint64_t> old = std::exchange(table_, Buffer<uint64_t>(*meter_, slots, Fill::kZero));
  for (const uint64_t entry : old.span())
    if (entry != 0) *slot_of(entry >> kIdShift) = entry;
  return true;
}

void NearestSearch::found(uint64_t id) {
  assert(id < kIdBound && is_reading_);
  if (has_given_up_) return;
  uint64_t* slot = slot_of(id);
  if (*slot == 0) {
    if (2 * (found_ + 1) > table_.size()) {
      if (!grow()) {
        has_given_up_ = true;
        return;
      }
      slot = slot_of(id);
    }
    ++found_;
    *slot = id << kIdShift | kOneList;
    ++waiting_[1];
  } else if ((*slot & kTaken) == 0) {
    const uint64_t lists = lists_of(*slot);
    if (lists >= read_ + 1) return;  // an id that the list has twice
    --waiting_[lists];
    ++waiting_[lists + 1];
    *slot += kOneList;
  }
}

void NearestSearch::compared(const NearSet& set) {
  near_.push_back(set);
  std::push_heap(near_.begin(), near_.end(), is_farther);
}

double NearestSearch::bound() const {
  size_t most = read_ + (is_reading_ ? 1 : 0);
  const size_t left = lengths_.size() - read_;
  while (most > 0 && waiting_[most] == 0) --most;
  return lengths_.empty()
             ? 0
             : static_cast<double>(std::min(most + left, lengths_.size())) / static_cast<double>(lengths_.size());
}

double NearestSearch::reading_cost() const { return kReadList + lengths_[read_] * kReadEntry; }

/// @param most  the number of lists of the sets to be compared
double NearestSearch::comparing_cost(size_t most) const {
  return static_cast<double>(waiting_[most]) * kCompareSet + static_cast<double>(table_.size()) * kLookAtSlot;
}

/// Takes the sets that were in so many lists.
void NearestSearch::collect(size_t most, const CancelToken& cancel) {
  candidates_.shrink(0);
  uint64_t* const out = candidates_.room(waiting_[most]);
  size_t count = 0;
  for (size_t at = 0; at < table_.size(); ++at) {
    if (at % kPollSlots == 0) cancel.throw_if_requested();
    uint64_t& entry = table_[at];
    if ((entry & kTaken) != 0 || lists_of(entry) != most) continue;
    out[count++] = entry >> kIdShift;
    entry |= kTaken;
  }
  assert(count == waiting_[most]);
  candidates_.add(count);
  waiting_[most] = 0;
  compared_ += count;
  std::sort(candidates_.begin(), candidates_.end(), polled(cancel, std::less<>()));
}

NearestSearch::Step NearestSearch::next(const CancelToken& cancel) {
  if (is_reading_) {
    ++read_;
    is_reading_ = false;
  }
  if (has_given_up_) return Step::kGiveUp;
  size_t most = read_;
  while (most > 0 && waiting_[most] == 0) --most;
  const double highest = bound();
  if (!near_.empty() && near_[0].jaccard >= highest) {
    row_ = near_[0];
    std::pop_heap(near_.begin(), near_.end(), is_farther);
    near_.shrink(near_.size() - 1);
    return Step::kRow;
  }
  if (highest == 0) return Step::kEnd;
  // Both steps make the bound fall by the same amount.
  const bool can_read = read_ < lengths_.size();
  const bool reads = most == 0 || (can_read && reading_cost() < comparing_cost(most));
  cost_left_ -= reads ? reading_cost() : comparing_cost(most);
  if (cost_left_ < 0) {
    has_given_up_ = true;
    return Step::kGiveUp;
  }
  if (reads) {
    is_reading_ = true;
    return Step::kRead;
  }
  collect(most, cancel);
  return Step::kCompare;
}

}  // namespace batmap
