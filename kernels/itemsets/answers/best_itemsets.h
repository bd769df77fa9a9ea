// The k itemsets of most support: a bounded heap of itemsets that narrows the bounds of the search that feeds it.
// "Better" is: more support, then fewer items, then the smaller items (by value), so the answer does not depend on the order
// in which itemsets arrive. Memory: 24 bytes an itemset kept, 16 an item. Source: ours.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/search_bounds.h"

namespace batmap {

class BestItemsets final : public ItemsetSink {
 public:
  /// @param values     [ranks] value of each item; must outlive the object
  /// @param bounds     narrowed to what is no worse than the k best so far
  BestItemsets(uint64_t k, std::span<const int64_t> values, SearchBounds& bounds, const ExecutionOptions& options)
      : k_(k), values_(values), bounds_(bounds), options_(options), heap_(*options.memory), ranks_(*options.memory) {}

  void take(std::span<const ItemsetStep> steps) override;
  uint64_t size() const { return heap_.size(); }
  /// The itemsets kept, best first, each as steps of its own. Call it once. @throws Error{kCancelled}
  void hand_over(ItemsetSink& sink);

 private:
  struct Kept {
    uint64_t begin;  // in ranks_
    uint32_t length;
    uint32_t support;
  };

  std::span<const uint32_t> items_of(const Kept& kept) const { return {ranks_.begin() + kept.begin, kept.length}; }
  bool better(uint32_t support, std::span<const uint32_t> items, const Kept& than) const;
  void keep(uint32_t support);
  void close_gaps();

  uint64_t k_;
  std::span<const int64_t> values_;
  SearchBounds& bounds_;
  const ExecutionOptions& options_;
  std::vector<uint32_t> prefix_;   // ranks of the itemset at hand
  std::vector<uint32_t> ordered_;  // the same by value
  GrowingBuffer<Kept> heap_;       // the worst in front
  GrowingBuffer<uint32_t> ranks_;  // items of what is kept, by value, and of what was
  uint64_t used_ = 0;              // of ranks_, by what is kept
};

}  // namespace batmap
