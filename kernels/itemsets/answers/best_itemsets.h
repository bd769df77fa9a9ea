// The k itemsets of largest support (core/best_k.h). They narrow the bounds of the search that finds them. "Better"
// means: larger support, then fewer items, then smaller items by value. So the answer does not depend on the order
// in which itemsets arrive. Memory: 24 bytes for each kept itemset and 16 for each of its items. Source: ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/best_k.h"
#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/search_bounds.h"

namespace batmap {

class BestItemsets final : public ItemsetSink {
 public:
  /// @param values     [ranks] value of each item; must outlive the object
  /// @param bounds     narrowed, so that the search skips what is worse than the k best so far
  BestItemsets(uint64_t k, std::span<const int64_t> values, SearchBounds& bounds, const ExecutionOptions& options)
      : values_(values), bounds_(bounds), options_(options), best_(*options.memory, k), ranks_(*options.memory) {}

  void take(std::span<const ItemsetStep> steps) override;
  uint64_t size() const { return best_.size(); }
  /// The kept itemsets, best first, each as steps of its own. Call it once. @throws Error{kCancelled}
  void hand_over(ItemsetSink& sink);

 private:
  struct Kept {
    uint64_t begin;  // in ranks_
    uint32_t length;
    uint32_t support;
  };

  std::span<const Rank> items_of(const Kept& kept) const { return {ranks_.begin() + kept.begin, kept.length}; }
  bool better(uint32_t support, std::span<const Rank> items, const Kept& than) const;
  void keep(uint32_t support);
  void close_gaps();

  std::span<const int64_t> values_;
  SearchBounds& bounds_;
  const ExecutionOptions& options_;
  std::vector<Rank> prefix_;   // ranks of the current itemset
  std::vector<Rank> ordered_;  // the same, ordered by value
  BestK<Kept> best_;
  GrowingBuffer<Rank> ranks_;  // items of kept and of dropped itemsets, each ordered by value
  uint64_t used_ = 0;          // entries of ranks_ that belong to kept itemsets
};

}  // namespace batmap
