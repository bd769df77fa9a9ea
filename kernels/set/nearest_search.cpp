// Counts in how many lists a set was, and decides what to do next. See nearest_search.h.
#include "set/nearest_search.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/polled.h"

namespace batmap {

namespace {

// Costs in nanoseconds, of a search over 1,600,000 sets (bench/sql/likeness.sh).
constexpr double kReadEntry = 7;     // an entry of a list
constexpr double kReadList = 5000;   // to start a list
constexpr double kFetchPage = 2000;  // a page with sets to be compared
constexpr double kCompareSet = 300;  // a set on it
constexpr double kCompareAny = 170;  // a set, for all of them one after the other
constexpr double kAnySearch = 1e6;   // no search gives up before
/// What a search may cost, in units of comparing all sets: if what is left to do is expected to cost more than one, or not.
constexpr double kTrial = 0.1;
constexpr double kMost = 2;

/// Heaps of the standard library have the last one in front.
bool is_farther(const NearSet& x, const NearSet& y) { return is_nearer(y, x); }

}  // namespace

NearestSearch::NearestSearch(MemoryMeter& meter, std::span<const double> lengths, double all_sets, uint64_t wanted,
                             size_t max_bytes)
    : meter_(&meter),
      all_cost_(all_sets * kCompareAny),
      lengths_(meter, lengths.size()),
      reached_(meter, lengths.size() + 2, Fill::kZero),
      taken_(meter, lengths.size() + 1, Fill::kZero),
      tally_(meter, max_bytes),
      candidates_(meter),
      near_(meter),
      made_ready_(std::max<uint64_t>(wanted, 1)),
      to_hand_over_(made_ready_),
      best_(std::in_place, meter, made_ready_) {
  if (lengths.size() > kMaxLists)
    throw Error(ErrorCode::kTooLarge,
                "a query of " + std::to_string(lengths.size()) + " elements is too large to search for",
                "At most " + std::to_string(kMaxLists) + " elements are searched for.");
  std::ranges::copy(lengths, lengths_.begin());
}

void NearestSearch::found(std::span<const uint64_t> ids) {
  assert(is_reading_);
  if (has_given_up_) return;
  bool has_room = true;
  const bool has_memory = within_memory_limit([&] {
    for (const uint64_t id : ids) {
      assert(id < SetTally::kIdBound);
      const uint32_t lists = tally_.add(id, static_cast<uint32_t>(read_ + 1));
      has_room = lists != SetTally::kNoRoom;
      if (!has_room) return;
      ++reached_[lists];
    }
  });
  has_given_up_ = !has_memory || !has_room;
}

void NearestSearch::compared(const NearSet& set) {
  if (has_given_up_) return;
  has_given_up_ = !within_memory_limit([&] {
    near_.push_back(set);
    best_->offer(set, is_nearer);
  });
  if (!has_given_up_) std::push_heap(near_.begin(), near_.end(), is_farther);
}

/// Of the sets that are to be compared. @return 0: there are none
size_t NearestSearch::most_lists() const {
  size_t most = read_ + (is_reading_ ? 1 : 0);
  while (most > 0 && waiting(most) == 0) --most;
  return most;
}

/// No set that was in so many lists has a larger Jaccard index.
double NearestSearch::bound_of(size_t lists) const {
  const size_t all = lengths_.size();
  return all == 0 ? 0 : static_cast<double>(std::min(lists + all - read_, all)) / static_cast<double>(all);
}

double NearestSearch::bound() const { return bound_of(most_lists()); }

double NearestSearch::reading_cost(size_t list) const { return kReadList + lengths_[list] * kReadEntry; }

double NearestSearch::comparing_cost(uint64_t sets) const {
  const auto count = static_cast<double>(sets);
  return tally_.take_ns() + std::min(count, tally_.pages()) * kFetchPage + count * kCompareSet;
}

/// In how many lists sets must have been to be compared, if the rows that are wanted are to be found without another pass.
size_t NearestSearch::fewest_lists(size_t most) const {
  if (best_->is_full()) {
    const double least = best_->worst().jaccard;
    while (most > 1 && bound_of(most - 1) > least) --most;
  } else {
    uint64_t missing = made_ready_ - best_->size();
    for (; most > 1 && waiting(most) < missing; --most) missing -= waiting(most);
  }
  return std::max<size_t>(most, 1);
}

/// Takes note of the cost of the next step. How many sets a pass would take is known once all lists were read.
/// @return false: it is better to compare all sets
bool NearestSearch::spend(double step, size_t fewest) {
  double rest = 0;
  for (size_t list = read_; list < lengths_.size(); ++list) rest += reading_cost(list);
  if (read_ == lengths_.size()) {
    uint64_t sets = 0;
    for (size_t lists = fewest; lists <= read_; ++lists) sets += waiting(lists);
    rest = comparing_cost(sets);
  }
  spent_ += step;
  return spent_ <= std::max(rest <= all_cost_ ? all_cost_ * kMost : all_cost_ * kTrial, kAnySearch);
}

/// The nearest of the sets that were compared becomes row().
void NearestSearch::hand_over(const CancelToken& cancel) {
  row_ = near_[0];
  std::pop_heap(near_.begin(), near_.end(), is_farther);
  near_.shrink(near_.size() - 1);
  if (--to_hand_over_ > 0) return;
  to_hand_over_ = made_ready_ = handed_over_ += made_ready_;
  has_given_up_ |= !within_memory_limit([&] {
    best_.emplace(*meter_, made_ready_);
    in_parts(near_.size(), cancel, [&](size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) best_->offer(near_[k], is_nearer);
    });
  });
}

