// A visitor that makes steps for a sink (itemset_sink.h), in batches.
//
// For each height of the stack of perfect extensions, the writer keeps the steps of all subsets in a list. So
// each such itemset costs a copy. The list for one more item is that item, then the old list with each step
// one longer, then the old list.
#pragma once

#include <cstdint>
#include <vector>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/answers/search_bounds.h"

namespace batmap {

/// The lengths of the itemsets that are answers.
struct ItemsetLengths {
  uint32_t min = 1;
  uint32_t max = UINT32_MAX;
};

class ItemsetWriter final : public ItemsetVisitor {
 public:
  /// @param max_support  itemsets of larger support are not answers
  /// @param bounds       of the search
  ItemsetWriter(ItemsetSink& sink, const ItemsetLengths& lengths, uint32_t max_support, const SearchBounds& bounds,
                const ExecutionOptions& options);

  void visit(Rank item, uint32_t length, uint32_t support) override {
    if (all_wanted_ && perfect_.size() <= kListed && bounds_.longest(support) == UINT32_MAX) {
      const size_t subsets = lists_[perfect_.size()].size();
      if (steps_.size() - used_ <= subsets) flush();
      ItemsetStep* out = steps_.data() + used_;
      used_ += subsets + 1;
      *out = {item, length, support};
      for (const Listed& listed : lists_[perfect_.size()]) *++out = {listed.item, length + listed.length, support};
    } else {
      put(item, length, support);
      write_subsets(perfect_.size(), length, support);
    }
  }
  void visit_perfect(uint32_t support) override { write_subsets(perfect_.size(), 0, support); }

  /// Hands over the steps that were written. Call it also at the end. @throws Error{kCancelled}, what the sink throws
  void flush();

 private:
  void push(Rank item) override;
  void shrink(size_t height) override { perfect_.resize(height); }

  static constexpr size_t kListed = 8;  // extensions beyond these are walked, not listed
  static constexpr size_t kSteps = 4096;

  struct Listed {
    Rank item;
    uint32_t length;
  };

  /// The subsets of the lowest `extensions` perfect extensions, still to be written behind `length` items.
  struct Subsets {
    size_t extensions;
    uint32_t length;
  };

  bool wanted(uint32_t length, uint32_t support) const {
    return length >= lengths_.min && length <= lengths_.max && support <= max_support_;
  }
  void put(Rank item, uint32_t length, uint32_t support) {
    if (used_ == steps_.size()) flush();
    steps_[used_++] = {item, length, wanted(length, support) ? support : 0};
  }
  void write_subsets(size_t extensions, uint32_t length, uint32_t support);

  ItemsetSink& sink_;
  ItemsetLengths lengths_;
  uint32_t max_support_;
  bool all_wanted_;
  const SearchBounds& bounds_;
  CancelToken cancel_;
  Buffer<ItemsetStep> steps_;
  size_t used_ = 0;
  std::vector<Rank> perfect_;
  std::vector<Subsets> waiting_;
  std::vector<Listed> lists_[kListed + 1];  // [height] subsets of the lowest perfect extensions
};

}  // namespace batmap
