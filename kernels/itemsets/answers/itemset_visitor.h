// The interface by which a search reports the itemsets that it finds.
//
// A perfect extension is an item that is in every transaction of an itemset. The itemset has the same support
// with any of its perfect extensions, so these itemsets are reported without a search (Borgelt, "Frequent item
// set mining", 2012, 3.2.5). One call reports 2^k itemsets. What a visitor computes for the k extensions also
// serves all nodes below the one at which they were found. Items are ranks (relation/kept_items.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "relation/item_numbers.h"

namespace batmap {

class ItemsetVisitor {
 public:
  virtual ~ItemsetVisitor() = default;

  /// Pushes one more perfect extension of the itemsets to come.
  void push_perfect(Rank item) {
    ++perfect_;
    push(item);
  }
  /// Pops perfect extensions. @param height  how many stay, at most perfect()
  void shrink_perfect(size_t height) {
    if (height == perfect_) return;
    perfect_ = height;
    shrink(height);
  }
  size_t perfect() const { return perfect_; }

  /// Reports the itemset of the first length - 1 items of the one before and `item`, and its union with each
  /// nonempty subset of the perfect extensions.
  /// @param length   of the itemset, item included
  /// @param support  0: not an answer, only a prefix of later answers
  virtual void visit(Rank item, uint32_t length, uint32_t support) = 0;
  /// Reports the nonempty subsets of the perfect extensions alone.
  virtual void visit_perfect(uint32_t support) = 0;

 private:
  virtual void push(Rank item) = 0;
  virtual void shrink(size_t height) = 0;

  size_t perfect_ = 0;
};

}  // namespace batmap
