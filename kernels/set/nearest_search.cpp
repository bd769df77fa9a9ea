// Counts in how many lists a set was, and decides what to do next. See nearest_search.h.
#include "set/nearest_search.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>

#include "core/error.h"

namespace batmap {

namespace {

// Costs in nanoseconds, of a search over 400,000 sets (bench/sql/likeness.sh).
constexpr double kReadEntry = 15;    // an entry of a list
constexpr double kReadList = 5000;   // to start a list
constexpr double kCompareSet = 700;  // to fetch a row and to compare its set
constexpr double kCompareAny = 300;  // the same, for all rows one after the other
constexpr double kAnySearch = 1e6;   // no search gives up before

/// Heaps of the standard library have the last one in front.
bool is_farther(const NearSet& x, const NearSet& y) { return is_nearer(y, x); }

}  // namespace

NearestSearch::NearestSearch(MemoryMeter& meter, std::span<const double> lengths, double all_sets, size_t max_bytes)
    : cost_left_(kAnySearch + all_sets * kCompareAny),
      lengths_(meter, lengths.size()),
      waiting_(meter, lengths.size() + 1, Fill::kZero),
      tally_(meter, max_bytes),
      candidates_(meter),
      near_(meter) {
  if (lengths.size() > kMaxLists)
    throw Error(ErrorCode::kTooLarge,
                "a query of " + std::to_string(lengths.size()) + " elements is too large to search for",
                "At most " + std::to_string(kMaxLists) + " elements are searched for.");
  std::ranges::copy(lengths, lengths_.begin());
}

void NearestSearch::found(uint64_t id) {
  assert(id < SetTally::kIdBound && is_reading_);
  if (has_given_up_) return;
  std::optional<uint32_t> lists;
  has_given_up_ = !within_memory_limit([&] { lists = tally_.add(id, static_cast<uint32_t>(read_ + 1)); }) || !lists;
  if (has_given_up_ || *lists == 0) return;
  ++waiting_[*lists];
  if (*lists == 1)
    ++found_;
  else
    --waiting_[*lists - 1];
}

void NearestSearch::compared(const NearSet& set) {
  if (has_given_up_) return;
  has_given_up_ = !within_memory_limit([&] { near_.push_back(set); });
  if (!has_given_up_) std::push_heap(near_.begin(), near_.end(), is_farther);
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
  return static_cast<double>(waiting_[most]) * kCompareSet + tally_.take_ns();
}

/// Takes the sets that were in so many lists. @return false: there is no memory for them
bool NearestSearch::collect(size_t most, const CancelToken& cancel) {
  candidates_.shrink(0);
  if (!within_memory_limit([&] { candidates_.room(waiting_[most]); })) return false;
  const size_t count = tally_.take(static_cast<uint32_t>(most), candidates_.end(), cancel);
  assert(count == waiting_[most]);
  candidates_.add(count);
  waiting_[most] = 0;
  compared_ += count;
  return true;
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
  has_given_up_ = !collect(most, cancel);
  return has_given_up_ ? Step::kGiveUp : Step::kCompare;
}

}  // namespace batmap
