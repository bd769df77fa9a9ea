// Finds the sets with the largest Jaccard index to a query, one after the other, if each element of the query has a list of
// the sets that hold it. It decides what to do next and keeps what is known; its caller reads lists and compares sets.
//
// Lists are read one by one, the shortest (rarest element) first, and it is counted in how many of them each set was. Let the
// query have n elements, p of them read. A set that was in c lists has at most c + n - p common elements, so its Jaccard index is
// at most (c + n - p) / n, and at most (n - p) / n if it was in none: the bound falls with every list. Comparing all sets that
// were in the most lists makes it fall, too. Of the two steps the one with the smaller cost is taken. As soon as a set that was
// compared reaches the bound, it is the next one. So no number of answers must be known in advance, and no list is read
// twice. The threshold of a search by thresholds would be this bound.
//
// Sets are compared in the order of their ids, so that a page is fetched once for all of them. That matters as soon as they are on
// most pages: so a pass takes not only the sets that were in the most lists, but all whose bound is above the k-th best Jaccard
// index so far, which rises during the pass. k is a guess of the number of rows that are wanted; if more are, it doubles.
//
// If no set is like the query, nearly all lists must be read, and comparing all sets one after the other may be faster. While the
// search can be expected to cost less than that, it goes on. If not, it goes on for a small part of that cost, because a
// near set would end it early; then it gives up.
//
// Memory: that of a tally (set_tally.h), and of the sets that were compared. Cost: a few nanoseconds for each entry of a list
// that is read. Source: ours, after the prefix filter (Bayardo, Ma, Srikant 2007) and the T-occurrence problem (Li, Lu, Lu 2008).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/best_k.h"
#include "core/memory.h"
#include "core/options.h"
#include "set/set_tally.h"

namespace batmap {

/// A set that was compared with the query.
struct NearSet {
  uint64_t id;  // any number that the caller knows it by
  double jaccard;
};

/// Is x nearer to the query than y, or as near with a smaller id?
inline bool is_nearer(const NearSet& x, const NearSet& y) {
  return x.jaccard != y.jaccard ? x.jaccard > y.jaccard : x.id < y.id;
}

class NearestSearch {
 public:
  /// The largest number of elements of a query.
  static constexpr size_t kMaxLists = SetTally::kMaxLists;

  enum class Step {
    kRead,     // call found() for the ids in list number list()
    kCompare,  // call compared() for each of candidates() that there is
    kRow,      // row() is the next one
    kEnd,      // there are no others in the lists
    kGiveUp    // it is better to compare all sets: going on would take more time or memory. All later steps are this
  };

  /// @param lengths    [elements of the query] the expected length of each list, in the order in which they are to be read
  /// @param all_sets   the number of sets that comparing all would compare
  /// @param wanted     how many rows will probably be asked for; 0: unknown
  /// @param max_bytes  of the tally
  NearestSearch(MemoryMeter& meter, std::span<const double> lengths, double all_sets, uint64_t wanted, size_t max_bytes);

  /// Says what to do next. What the step before asked for must have been done. @throws Error, std::bad_alloc
  Step next(const CancelToken& cancel);

  size_t list() const { return read_; }
  /// @param ids  see SetTally; each at most once in a list
  void found(std::span<const uint64_t> ids);
  /// Ids in ascending order. Valid until the next step.
  std::span<const uint64_t> candidates() const { return candidates_.span(); }
  void compared(const NearSet& set);
  const NearSet& row() const { return row_; }

  /// No set that was not handed over yet has a larger Jaccard index than this, or than those that were compared.
  double bound() const;
  size_t lists_read() const { return read_; }
  uint64_t sets_found() const { return reached_[1]; }
  uint64_t sets_compared() const { return compared_; }

 private:
  uint64_t waiting(size_t lists) const { return reached_[lists] - reached_[lists + 1] - taken_[lists]; }
  size_t most_lists() const;
  double bound_of(size_t lists) const;
  double reading_cost(size_t list) const;
  double comparing_cost(uint64_t sets) const;
  size_t fewest_lists(size_t most) const;
  bool spend(double step, size_t fewest);
  void hand_over(const CancelToken& cancel);
  bool collect(const CancelToken& cancel);

  MemoryMeter* meter_;
  double all_cost_;  // of comparing all sets
  double spent_ = 0;
  Buffer<double> lengths_;
  // Sets by the number of lists they were in: [lists + 2] that were in so many or more, [lists + 1] that were taken to be compared.
  Buffer<uint64_t> reached_;
  Buffer<uint64_t> taken_;
  SetTally tally_;
  GrowingBuffer<uint64_t> candidates_;
  GrowingBuffer<NearSet> near_;         // heap of the sets that were compared and not handed over, the nearest in front
  uint64_t made_ready_;                 // so many rows are found together
  uint64_t to_hand_over_;               // of them
  uint64_t handed_over_ = 0;            // before them
  std::optional<BestK<NearSet>> best_;  // those of them that were compared
  NearSet row_{};
  size_t read_ = 0;
  size_t fewest_ = 0;   // of the pass: it takes sets that were in so many lists
  size_t pass_at_ = 0;  // where it goes on; 0: there is none
  uint64_t compared_ = 0;
  bool is_reading_ = false;
  bool has_given_up_ = false;
};

}  // namespace batmap
