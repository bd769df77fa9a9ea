// The pairs that a top-k question keeps: the k best of all, and the k best of each item.
//
// Pair x is better than y if it has the larger score, then the smaller item_a, then the smaller item_b (by
// value). So the answer does not depend on the order in which pairs arrive. Memory: k rows and their scores,
// or k times the number of items. A score may take a tenth of a millisecond (hypergeometric.h), so each is
// computed once and kept. Source: ours (core/best_k.h).
#pragma once

#include <cstdint>
#include <vector>

#include "core/best_k.h"
#include "core/options.h"
#include "measures/pair_measure.h"
#include "pairs/pair_batch.h"

namespace batmap {

/// support / (support_a + support_b - support).
double pair_jaccard(const PairRow& row);

/// What pairs are ranked by: the value of a measure. Pairs without a value come last.
struct PairRanking {
  PairMeasure measure = PairMeasure::kSupport;
  double total = 0;  // transactions

  double score(const PairRow& row) const;
};

/// The k best of all pairs offered.
class BestPairs {
 public:
  /// @param k  at least 1
  BestPairs(MemoryMeter& meter, uint64_t k, const PairRanking& ranking)
      : meter_(&meter), ranking_(ranking), best_(meter, k) {}

  void offer(const PairRow& row);
  /// Pairs with less support than this can no longer be kept.
  uint64_t threshold() const {
    return ranking_.measure == PairMeasure::kSupport && best_.is_full() ? best_.worst().row.support : 0;
  }
  /// The same for the Jaccard index.
  double min_jaccard() const {
    return ranking_.measure == PairMeasure::kJaccard && best_.is_full() ? best_.worst().score : 0;
  }
  /// The kept pairs, best first. Call it once. @throws Error{kCancelled}
  GrowingBuffer<PairRow> take(const CancelToken& cancel = {});

 private:
  struct Scored {
    PairRow row;
    double score;
  };
  /// By larger score, then smaller item_a, then smaller item_b.
  static bool better(const Scored& x, const Scored& y);

  MemoryMeter* meter_;
  PairRanking ranking_;
  BestK<Scored> best_;
};

/// For each item the k best of its pairs. A pair is kept if at least one of its items keeps it. Of an item's
/// pairs with equal scores, the one with the smaller partner is better.
class BestPairsPerItem {
 public:
  /// @param values  [items] the value of each item rank; must outlive this object
  BestPairsPerItem(MemoryMeter& meter, uint32_t k, const int64_t* values, uint32_t items);

  /// @param a, b  item ranks
  /// @param score  from PairRanking::score()
  void offer(uint32_t a, uint32_t b, uint64_t support, double score);
  /// The same for one of the two items only. For take_partners().
  void offer_to(uint32_t item, uint32_t partner, uint64_t support, double score);

  struct Kept {
    uint32_t a;
    uint32_t b;
    uint64_t support;
  };
  /// The pairs that at least one item keeps, each once, ascending by (a, b). Call it once.
  /// @throws Error{kCancelled, kMemoryLimit}
  GrowingBuffer<Kept> take(const CancelToken& cancel = {});
  /// What each item keeps, as pairs (item, partner): by value of the item, its best partner first. Call it once.
  /// @throws Error{kCancelled, kMemoryLimit}
  GrowingBuffer<Kept> take_partners(const CancelToken& cancel = {});

 private:
  struct Partner {
    uint32_t rank;
    uint64_t support;
    double score;
  };
  bool better(const Partner& x, const Partner& y) const;

  MemoryMeter* meter_;
  const int64_t* values_;
  std::vector<BestK<Partner>> best_;  // [items]
};

}  // namespace batmap