/// Takes sets for the pass. @return false: there is no memory for them
bool NearestSearch::collect(const CancelToken& cancel) {
  candidates_.shrink(0);
  const bool is_done = within_memory_limit(
      [&] { pass_at_ = tally_.take(static_cast<uint32_t>(fewest_), pass_at_, candidates_, taken_.data(), cancel); });
  compared_ += candidates_.size();
  return is_done;
}

NearestSearch::Step NearestSearch::next(const CancelToken& cancel) {
  if (is_reading_) {
    ++read_;
    is_reading_ = false;
  }
  if (has_given_up_) return Step::kGiveUp;
  const size_t most = most_lists();
  const double highest = bound_of(most);
  if (!near_.empty() && near_[0].jaccard >= highest) {
    hand_over(cancel);
    return Step::kRow;
  }
  if (highest == 0) return Step::kEnd;
  const size_t fewest = fewest_lists(most);
  if (pass_at_ != 0) {
    fewest_ = std::max(fewest_, fewest);
  } else {
    // Reading a list makes the bound fall by one element, comparing the sets of the most lists by all to the next sets.
    const double reading = read_ < lengths_.size() ? reading_cost(read_) : std::numeric_limits<double>::infinity();
    fewest_ = most;
    uint64_t sets = waiting(most);
    double comparing = comparing_cost(sets);
    size_t next = most;
    while (next > 0 && (next == most || waiting(next) == 0)) --next;
    const bool reads = most == 0 || reading * static_cast<double>(most - next) < comparing;
    while (!reads && fewest_ > fewest && comparing_cost(sets + waiting(fewest_ - 1)) <= reading) {
      sets += waiting(--fewest_);
      comparing = comparing_cost(sets);
    }
    if (!spend(reads ? reading : comparing, fewest)) {
      has_given_up_ = true;
      return Step::kGiveUp;
    }
    if (reads) {
      is_reading_ = true;
      return Step::kRead;
    }
  }
  has_given_up_ = !collect(cancel);
  return has_given_up_ ? Step::kGiveUp : Step::kCompare;
}

}  // namespace batmap
