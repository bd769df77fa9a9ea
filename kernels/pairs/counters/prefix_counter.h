// Finds the pairs of sets that have enough in common among few candidates, by the prefixes of the sets.
//
// The elements of each set are ordered by rarity. Two sets of a and b elements that must have c elements in common share one of
// the first a - c + 1 and b - c + 1: what comes first of their common elements. So an index over the prefixes of all sets gives
// all candidates, and rare elements have short lists. With a Jaccard index of at least t, c is at least t / (1 + t) * (a + b), and
// the larger set has at most 1 / t times the elements of the smaller one. A candidate whose remaining elements cannot make c is
// dropped at once; of the others, the rest is merged until c is reached or out of reach. Sources: Chaudhuri, Ganti, Kaushik 2006;
// Bayardo, Ma, Srikant 2007 (AllPairs); Xiao et al. 2008 (PPJoin); that light filters win: Mann, Augsten, Bouros 2016.
//
// Memory: 4 bytes for each element, 8 for each entry of the index (at most one for each element), 4 for each set and thread.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "pairs/counters/pair_counter.h"
#include "set/set_collection.h"

namespace batmap {

/// Sets as rows of the ranks of their elements: rare elements have small ranks.
struct RankedSets {
  Buffer<uint64_t> begin;        // [sets + 1] of each row
  Buffer<uint32_t> ranks;        // ascending in each row
  Buffer<uint32_t> frequencies;  // [ranks] how many sets have the element; ascending

  std::span<const uint32_t> row(size_t set) const { return ranks.span().subspan(begin[set], begin[set + 1] - begin[set]); }
  /// Pairs of sets that share an element, counted once for each element.
  double pair_instances() const;
};

/// @param order          the sets, by rising cardinality
/// @param element_bound  larger than every element
RankedSets rank_elements(const SetCollection& sets, std::span<const uint32_t> order, uint64_t element_bound,
                         const SetKernel& kernel, const ExecutionOptions& options);

/// Upper bound of the bytes that the counter takes, its sets ranked included.
uint64_t prefix_counter_bytes(uint64_t sets, uint64_t elements, uint64_t element_bound, int threads);

class PrefixCounter final : public PairCounter {
 public:
  /// @param min_count  at least 1 @param min_jaccard  0: none
  /// @param options    must outlive the counter
  PrefixCounter(RankedSets sets, uint64_t min_count, double min_jaccard, const ExecutionOptions& options);

  size_t tasks() const override;
  std::span<const uint32_t> supports() const override { return supports_.span(); }
  void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) override;
  void raise_min_jaccard(double min_jaccard) override { min_jaccard_.store(min_jaccard, std::memory_order_relaxed); }

  /// Milliseconds that all tasks together are expected to take on one thread: from what some of the rows look at.
  double expected_ms();

 private:
  struct Posting {
    uint32_t set;
    uint32_t position;  // of the element in its row
  };
  /// What rows looked at.
  struct Work {
    uint64_t postings = 0;
    uint64_t candidates = 0;
    uint64_t merged = 0;  // elements
  };

  void build_index();
  void count_row(uint32_t a, uint32_t threshold, std::span<uint32_t> seen, GrowingBuffer<PairCount>& out, Work& work) const;
  std::span<uint32_t> seen_by(int worker);

  RankedSets sets_;
  const ExecutionOptions& options_;
  uint64_t min_count_;
  std::atomic<double> min_jaccard_;
  Buffer<uint32_t> supports_;
  Buffer<uint64_t> index_begin_;  // [ranks + 1]
  Buffer<Posting> index_;
  std::vector<Buffer<uint32_t>> seen_;  // [threads][sets] the last row that has met the set, plus 1
};

}  // namespace batmap
